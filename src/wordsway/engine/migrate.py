"""Read a store of version 0.2.0, whose records are files and packed Parquet tables."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from wordsway.core.errors import InputError, first_line, needs
from wordsway.engine.job import key_of
from wordsway.engine.store import InvalidRecord, Record, Store, parse

log = logging.getLogger("wordsway")


def migrate(folder: Path | str) -> int:
    """Copy the finished jobs of a store of version 0.2.0 into its own segments; how many were new.

    ``folder`` is the store, or a folder of results that has one. The old files stay.
    """
    folder = Path(folder)
    if not any((folder / name).is_dir() for name in ("cells", "packed")):
        folder = folder / "store"
    if not any((folder / name).is_dir() for name in ("cells", "packed")):
        raise InputError(
            "a store of version 0.2.0, with cells/ or packed/ in it",
            str(folder.parent),
            "name the folder that was given as --out",
        )
    (folder / "segments").mkdir(exist_ok=True)
    store = Store(folder)
    before = len(store)
    for key, record in _records(folder):
        if key not in store:
            store.add(record)
    return len(store) - before


def _records(folder: Path) -> Iterator[tuple[str, Record]]:
    for where, checksum, document in _lines(folder):
        try:
            found = parse(f"{checksum} {document}".encode())
            yield key_of(found["content"]), Record(**found)
        except (InvalidRecord, TypeError, ValueError) as error:
            log.warning("%s: ignoring an invalid record (%s)", where, first_line(error))


def _lines(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Where a record is, its checksum and its document."""
    for path in sorted((folder / "cells").glob("*.json")):
        if path.is_file() and not path.is_symlink():
            checksum, _, document = path.read_text("utf-8", errors="replace").partition("\n")
            yield path, checksum, document
    packed = [path for path in sorted((folder / "packed").glob("*.parquet")) if path.is_file()]
    if packed:
        needs("figures", "pyarrow")
        import pyarrow
        import pyarrow.parquet

        for path in packed:
            try:
                table = pyarrow.parquet.read_table(path, columns=["sha256", "document"])
            except (pyarrow.ArrowException, OSError, KeyError) as error:
                log.warning("%s: ignoring an unreadable file (%s)", path, first_line(error))
                continue
            for row in table.to_pylist():
                yield path, str(row["sha256"]), str(row["document"])
