"""A finished job as a document: content, outputs and facts under a checksum; nothing is trusted."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordsway.core.errors import WordswayError, disk_refusal, first_line
from wordsway.engine.job import key_of

#: No record, and no packed file of records, is larger than this.
MOST_BYTES, MOST_PACKED_BYTES = 2**28, 2**34


class StoreError(WordswayError):
    """A store that cannot be read or written."""


class Broken(Exception):
    """An entry that is not what its name says."""


@dataclass(frozen=True)
class Record:
    """A finished job: its content, its outputs, and the facts of its run (versions, host,
    duration).
    """

    content: dict[str, Any]
    outputs: dict[str, Any]
    facts: dict[str, Any]

    def document(self) -> str:
        return json.dumps(
            {"content": self.content, "outputs": self.outputs, "facts": self.facts},
            sort_keys=True,
            ensure_ascii=False,
            allow_nan=False,
        )


def checksum(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()


def read_document(path: Path) -> tuple[str, str]:
    """Checksum and document of a file; refused where it is no regular file of ours."""
    plain_file(path, MOST_BYTES)
    try:
        head, _, document = path.read_text("utf-8").partition("\n")
    except UnicodeDecodeError:
        raise Broken("not text") from None
    return head, document


def plain_file(path: Path, most: int) -> None:
    """Refuse directories, links, pipes, devices, and what is too large, before anything is read."""
    about = os.lstat(path)
    if not stat.S_ISREG(about.st_mode):
        raise Broken("no regular file")
    if about.st_size > most:
        raise Broken(f"{about.st_size:,} bytes, more than any record of ours")


def parse(document: str) -> dict[str, Any]:
    """A document's parts."""
    try:
        parts = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise Broken(f"unreadable: {first_line(error)}") from None
    if not isinstance(parts, dict):
        raise Broken("unreadable: no document of ours")
    return parts


def record_of(document: str, expected: str, key: str) -> Record:
    """The record of a document whose checksum and name have to fit."""
    if checksum(document) != expected:
        raise Broken("its checksum differs")
    parts = parse(document)
    values = [parts.get(name) for name in ("content", "outputs", "facts")]
    if not all(isinstance(value, dict) for value in values):
        raise Broken("unreadable: content, outputs or facts are missing")
    record = Record(*values)  # type: ignore[arg-type]
    try:
        same = key_of(record.content) == key
    except (ValueError, RecursionError):
        same = False
    if not same:
        raise Broken("its name is not its content's")
    return record


def packed_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Key, checksum and document of every record of a packed file."""
    import pyarrow.parquet

    plain_file(path, MOST_PACKED_BYTES)
    columns = ("key", "sha256", "document")
    table = pyarrow.parquet.read_table(path, columns=list(columns))
    lists = [table[name].to_pylist() for name in columns]
    for row in zip(*lists, strict=True):
        if not all(isinstance(value, str) for value in row):
            raise Broken("keys, checksums and documents have to be text")
        yield row


def packed_keys(path: Path) -> list[str]:
    """The keys of a packed file, every record's checksum verified."""
    import pyarrow

    keys = []
    wrong = 0
    try:
        for key, expected, document in packed_rows(path):
            keys.append(key)
            wrong += checksum(document) != expected
    except (pyarrow.ArrowException, OSError, KeyError) as error:
        raise Broken(first_line(error)) from None
    if wrong:
        raise Broken(f"{wrong} records do not fit their checksum")
    return keys


def refusal(folder: Path, error: OSError) -> StoreError:
    """Why a folder cannot be written."""
    reason, remedy = disk_refusal(error)
    return StoreError(
        f"cannot write to {folder} ({reason}): {remedy}, or choose another folder with --out; what "
        "was stored is safe"
    )
