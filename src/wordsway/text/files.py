"""Files as text: where they are, their encoding, lines of bounded length."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Annotated, Any, cast

from wordsway.core.checks import Condition, validated
from wordsway.core.errors import InputError

#: The longest text, in characters: a longer one is not a text.
LONGEST = 1_000_000


def expanded(path: str | Path) -> Path:
    """A path with ~ spelled out, where that user exists."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def path_exists(path: str | Path) -> bool:
    """Is something at this path? Names that no file can have are nowhere."""
    try:
        return str(path) != "" and expanded(path).exists()
    except (OSError, ValueError):
        return False


def open_text(path: Path, encoding: str | None) -> IO[str]:
    """The file as text, UTF-8 unless a mark or ``encoding`` differs; binary ones are refused."""
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


def _is_encoding(name: str) -> bool:
    """Return whether Python has an encoding of texts by this name."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        return False
    return name != ""


Encoding = Annotated[
    str,
    Condition(
        "that names an encoding of texts", _is_encoding, "utf-8, latin-1 or cp1252, for example"
    ),
]


@validated
def _encoding(encoding: Encoding) -> str:
    """The encoding's own name; UTF-8 also reads files that begin with a mark."""
    found = codecs.lookup(encoding)
    return "utf-8-sig" if found.name == "utf-8" else found.name


def lines(file: IO[str], name: str) -> Iterator[str]:
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
