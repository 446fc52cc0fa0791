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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from wordsway.core.errors import InputError, first_line
from wordsway.text.columns import LONGEST, Columns, Row, records
from wordsway.text.labels import KNOWN
from wordsway.text.opening import lines, opened, there
from wordsway.text.parquet import parquet_rows

#: Files and folders that a folder of texts may hold.
MOST_FILES = 1_000_000


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
    with opened(path, encoding) as file:
        for number, line in enumerate(lines(file, path.name)):
            yield f"{path.name}:{number + 1}", line.rstrip("\r\n"), None


def _separated(separator: str) -> Callable[[Path, Columns, str | None], Iterator[Row]]:
    def read(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
        before = csv.field_size_limit(LONGEST)
        with opened(path, encoding) as file:
            table = csv.reader(lines(file, path.name), delimiter=separator)
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
            finally:
                csv.field_size_limit(before)

    return read


def _json_lines(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    with opened(path, encoding) as file:

        def objects() -> Iterator[Any]:
            for number, line in enumerate(lines(file, path.name)):
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


def _folder(path: Path, columns: Columns, encoding: str | None) -> Iterator[Row]:
    """One text per .txt file, labelled by its folder's name (neg/, pos/); or all tables of the
    folder, one after another.
    """
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


def _files(folder: Path) -> Iterator[Path]:
    """The files of known kinds in a folder and those inside it."""
    for file in all_files(folder):
        if _kind(file) in READERS and there(file) and file.is_file():
            yield file


def all_files(folder: Path) -> Iterator[Path]:
    """Everything in a folder and those inside it but folders, if it is not too much; no link to a
    folder is followed.
    """
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


READERS: dict[str, Callable[[Path, Columns, str | None], Iterator[Row]]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".jsonl": _json_lines,
    ".json": _json_list,
    ".parquet": parquet_rows,
    ".txt": _text_lines,
}
