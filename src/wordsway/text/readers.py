"""Rows of files, one at a time, in bounded memory: CSV, TSV, JSON lines, JSON lists, Parquet, plain
text, folders.

Every reader yields (where, text, label or None); undecodable bytes come as lone surrogates and are
counted later.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from wordsway.core.errors import InputError, first_line, needs
from wordsway.text.files import LONGEST, lines, open_text, path_exists

#: Files and folders that a folder of texts may hold.
MOST_FILES = 1_000_000


def rows(path: Path, columns: Columns, encoding: str | None = None) -> Iterator[Row]:
    """The rows of a file or a folder, read by the kind given by its name."""
    if path.is_dir():
        yield from _folder(path, columns, encoding)
        return
    if not path.is_file():
        raise InputError("a file or a folder", f"{path}, which does not exist", "check the path")
    reader = READERS.get(_kind(path))
    if reader is None:
        raise InputError(
            f"a file whose name ends in {', '.join(READERS)} (or .gz)",
            path.name,
            "rename or convert it",
        )
    if path.stat().st_size == 0:
        raise InputError(
            "a file with texts",
            f"{path.name}, which is empty",
            "check that it was written completely",
        )
    try:
        yield from reader(path, columns, encoding)
    except InputError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"a whole gzip file in {path.name}", error, "check that it was written completely"
        ) from None
    except UnicodeError as error:
        raise InputError(
            f"{path.name} in {encoding or 'UTF-8'}",
            first_line(error),
            "pass its own --encoding",
        ) from None
    except RecursionError:
        raise InputError(
            f"texts in {path.name}", "JSON nested too deeply", "write one flat object per text"
        ) from None
    except OSError as error:
        raise InputError(
            "a file that can be read",
            f"{path.name} ({os.strerror(error.errno or 5)})",
            "check its permissions",
        ) from None


def _kind(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def _text_lines(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """One text per line."""
    with open_text(path, encoding) as file:
        for number, line in enumerate(lines(file, path.name)):
            yield f"{path.name}:{number + 1}", line.rstrip("\r\n"), None


def table_cells(
    path: Path, separator: str, encoding: str | None, *, longest: int | None = LONGEST
) -> Iterator[list[str]]:
    """The cells of every row of a table; ``longest`` bounds a line, None does not."""
    before = csv.field_size_limit(longest or 2**31 - 1)
    with open_text(path, encoding) as file:
        table = csv.reader(file if longest is None else lines(file, path.name), delimiter=separator)
        try:
            yield from table
        except csv.Error as error:
            raise InputError(
                f"a table in {path.name}", f"{error} near line {table.line_num}", "check its quotes"
            ) from None
        finally:
            csv.field_size_limit(before)


def _separated(separator: str) -> Callable[[Path, Columns, str | None], Iterator[Row]]:
    def read(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
        table = table_cells(path, separator, encoding)
        header = [name.strip() for name in next(filter(None, table), [])]
        text, label = columns.find(header, path.name)
        at, sign = header.index(text), None if label is None else header.index(label)
        for number, cells in enumerate(table, 1):
            if not cells:
                continue
            if len(cells) <= max(at, sign or 0):
                raise InputError(
                    f"{len(header)} cells in each row of {path.name}",
                    f"{len(cells)} in row {number}",
                    "quote texts that hold separators",
                )
            yield f"{path.name}:{number}", cells[at], None if sign is None else cells[sign]

    return read


def _json_lines(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    with open_text(path, encoding) as file:

        def objects() -> Iterator[Any]:
            for number, line in enumerate(lines(file, path.name)):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise InputError(
                            f"JSON on every line of {path.name}",
                            f"{error} on line {number + 1}",
                            "fix this line",
                        ) from None

        yield from records(objects(), columns, path.name)


def _json_list(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    with open_text(path, encoding) as file:
        yield from records(_items(file, path.name), columns, path.name)


def _items(file: IO[str], name: str) -> Iterator[Any]:
    """The items of one JSON list, decoded as they come."""
    decoder, buffer, at, first = json.JSONDecoder(), "", 0, True
    while True:
        piece = file.read(1 << 20)
        buffer, at = buffer[at:] + piece, 0
        while True:
            while at < len(buffer) and buffer[at] in " \t\r\n,[" and (buffer[at] != "[" or first):
                first = first and buffer[at] != "["
                at += 1
            if at < len(buffer) and (first or buffer[at] == "]"):
                if first:
                    raise InputError(
                        f"a JSON list of objects in {name}",
                        "something else",
                        'write [{"text": …, "label": …}, …], or JSON lines',
                    )
                return
            try:
                item, at = decoder.raw_decode(buffer, at)
            except ValueError as error:
                if not piece or len(buffer) - at > 2 * LONGEST:
                    raise InputError(
                        f"a whole JSON list in {name}",
                        str(error),
                        "check that it was written completely",
                    ) from None
                break
            yield item


def _folder(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """A text per .txt file, labelled by its folder (neg/, pos/), or all tables of the folder."""
    files = sorted(_files(path))
    plain = [file for file in files if _kind(file) == ".txt"]
    if not files:
        raise InputError(
            f"a folder with {', '.join(READERS)} files", f"{path} without any", "check the path"
        )
    named = {file.parent.name for file in plain if file.parent.name.lower() in KNOWN}
    if len(named) == 2:  # what lies outside (a README, say) is no text of the corpus
        files = plain = [file for file in plain if file.parent.name in named]
    if plain and len(plain) < len(files):
        raise InputError(
            "a folder of texts or of tables",
            f"{plain[0].name} beside {next(f for f in files if f not in plain).name}",
            "name one file",
        )
    if not plain:
        for file in files:
            for where, text, label in rows(file, columns, encoding):
                yield f"{file.parent.relative_to(path) / where}", text, label
        return
    folders = {file.parent.name for file in plain}
    for file in plain:
        with open_text(file, encoding) as content:
            text = content.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise InputError(
                f"texts of at most {LONGEST:,} characters",
                f"a longer one in {file.name}",
                "split it",
            )
        yield (
            str(file.relative_to(path)),
            text,
            file.parent.name if len(folders) == 2 and columns.label != "" else None,
        )


def _files(folder: Path) -> Iterator[Path]:
    """The files of known kinds in a folder and those inside it."""
    for file in all_files(folder):
        if _kind(file) in READERS and path_exists(file) and file.is_file():
            yield file


def all_files(folder: Path) -> Iterator[Path]:
    """The files of a folder and of those inside it; links to folders are not followed."""
    if folder.resolve() == Path(folder.resolve().anchor):
        raise InputError(
            "a folder of texts", f"{folder}, the root of all files", "name the folder itself"
        )
    seen = 0
    for root, _, names in os.walk(folder):
        seen += 1 + len(names)
        if seen > MOST_FILES:
            raise InputError(
                f"a folder of at most {MOST_FILES:,} files", f"more in {folder}", "name one inside"
            )
        for name in names:
            yield Path(root, name)


TEXT_COLUMNS = ("text", "review", "sentence", "content", "t")
LABEL_COLUMNS = ("label", "sentiment", "s")

Row = tuple[str, str, object]


@dataclass(frozen=True)
class Columns:
    """The columns of texts and labels; None: the usual names; "" as label: none."""

    text: str | None = None
    label: str | None = None

    def find(self, names: Iterable[str], where: str) -> tuple[str, str | None]:
        """The text column and the label column, or an error that lists the columns."""
        known = list(names)
        text = self.text
        if text is None:
            text = next((name for name in TEXT_COLUMNS if name in known), None)
        if text is None and len(known) == 1:
            if self.text is None and any(mark in known[0] for mark in ";\t|"):
                raise InputError(
                    f"commas between the columns of {where}",
                    f"one column {known[0][:40]!r}",
                    "save it with commas, or as .tsv",
                )
            text = known[0]
        if text is None or text not in known:
            named = repr(self.text) if self.text else f"of texts ({', '.join(TEXT_COLUMNS[:4])})"
            raise _no_column(named, where, known, "--text-column")
        if self.label == "":
            return text, None
        label = self.label
        if label is None:
            label = next((name for name in LABEL_COLUMNS if name in known and name != text), None)
        elif label not in known:
            raise _no_column(repr(label), where, known, "--label-column")
        return text, label


def _no_column(named: str, where: str, known: list[str], option: str) -> InputError:
    listed = ", ".join(name[:40] for name in known[:12]) + (" …" if len(known) > 12 else "")
    remedy = f"name one of them with {option}"
    return InputError(f"a column {named} in {where}", f"columns {listed}", remedy)


def records(items: Iterable[Any], columns: Columns, name: str) -> Iterator[Row]:
    """Rows of mappings (JSON objects, a `datasets` object's examples), or of bare strings."""
    for number, item in enumerate(items):
        where = f"{name}:{number + 1}"
        if isinstance(item, str):
            yield where, item, None
        elif isinstance(item, Mapping):
            text, label = columns.find([str(key) for key in item], f"{name}, item {number + 1}")
            yield (
                where,
                checked_text(item[text], name, number + 1),
                None if label is None else item[label],
            )
        else:
            raise InputError(
                f"objects or strings in {name}",
                f"{type(item).__name__} at item {number + 1}",
                "write one object per text",
            )


def checked_text(value: object, name: str, number: int) -> str:
    """The text of a row, empty if there is none; other types and long texts are refused."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(
            f"texts in {name}",
            f"{type(value).__name__} in row {number}",
            "name the column of texts with --text-column",
        )
    if len(value) > LONGEST:
        raise InputError(
            f"texts of at most {LONGEST:,} characters",
            f"a longer one in row {number} of {name}",
            "split it",
        )
    return value


#: Names whose sign is not a matter of taste.
KNOWN = {
    "0": -1,
    "1": 1,
    "-1": -1,
    "neg": -1,
    "pos": 1,
    "negative": -1,
    "positive": 1,
    "false": -1,
    "true": 1,
    "no": -1,
    "yes": 1,
}


def spelled(label: object) -> str:
    """A label as text: 1, 1.0, True and "1" are not distinguished from their spelling in a file.

    >>> spelled(1.0), spelled(True), spelled(" pos ")
    ('1', 'true', 'pos')
    """
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip()


def signs(kinds: set[str], where: str) -> Mapping[str, int]:
    """−1 or +1 for each kind of label: by its name if that is conclusive, else the smaller one is
    −1.

    >>> dict(sorted(signs({"pos", "neg"}, "reviews.csv").items()))
    {'neg': -1, 'pos': 1}
    >>> dict(sorted(signs({"spam", "ham"}, "mail.csv").items()))
    {'ham': -1, 'spam': 1}
    """
    if len(kinds) > 2:
        shown = ", ".join(sorted(kinds)[:5]) + (" …" if len(kinds) > 5 else "")
        raise InputError(
            f"two kinds of labels in {where}",
            f"{shown}",
            "keep two of them, or pass an empty --label-column to read without labels",
        )
    by_name = {kind: KNOWN[kind.lower()] for kind in kinds if kind.lower() in KNOWN}
    if len(by_name) == len(kinds) and len(set(by_name.values())) == len(kinds):
        return by_name
    ordered = sorted(kinds, key=_order)
    return dict(zip(ordered, (-1, 1) if len(ordered) == 2 else (1,), strict=True))


def _order(kind: str) -> tuple[int, float, str]:
    try:
        return (0, float(kind), kind)
    except ValueError:
        return (1, 0.0, kind)


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


READERS: dict[str, Callable[[Path, Columns, str | None], Iterator[Row]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _json_lines,
    ".json": _json_list,
    ".parquet": parquet_rows,
    ".txt": _text_lines,
}
