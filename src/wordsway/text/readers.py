"""Rows of files, one at a time, in bounded memory: CSV, TSV, JSON lines, JSON lists, Parquet, plain
text, folders.

Every reader yields (where, text, label or None); undecodable bytes come as lone surrogates and are
counted later.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from wordsway.errors import InputError
from wordsway.text.labels import KNOWN

#: The longest text, in characters: beyond it, a file is not what it seems to be.
LONGEST = 1_000_000
TEXT_COLUMNS = ("text", "review", "sentence", "content", "t")
LABEL_COLUMNS = ("label", "sentiment", "s")

Row = tuple[str, str, object]


@dataclass(frozen=True)
class Columns:
    """Which columns hold texts and labels; None looks for the usual names, an empty label column
    reads no labels.
    """

    text: str | None = None
    label: str | None = None

    def find(self, names: Iterable[str], where: str) -> tuple[str, str | None]:
        """The text column and the label column among ``names``, or an error that names those that
        exist.
        """
        known = list(names)
        text = (
            self.text
            if self.text is not None
            else next((name for name in TEXT_COLUMNS if name in known), None)
        )
        if text is None and len(known) == 1:
            if self.text is None and any(mark in known[0] for mark in ";\t|"):
                raise InputError(
                    f"commas between the columns of {where}",
                    f"one column {known[0][:40]!r}",
                    "save it with commas, or as .tsv",
                )
            text = known[0]
        if text is None or text not in known:
            wanted = (
                f"a column {self.text!r}"
                if self.text
                else f"a column of texts ({', '.join(TEXT_COLUMNS[:4])})"
            )
            raise InputError(
                f"{wanted} in {where}",
                f"columns {_listed(known)}",
                "name one of them with --text-column",
            )
        if self.label == "":
            return text, None
        label = (
            self.label
            if self.label is not None
            else next((name for name in LABEL_COLUMNS if name in known and name != text), None)
        )
        if label is not None and label not in known:
            raise InputError(
                f"a column {label!r} in {where}",
                f"columns {_listed(known)}",
                "name one of them with --label-column",
            )
        return text, label


def _listed(names: list[str]) -> str:
    return ", ".join(str(name)[:40] for name in names[:12]) + (" …" if len(names) > 12 else "")


def rows(path: Path, columns: Columns, encoding: str | None = None) -> Iterator[Row]:
    """The rows of a file or a folder, by the kind that its name says."""
    if path.is_dir():
        yield from _folder(path, columns, encoding)
        return
    if not path.is_file():
        raise InputError("a file or a folder", f"{path}, which is not there", "check the path")
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
            str(error).splitlines()[0],
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


def expanded(path: str | Path) -> Path:
    """A path with ~ spelled out, where that user exists."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def there(path: str | Path) -> bool:
    """Is something at this path? Names that no file can have are nowhere."""
    try:
        return str(path) != "" and expanded(path).exists()
    except (OSError, ValueError):
        return False


def _kind(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def opened(path: Path, encoding: str | None) -> IO[str]:
    """The file as text: UTF-8 unless a byte-order mark or ``encoding`` says otherwise; binary files
    are refused.
    """
    packed = path.suffix.lower() == ".gz"
    with gzip.open(path) if packed else path.open("rb") as raw:
        head = raw.read(1 << 16)
    marks = (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    )
    marked = next((name for mark, name in marks if head.startswith(mark)), None)
    chosen = _encoding(encoding or marked or "utf-8-sig")
    if b"\0" in head and not chosen.startswith(("utf-16", "utf-32")):
        raise InputError(
            "a text file",
            f"{path.name}, which is binary",
            "pass CSV, TSV, JSONL, Parquet or plain text by its own name",
        )
    open_as: Callable[..., IO[str]] = cast(Any, gzip.open) if packed else cast(Any, open)
    return open_as(path, "rt", encoding=chosen, errors="surrogateescape", newline="")


def _encoding(name: str) -> str:
    """The encoding's own name; UTF-8 also reads files that begin with a mark."""
    try:
        found = codecs.lookup(name)
        "".encode(name)
    except (LookupError, UnicodeError, TypeError):
        raise InputError(
            "an encoding of texts that Python knows",
            repr(name),
            "utf-8, latin-1 or cp1252, for example",
        ) from None
    return "utf-8-sig" if found.name == "utf-8" else found.name


def _lines(file: IO[str], name: str) -> Iterator[str]:
    """Lines of bounded length."""
    number = 0
    while line := file.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            raise InputError(
                f"lines of at most {LONGEST:,} characters in {name}",
                f"a longer line {number}",
                "split it into texts, one per line",
            )
        yield line


def _text_lines(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """One text per line."""
    with opened(path, encoding) as file:
        for number, line in enumerate(_lines(file, path.name)):
            yield f"{path.name}:{number + 1}", line.rstrip("\r\n"), None


def _separated(separator: str) -> Callable[[Path, Columns, str | None], Iterator[Row]]:
    def read(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
        with opened(path, encoding) as file:
            table = csv.reader(_lines(file, path.name), delimiter=separator)
            try:
                header = [name.strip() for name in next((cells for cells in table if cells), [])]
                text, label = columns.find(header, path.name)
                at, sign = header.index(text), None if label is None else header.index(label)
                for number, cells in enumerate(table):
                    if not cells:
                        continue
                    if len(cells) <= max(at, sign or 0):
                        raise InputError(
                            f"{len(header)} cells in each row of {path.name}",
                            f"{len(cells)} in row {number + 1}",
                            "quote texts that hold separators",
                        )
                    yield (
                        f"{path.name}:{number + 1}",
                        cells[at],
                        None if sign is None else cells[sign],
                    )
            except csv.Error as error:
                raise InputError(
                    f"a table in {path.name}",
                    f"{error} near line {table.line_num}",
                    "check its quotes",
                ) from None

    return read


def _json_lines(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    with opened(path, encoding) as file:

        def objects() -> Iterator[Any]:
            for number, line in enumerate(_lines(file, path.name)):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except ValueError as error:
                        raise InputError(
                            f"JSON on every line of {path.name}",
                            f"{error} on line {number + 1}",
                            "mend that line",
                        ) from None

        yield from records(objects(), columns, path.name)


def _json_list(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    with opened(path, encoding) as file:
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


def _parquet(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            text, label = columns.find(file.schema_arrow.names, path.name)
            number = 0
            for batch in file.iter_batches(
                batch_size=1024, columns=[text] if label is None else [text, label]
            ):
                texts = batch.column(text).to_pylist()
                labels = [None] * len(texts) if label is None else batch.column(label).to_pylist()
                for one, sign in zip(texts, labels, strict=True):
                    number += 1
                    yield f"{path.name}:{number}", _string(one, path.name, number), sign
    except (pyarrow.ArrowException, UnicodeError) as error:
        raise InputError(
            f"a Parquet file in {path.name}",
            str(error).splitlines()[0],
            "check that it was written completely",
        ) from None


def _folder(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """One text per .txt file, labelled by its folder's name (neg/, pos/); or all tables of the
    folder, one after another.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file) in READERS)
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
        with opened(file, encoding) as content:
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
                _string(item[text], name, number + 1),
                None if label is None else item[label],
            )
        else:
            raise InputError(
                f"objects or strings in {name}",
                f"{type(item).__name__} at item {number + 1}",
                "write one object per text",
            )


def _string(value: object, name: str, number: int) -> str:
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


READERS: dict[str, Callable[[Path, Columns, str | None], Iterator[Row]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _json_lines,
    ".json": _json_list,
    ".parquet": _parquet,
    ".txt": _text_lines,
}
