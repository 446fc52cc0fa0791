"""Finished jobs on disk: each written once, whole, under its own hash; many of them packed into
Parquet.

    FOLDER/cells/<key>.json     one finished job
    FOLDER/packed/<hash>.parquet   many of them
    FOLDER/failed/<key>.json    the error of a job that failed

A record names its job by content, and carries a checksum. What does not fit (a broken file, a
foreign one, a directory, a pipe) is reported, computed again, and kept (in FOLDER/refused/ once its
place is needed). Any number of runs may share a folder.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from wordsway.core.atomic import atomic
from wordsway.core.errors import needs
from wordsway.engine.job import key_of
from wordsway.engine.records import (
    Broken,
    Record,
    StoreError,
    checksum,
    packed_keys,
    packed_rows,
    parse,
    read_document,
    record_of,
    refusal,
)

log = logging.getLogger("wordsway")
#: Loose files beyond this number are packed.
LOOSE = 500
__all__ = ["LOOSE", "Record", "Store", "StoreError"]


class Store:
    """The finished jobs of a folder. Keys are kept in memory; records are read when asked for."""

    def __init__(self, folder: Path | str) -> None:
        needs("figures", "pyarrow")
        self.folder = Path(folder)
        self.loose: set[str] = set()
        self.packed: dict[str, Path] = {}
        self.refused: dict[Path, str] = {}
        self._parts: set[Path] = set()
        try:
            for room in ("cells", "packed", "failed"):
                (self.folder / room).mkdir(parents=True, exist_ok=True)
            probe = self.folder / f".{uuid.uuid4().hex}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise refusal(self.folder, error) from None
        self.refresh()

    def refresh(self) -> None:
        """See what is there now, since other runs may share the folder."""
        loose = {
            name.removesuffix(".json")
            for name in os.listdir(self.folder / "cells")
            if name.endswith(".json") and not name.startswith(".")
        }
        for path in sorted(set((self.folder / "packed").glob("*.parquet")) - self._parts):
            self._parts.add(path)
            try:
                self.packed |= dict.fromkeys(packed_keys(path), path)
            except Broken as error:
                self._refuse(path, str(error))
        for key in loose - self.loose:
            if self._readable(key):
                self.loose.add(key)
        self.loose &= loose

    def _readable(self, key: str) -> bool:
        path = self._path(key)
        if path in self.refused:
            return False
        try:
            self._load(key)
        except Broken as error:
            self._refuse(path, str(error))
            return False
        except OSError as error:
            # Gone: another run packed it in the meantime.
            if not isinstance(error, FileNotFoundError):
                self._refuse(path, os.strerror(error.errno or 0))
            return False
        return True

    def __contains__(self, key: str) -> bool:
        if key in self.loose or key in self.packed:
            return True
        # Another run may have finished it since the last look.
        if not os.path.lexists(self._path(key)) or not self._readable(key):
            return False
        self.loose.add(key)
        return True

    @property
    def keys(self) -> set[str]:
        """The keys of all finished jobs, as of the last look."""
        return self.loose.union(self.packed)

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, record: Record) -> str:
        """Write a finished job: a temporary name, the disk's own confirmation, then the rename."""
        key = key_of(record.content)
        self._set_aside(self._path(key))
        self._write(self._path(key), record.document())
        self.loose.add(key)
        failed = self.folder / "failed" / f"{key}.json"
        with suppress(OSError):
            failed.unlink()
        return key

    def _set_aside(self, path: Path) -> None:
        """Keep what is broken, for whoever wants to see it, where its place is needed."""
        if path in self.refused and os.path.lexists(path):
            aside = self.folder / "refused"
            try:
                aside.mkdir(exist_ok=True)
                os.replace(path, aside / f"{path.stem}.{uuid.uuid4().hex[:8]}.json")
            except OSError as error:
                raise refusal(self.folder, error) from None
            del self.refused[path]

    def fail(self, content: dict[str, Any], error: str) -> None:
        """Record why a job failed; it counts as neither done nor left until it is retried."""
        document = json.dumps({"content": content, "error": error}, ensure_ascii=False)
        path = self.folder / "failed" / f"{key_of(content)}.json"
        if path.is_dir():
            self.refused[path] = "a directory"
            self._set_aside(path)
        self._write(path, document)

    def failures(self) -> dict[str, str]:
        """Keys and errors of the jobs that failed and were not done since."""
        found = {}
        for path in (self.folder / "failed").glob("*.json"):
            if path.stem not in self:
                try:
                    found[path.stem] = str(parse(read_document(path)[1])["error"])
                except (OSError, Broken, KeyError):
                    found[path.stem] = "the record of the failure is unreadable"
        return found

    def records(self, keys: Iterable[str] | None = None) -> Iterator[tuple[str, Record]]:
        """The records of these jobs (of all), in the order of their keys."""
        wanted = sorted(self.keys if keys is None else set(keys))
        found = self._unpacked([key for key in wanted if key not in self.loose])
        for key in wanted:
            if key in found:
                yield key, found[key]
            elif key in self.loose:
                try:
                    yield key, self._load(key)
                except FileNotFoundError:  # another run packed it in the meantime
                    self.refresh()
                    found |= self._unpacked([key for key in wanted if key not in self.loose])
                    if key in found:
                        yield key, found[key]

    def _unpacked(self, keys: Iterable[str]) -> dict[str, Record]:
        """Those of the records that are packed."""
        by_part: dict[Path, set[str]] = {}
        for key in keys:
            if key in self.packed:
                by_part.setdefault(self.packed[key], set()).add(key)
        found = {}
        for path, some in by_part.items():
            for key, expected, document in packed_rows(path):
                if key in some:
                    try:
                        found[key] = record_of(document, expected, key)
                    except Broken as error:
                        del self.packed[key]
                        self._refuse(path / key, str(error))
        return found

    def pack(self, *, least: int = 1) -> int:
        """Put loose files into one Parquet file, if there are ``least`` of them; how many were
        packed.
        """
        if len(self.loose) < least:
            return 0
        try:
            with FileLock(self.folder / "packed" / ".lock", timeout=0):
                self.refresh()
                records = dict(self.records(self.loose - set(self.packed)))
                if records:
                    self._write_part(records)
                # Only now, with the packed file on disk.
                for key in sorted(self.loose & set(self.packed)):
                    with suppress(OSError):
                        self._path(key).unlink()
                    self.loose.discard(key)
                return len(records)
        except Timeout:  # another run packs
            return 0
        except OSError as error:
            raise refusal(self.folder, error) from None

    def _write_part(self, records: dict[str, Record]) -> None:
        import pyarrow
        import pyarrow.parquet

        documents = [record.document() for record in records.values()]
        sums = [checksum(document) for document in documents]
        path = self.folder / "packed" / f"{checksum(''.join(sums))[:32]}.parquet"
        table = pyarrow.table({"key": list(records), "sha256": sums, "document": documents})
        with atomic(path) as partial:
            pyarrow.parquet.write_table(table, partial, compression="zstd", row_group_size=5000)
        self._parts.add(path)
        self.packed |= dict.fromkeys(records, path)

    def _path(self, key: str) -> Path:
        return self.folder / "cells" / f"{key}.json"

    def _write(self, path: Path, document: str) -> None:
        try:
            with atomic(path) as partial:
                partial.write_text(checksum(document) + "\n" + document, "utf-8")
        except OSError as error:
            raise refusal(self.folder, error) from None

    def _load(self, key: str) -> Record:
        expected, document = read_document(self._path(key))
        return record_of(document, expected, key)

    def _refuse(self, path: Path, reason: str) -> None:
        if path not in self.refused:
            self.refused[path] = reason
            log.warning("%s is not a cell of ours (%s): left alone, computed again", path, reason)
