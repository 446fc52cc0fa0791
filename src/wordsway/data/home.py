"""Where fetched data and embeddings are kept: the user's cache directory, or WORDSWAY_HOME."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout

from wordsway.core.atomic import atomic
from wordsway.core.errors import WordswayError, disk_refusal

log = logging.getLogger("wordsway")


#: report(bytes done, bytes in all)
Report = Callable[[int, int], None]


class DataError(WordswayError):
    """Data that could not be fetched or stored."""


class SourceError(WordswayError):
    """A source that cannot be reached or has other files; the next one is tried."""


def home() -> Path:
    """The cache directory: ``$WORDSWAY_HOME`` where set, else the platform's own."""
    chosen = os.environ.get("WORDSWAY_HOME")
    if chosen:
        return Path(os.path.expanduser(chosen))
    return Path(platformdirs.user_cache_dir("wordsway", appauthor=False))


#: Bytes that are hashed at a time: large chunks, since a hashing thread waits for the other threads
#: after each one.
PIECE = 2**24


def sha256(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    found = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        piece = memoryview(bytearray(min(PIECE, os.fstat(file.fileno()).st_size + 1)))
        while count := file.readinto(piece):
            found.update(piece[:count])
    return found.hexdigest()


def write_json(path: Path, document: Any) -> None:
    with atomic(path) as partial:
        partial.write_text(json.dumps(document, indent=1, ensure_ascii=False), "utf-8")


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold the lock of this name; the lock of a dead process is free."""
    locks = home() / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    lock = FileLock(locks / f"{name}.lock")
    try:
        lock.acquire(timeout=1.0)
    except Timeout:
        log.warning("another process is working on %s: waiting for it", name)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def writing(name: str) -> Iterator[None]:
    """Report errors of the disk in one line with a remedy."""
    try:
        yield
    except OSError as error:
        reason, remedy = disk_refusal(error)
        raise DataError(
            f"cannot keep {name} in {home()} ({reason}): {remedy}, or set WORDSWAY_HOME to "
            "another folder"
        ) from None
