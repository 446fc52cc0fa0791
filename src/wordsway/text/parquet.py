"""Parquet files, batch by batch; row groups that unpack to more than a limit are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordsway.core.errors import InputError, first_line, needs
from wordsway.text.columns import Columns, Row, checked_text

#: Bytes that the texts of one row group may unpack to.
LARGEST_GROUP = 1 << 30
#: Rows per byte of a file, and rows that any file may have.
ROWS_PER_BYTE = 64
FEW_ROWS = 1_000_000


def parquet_rows(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """The rows of a Parquet file: (where, text, label or None)."""
    needs("models", "pyarrow")
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            column, label = columns.find(file.schema_arrow.names, path.name)
            chosen = [column] if label is None else [column, label]
            for name in chosen:
                if file.schema_arrow.names.count(name) > 1:
                    raise InputError(
                        f"one column {name!r} in {path.name}",
                        f"{file.schema_arrow.names.count(name)} of that name",
                        "rename one of them",
                    )
            _check_sizes(path, file.metadata, chosen)
            number = 0
            for batch in file.iter_batches(batch_size=1024, columns=chosen):
                texts = batch.column(column).to_pylist()
                labels = [None] * len(texts) if label is None else batch.column(label).to_pylist()
                for text, sign in zip(texts, labels, strict=True):
                    number += 1
                    yield f"{path.name}:{number}", checked_text(text, path.name, number), sign
    except InputError:
        raise
    except (pyarrow.ArrowException, ValueError) as error:
        raise InputError(
            f"a Parquet file in {path.name}",
            first_line(error),
            "check that it was written completely",
        ) from None


def _check_sizes(path: Path, metadata: Any, columns: list[str]) -> None:
    """Refuse row groups and numbers of rows that no file of texts has."""
    if metadata.num_rows > max(FEW_ROWS, ROWS_PER_BYTE * path.stat().st_size):
        raise InputError(
            f"a Parquet file of texts in {path.name}",
            f"{metadata.num_rows:,} rows in {path.stat().st_size:,} bytes",
            "write the texts themselves",
        )
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = [group.column(index) for index in range(group.num_columns)]
        for chunk in chunks:
            size = chunk.total_uncompressed_size
            if chunk.path_in_schema.split(".")[0] in columns and size > LARGEST_GROUP:
                raise InputError(
                    f"row groups of at most {LARGEST_GROUP >> 20:,} MB in {path.name}",
                    f"one of {size >> 20:,} MB in column {chunk.path_in_schema!r}",
                    "write it again with smaller row groups",
                )
