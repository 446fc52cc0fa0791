"""Finished jobs on disk, in append-only segments.

    FOLDER/segments/<name>.log   one per run; a line is ``sha256 document``

A document is one finished job (content, outputs, facts) or one failure (content, error); it is
synced to disk before the run continues. A line that a killed run left unfinished fails its
checksum. Any number of runs may share a folder: each appends to a separate segment.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from wordsway.core.errors import InputError, WordswayError, disk_refusal, first_line
from wordsway.engine.job import key_of

log = logging.getLogger("wordsway")
#: No line is longer than this.
MOST_BYTES = 2**28


def store_in(folder: Path | str) -> Path:
    """The folder of a store: this one, or "store" in it."""
    for path in (Path(folder), Path(folder) / "store"):
        if (path / "segments").is_dir():
            return path
    raise InputError("a folder with a store to merge", str(folder), "name an --out folder")


class StoreError(WordswayError):
    """A store that cannot be read or written."""


class InvalidRecord(Exception):
    """A line that is no record of a store."""


@dataclass(frozen=True)
class Record:
    """A finished job: its content, its outputs, and the facts of its run (versions, host, …)."""

    content: dict[str, Any]
    outputs: dict[str, Any]
    facts: dict[str, Any]


#: The file of a line, its first byte and its length.
Place = tuple[Path, int, int]


class Store:
    """The finished jobs of a folder. Keys are held in memory, records are read when needed."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.segments = self.folder / "segments"
        self._done: dict[str, Place] = {}
        self._failed: dict[str, str] = {}
        self._read: dict[Path, int] = {}
        #: The segment that this run appends to, and its length.
        self._own: Path | None = None
        self._end = 0
        older = [name for name in ("cells", "packed") if (self.folder / name).is_dir()]
        if older and not self.segments.exists():
            log.warning(
                "%s is a store of version 0.2.0, whose jobs are recomputed: searches have changed",
                self.folder,
            )
        try:
            self.segments.mkdir(parents=True, exist_ok=True)
            probe = self.segments / f".{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise refusal(self.folder, error) from None
        self.refresh()

    def refresh(self) -> None:
        """Read the documents that other runs have appended since the last refresh."""
        for path in sorted(self.segments.glob("*.log")):
            if path != self._own and self._read.get(path, 0) >= 0:
                try:
                    self._scan(path)
                except (InvalidRecord, OSError) as error:
                    self._read[path] = -1
                    self._warn(path, error)

    def _scan(self, path: Path) -> None:
        offset = self._read.get(path, 0)
        with _open(path) as file:
            file.seek(offset)
            while line := file.readline(MOST_BYTES):
                if not line.endswith(b"\n"):
                    if len(line) == MOST_BYTES:
                        raise InvalidRecord("a line is longer than any record")
                    break  # it is being written, or its run was killed
                try:
                    self._note(parse(line), (path, offset, len(line)))
                except (InvalidRecord, ValueError, RecursionError) as error:
                    self._warn(f"{path}, byte {offset}", error)
                offset += len(line)
        self._read[path] = offset

    def _note(self, document: dict[str, Any], place: Place) -> None:
        key = key_of(document["content"])
        if "error" in document:
            self._failed[key] = str(document["error"])
        else:
            self._done[key] = place

    def _warn(self, where: Path | str, error: Exception) -> None:
        why = (error.strerror if isinstance(error, OSError) else None) or first_line(error)
        log.warning("%s: ignoring an invalid record (%s); it will be recomputed", where, why)

    def __contains__(self, key: str) -> bool:
        return key in self._done

    def __len__(self) -> int:
        return len(self._done)

    def add(self, record: Record) -> str:
        """Append a finished job to the segment of this run."""
        return self._append(asdict(record))

    def merge(self, folder: Path | str) -> int:
        """Copy the finished jobs of another store, or of its --out folder; their number."""
        before = len(self)
        for key, record in Store(store_in(folder)).records():
            if key not in self:
                self.add(record)
        return len(self) - before

    def fail(self, content: dict[str, Any], error: str) -> None:
        """Record why a job failed; it counts as neither done nor left until it is retried."""
        self._append({"content": content, "error": error})

    def failures(self) -> dict[str, str]:
        """Keys and errors of the jobs that failed and were not done since."""
        return {key: error for key, error in self._failed.items() if key not in self._done}

    def records(self, keys: Iterable[str] | None = None) -> Iterator[tuple[str, Record]]:
        """The records of these jobs (of all), in the order of their keys."""
        for key in sorted(self._done if keys is None else set(keys) & self._done.keys()):
            path, offset, length = self._done[key]
            try:
                with _open(path) as file:
                    file.seek(offset)
                    document = parse(file.read(length))
            except (InvalidRecord, OSError) as error:
                del self._done[key]
                self._warn(f"{path}, byte {offset}", error)
                continue
            yield key, Record(*(document[name] for name in ("content", "outputs", "facts")))

    def _append(self, document: dict[str, Any]) -> str:
        plain = json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False).encode()
        line = hashlib.sha256(plain).hexdigest().encode() + b" " + plain + b"\n"
        if self._own is None:
            self._own, self._end = self.segments / f"{uuid.uuid4().hex}.log", 0
        path = self._own
        try:
            _write(path, self._end, line)
        except OSError as error:
            self._own = None  # the next record begins a new segment
            raise refusal(self.folder, error) from None
        self._note(document, (path, self._end, len(line)))
        self._end += len(line)
        return key_of(document["content"])


def _write(path: Path, end: int, line: bytes) -> None:
    """Append a line to a segment of ``end`` bytes, confirmed by the disk; all of it or nothing."""
    number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        left = memoryview(line)
        while left:
            left = left[os.write(number, left) :]
        os.fsync(number)
        if not end:  # the name of a new segment
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError:
        with suppress(OSError):
            os.ftruncate(number, end)
        raise
    finally:
        os.close(number)


def parse(line: bytes) -> dict[str, Any]:
    """The document of a line, whose checksum has to fit."""
    expected, _, plain = line.rstrip(b"\n").partition(b" ")
    if hashlib.sha256(plain).hexdigest().encode() != expected:
        raise InvalidRecord("its checksum differs")
    try:
        document = json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise InvalidRecord(first_line(error)) from None
    known = isinstance(document, dict) and (
        set(document) == {"content", "error"}
        or (
            set(document) == {"content", "outputs", "facts"}
            and isinstance(document["outputs"], dict)
            and isinstance(document["facts"], dict)
        )
    )
    if not known or not isinstance(document["content"], dict):
        raise InvalidRecord("content, outputs or facts are missing")
    return document


def _open(path: Path) -> BinaryIO:
    """A regular file, opened without following a link or waiting for a pipe."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    file = os.fdopen(number, "rb", closefd=True)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        file.close()
        raise InvalidRecord("no regular file")
    return file


def refusal(folder: Path, error: OSError) -> StoreError:
    """Why a folder cannot be written."""
    reason, remedy = disk_refusal(error)
    return StoreError(
        f"cannot write to {folder} ({reason}): {remedy}, or choose another folder with --out; what "
        "was stored is safe"
    )
