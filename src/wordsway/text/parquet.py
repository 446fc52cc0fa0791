"""Parquet files in bounded memory.

A page of a few hundred bytes may unpack to gigabytes, and the library allocates what a page's own
header says before it looks at anything else. So the headers of all pages are read first: they are
structs in Thrift's compact protocol, of which the first three fields are the page's kind, its
unpacked and its packed size.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from wordsway.errors import InputError, first_line, needs
from wordsway.text.columns import Columns, Row, checked_text

#: The largest page, unpacked: writers make pages of about a megabyte, and a text has at most a
#: million characters.
LARGEST_PAGE = 64 << 20
#: Rows per byte of a file, and rows that any file may have.
ROWS_PER_BYTE = 64
FEW_ROWS = 1_000_000
#: Bytes that a page's header may take: statistics can be in it.
HEADER = 1 << 16


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
    """Refuse pages and numbers of rows that no file of texts has."""
    if metadata.num_rows > max(FEW_ROWS, ROWS_PER_BYTE * path.stat().st_size):
        raise InputError(
            f"a Parquet file of texts in {path.name}",
            f"{metadata.num_rows:,} rows in {path.stat().st_size:,} bytes",
            "write the texts themselves",
        )
    with path.open("rb") as file:
        for group in range(metadata.num_row_groups):
            for number in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(number)
                if chunk.path_in_schema.split(".")[0] not in columns:
                    continue
                for size in _page_sizes(file, chunk):
                    if size > LARGEST_PAGE:
                        raise InputError(
                            f"pages of at most {LARGEST_PAGE >> 20} MB in {path.name}",
                            f"one of {size >> 20:,} MB in column {chunk.path_in_schema!r}",
                            "write it again with pages of about a megabyte",
                        )


def _page_sizes(file: IO[bytes], chunk: Any) -> Iterator[int]:
    """The unpacked size of each page of a column chunk, as its own header says."""
    starts = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        starts.append(chunk.dictionary_page_offset)
    place = min(starts)
    end = place + chunk.total_compressed_size
    values = 0
    while place < end:
        file.seek(place)
        try:
            header = _Header(file.read(HEADER))
        except ValueError:
            if values >= chunk.num_values:  # padding behind the last page, as some writers leave it
                return
            raise
        yield header.unpacked
        values += header.values
        place += header.length + header.packed


class _Header:
    """A page's header: its length, the page's packed and unpacked size, the values in it."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.length = 0
        fields = self._struct()
        unpacked = fields.get(2)
        packed = fields.get(3)
        if not isinstance(unpacked, int) or not isinstance(packed, int) or packed < 0:
            raise ValueError("a page without its sizes")
        self.unpacked = unpacked
        self.packed = packed
        data = fields.get(5) or fields.get(8)  # a data page of either version
        count = data.get(1) if isinstance(data, dict) else 0
        self.values = count if isinstance(count, int) else 0

    def _byte(self) -> int:
        if self.length >= len(self.content):
            raise ValueError("a page's header that does not end")
        self.length += 1
        return self.content[self.length - 1]

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number in a page's header that does not end")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._integer()
            fields[number] = self._value(byte & 0x0F, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > 8:
            raise ValueError("a page's header nested too deeply")
        if kind in (1, 2):  # a boolean field is its own value
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind in (7, 8):  # a double, or bytes with their length
            skipped = 8 if kind == 7 else self._varint()
            self.length += skipped
            return None
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            if count > HEADER:
                raise ValueError("a list in a page's header that does not end")
            return [self._value(head & 0x0F, depth + 1) for _ in range(count)]
        if kind == 12:
            return self._struct(depth + 1)
        raise ValueError("a page's header of unknown kind")
