"""Finished cells on disk: each written once, whole, under its own hash; many of them packed into
Parquet.

    FOLDER/cells/<key>.json     one finished cell
    FOLDER/packed/<hash>.parquet   many of them
    FOLDER/failed/<key>.json    the error of a cell that failed

A record names its cell by content, and carries a checksum. What does not fit (a broken file, a
foreign one) is reported, computed again, and kept (in FOLDER/refused/ once its place is needed).
Any number of runs may share a folder.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from wordsway.atomic import atomic
from wordsway.errors import WordswayError
from wordsway.experiments.jobs import job_of
from wordsway.experiments.text_cells import KIND

if TYPE_CHECKING:
    import pandas

log = logging.getLogger("wordsway")
#: Loose files beyond this number are packed.
LOOSE = 500
#: Columns of the table that do not depend on when and where a cell was run.
LESSON = ("train", "update", "loss", "penalty")
LEARNED = (
    "error",
    "gamma",
    "alignment",
    "bound",
    "before_original",
    "before_changed",
    "after_original",
    "after_changed",
)
OUTPUTS = (
    "lower",
    "upper",
    "position",
    "word",
    "certificate",
    "status",
    "sample_seed",
    "map_seed",
    "search_seed",
)
FACTS = ("seconds", "peak_mb", "host", "finished", "wordsway", "torch", "python")


class StoreError(WordswayError):
    """A store that cannot be read or written."""


@dataclass(frozen=True)
class Record:
    """A finished cell: its content, its outputs, and the facts of its run (versions, host,
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


class Store:
    """The finished cells of a folder. `keys` is kept in memory; records are read when asked for."""

    def __init__(self, folder: Path | str) -> None:
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
            raise _refusal(self.folder, error) from None
        self.refresh()

    def refresh(self) -> None:
        """Look again at what is there, since other runs may share the folder."""
        loose = {
            name.removesuffix(".json")
            for name in os.listdir(self.folder / "cells")
            if name.endswith(".json") and not name.startswith(".")
        }
        for path in sorted(set((self.folder / "packed").glob("*.parquet")) - self._parts):
            self._parts.add(path)
            with suppress(_Broken):
                self.packed |= dict.fromkeys(self._packed_keys(path), path)
        for key in loose - self.loose:
            try:
                self._load(self._path(key), key)
            except _Broken as error:
                self._refuse(self._path(key), str(error))
            except FileNotFoundError:  # packed by another run in the meantime
                continue
            else:
                self.loose.add(key)
        self.loose &= loose

    def __contains__(self, key: str) -> bool:
        if key in self.loose or key in self.packed:
            return True
        path = self._path(key)  # another run may have finished it since the last look
        if not path.exists() or path in self.refused:
            return False
        try:
            self._load(path, key)
        except (_Broken, FileNotFoundError):
            return False
        self.loose.add(key)
        return True

    def __len__(self) -> int:
        return len(self.loose.union(self.packed))

    def add(self, record: Record) -> str:
        """Write a finished cell: a temporary name, the disk's own confirmation, then the rename."""
        key = job_of(record.content).key
        path = self._path(key)
        if (
            path in self.refused and path.exists()
        ):  # what is broken is kept for whoever wants to look into it
            aside = self.folder / "refused"
            aside.mkdir(exist_ok=True)
            os.replace(path, aside / f"{key}.{uuid.uuid4().hex[:8]}.json")
            del self.refused[path]
        self._write(path, record.document())
        self.loose.add(key)
        with suppress(OSError):
            (self.folder / "failed" / f"{key}.json").unlink()
        return key

    def fail(self, content: dict[str, Any], error: str) -> None:
        """Record why a cell failed; it counts as neither done nor left until it is retried."""
        self._write(
            self.folder / "failed" / f"{job_of(content).key}.json",
            json.dumps({"content": content, "error": error}, ensure_ascii=False),
        )

    def failures(self) -> dict[str, str]:
        """Keys and errors of the cells that failed and were not done since."""
        found = {}
        for path in (self.folder / "failed").glob("*.json"):
            if path.stem not in self:
                try:
                    found[path.stem] = str(
                        json.loads(path.read_text("utf-8").partition("\n")[2])["error"]
                    )
                except (OSError, ValueError, KeyError, TypeError):
                    found[path.stem] = "the record of the failure is unreadable"
        return found

    def records(self, keys: Iterable[str] | None = None) -> Iterator[tuple[str, Record]]:
        """The records of these cells (of all), in the order of their keys."""
        wanted = sorted(self.loose.union(self.packed) if keys is None else keys)
        by_part: dict[Path, set[str]] = {}
        for key in wanted:
            if key not in self.loose and key in self.packed:
                by_part.setdefault(self.packed[key], set()).add(key)
        packed = {
            key: record
            for path, some in by_part.items()
            for key, record in self._unpack(path, some)
        }
        for key in wanted:
            if key in packed:
                yield key, packed[key]
            elif key in self.loose:
                yield key, self._load(self._path(key), key)

    def pack(self, *, least: int = 1) -> int:
        """Put loose files into one Parquet file, if there are ``least`` of them; how many were
        packed.
        """
        if len(self.loose) < least:
            return 0
        import pyarrow
        import pyarrow.parquet

        try:
            with FileLock(self.folder / "packed" / ".lock", timeout=0):
                self.refresh()
                loose = sorted(self.loose - set(self.packed))
                documents = [record.document() for _, record in self.records(loose)]
                if documents:
                    sums = [_checksum(document) for document in documents]
                    name = hashlib.sha256("".join(sums).encode()).hexdigest()[:32]
                    path = self.folder / "packed" / f"{name}.parquet"
                    table = pyarrow.table({"key": loose, "sha256": sums, "document": documents})
                    with atomic(path) as partial:
                        pyarrow.parquet.write_table(
                            table, partial, compression="zstd", row_group_size=5000
                        )
                    self._parts.add(path)
                    self.packed |= dict.fromkeys(loose, path)
                for key in sorted(
                    self.loose & set(self.packed)
                ):  # only now, with the packed file on disk
                    with suppress(OSError):
                        self._path(key).unlink()
                    self.loose.discard(key)
                return len(documents)
        except Timeout:  # another run is at it
            return 0
        except OSError as error:
            raise _refusal(self.folder, error) from None

    def frame(self, keys: Iterable[str] | None = None, *, facts: bool = False) -> pandas.DataFrame:
        """A data frame, a row per cell of a grid in the order of their keys; without ``facts`` it
        is the same for every run.

        Texts have a table of their own: `wordsway.experiments.batches.words_frame`.
        """
        import pandas

        rows = []
        for key, record in self.records(keys):
            content, outputs = record.content, record.outputs
            if content.get("kind") == KIND:
                continue
            text = outputs.get("text") or {}
            row = {"key": key} | {
                name: value
                for name, value in content.items()
                if name not in ("texts", "version", "certificate")
            }
            row["positions"] = (
                row["positions"]
                if isinstance(row["positions"], str)
                else ",".join(map(str, row["positions"]))
            )
            row |= {name: outputs.get(name) for name in OUTPUTS}
            if "train" in content:
                row |= {name: content.get(name) for name in LESSON} | {
                    name: outputs.get(name) for name in LEARNED
                }
            row |= {
                "text_id": text.get("id"),
                "text_sha256": text.get("sha256"),
                "label": text.get("label"),
            }
            rows.append(row | ({name: record.facts.get(name) for name in FACTS} if facts else {}))
        return pandas.DataFrame(rows)

    def _path(self, key: str) -> Path:
        return self.folder / "cells" / f"{key}.json"

    def _write(self, path: Path, document: str) -> None:
        try:
            with atomic(path) as partial:
                partial.write_text(_checksum(document) + "\n" + document, "utf-8")
        except OSError as error:
            raise _refusal(self.folder, error) from None

    def _load(self, path: Path, key: str) -> Record:
        try:
            checksum, _, document = path.read_text("utf-8").partition("\n")
        except UnicodeDecodeError:
            raise _Broken("not text") from None
        return _record(document, checksum, key)

    def _packed_keys(self, path: Path) -> list[str]:
        """The keys of a packed file, every record's checksum verified."""
        import pyarrow

        try:
            keys, wrong = [], 0
            for key, checksum, document in _packed_rows(path):
                keys.append(key)
                wrong += _checksum(document) != checksum
            if wrong:
                raise _Broken(f"{wrong} records do not fit their checksum")
        except (pyarrow.ArrowException, OSError, KeyError, _Broken) as error:
            self._refuse(path, str(error).splitlines()[0])
            raise _Broken(str(error)) from None
        return keys

    def _unpack(self, path: Path, keys: set[str]) -> Iterator[tuple[str, Record]]:
        for key, checksum, document in _packed_rows(path):
            if key in keys:
                yield key, _record(document, checksum, key)

    def _refuse(self, path: Path, reason: str) -> None:
        if path not in self.refused:
            self.refused[path] = reason
            log.warning("%s is not a cell of ours (%s): left alone, computed again", path, reason)


def _packed_rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Key, checksum and document of every record of a packed file."""
    import pyarrow.parquet

    columns = ("key", "sha256", "document")
    table = pyarrow.parquet.read_table(path, columns=list(columns))
    return zip(*(table[name].to_pylist() for name in columns), strict=True)


def without_facts(frame: pandas.DataFrame) -> pandas.DataFrame:
    """The columns of a table that are the same for every run."""
    return frame.drop(columns=list(FACTS), errors="ignore")


def export(
    table: pandas.DataFrame, facts: pandas.DataFrame, folder: Path, name: str = "cells"
) -> list[Path]:
    """``name``.csv, the same for every run, and ``name``.parquet with the facts of each run beside
    it.
    """
    return [
        save_table(table, folder / f"{name}.csv"),
        save_table(facts, folder / f"{name}.parquet"),
    ]


def save_table(table: pandas.DataFrame, path: Path) -> Path:
    """Write a table as its name says, .csv or .parquet, whole or not at all."""
    try:
        with atomic(path) as partial:
            if path.suffix == ".csv":
                table.to_csv(partial, index=False)
            else:
                table.to_parquet(partial, index=False)
    except OSError as error:
        raise _refusal(path.parent, error) from None
    return path


class _Broken(Exception):
    """A file that is not what its name says."""


def _record(document: str, checksum: str, key: str) -> Record:
    if _checksum(document) != checksum:
        raise _Broken("its checksum differs")
    try:
        parts = json.loads(document)
        record = Record(parts["content"], parts["outputs"], parts["facts"])
        job = job_of(record.content)
        if record.content.get("version") != job.content["version"] or job.key != key:
            raise _Broken("its name is not its content's")
    except (ValueError, KeyError, TypeError) as error:
        raise _Broken(f"unreadable: {error}") from None
    return record


def _checksum(document: str) -> str:
    return hashlib.sha256(document.encode()).hexdigest()


def _refusal(folder: Path, error: OSError) -> StoreError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StoreError(
        f"cannot write to {folder} ({reason}): free some space, or choose another folder with --out; what was stored is safe"
    )
