"""Embeddings on disk, so that a text is run through a model once.

One NumPy archive (.npz) per batch, never changed once renamed into place: any number of processes
may add to a folder. The archive has a checksum for each text; a file that does not agree with it is
refused, reported and computed again. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordsway.core.atomic import atomic
from wordsway.data import home

log = logging.getLogger("wordsway")
#: Of the numbers and of the files; results record it.
VERSION = 2
SUFFIX = ".npz"


class Cache:
    """A folder of float32 matrices, one per text; files have the SHA-256 of the texts."""

    def __init__(self, *path: str) -> None:
        self.folder = home() / "embeddings" / f"v{VERSION}" / Path(*path)
        self.index: dict[str, Path] = {}
        self.seen: set[Path] = set()

    def read(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """The matrices that are here by their texts, checked."""
        self._scan()
        by_file: dict[Path, dict[str, str]] = {}
        for text in texts:
            if (key := _key(text)) in self.index:
                by_file.setdefault(self.index[key], {})[text] = key
        found: dict[str, np.ndarray] = {}
        for path, here in by_file.items():
            try:
                found |= _read(path, here)
            except Exception as error:  # of the file, the header or the numbers
                self._refuse(path, error)
        return found

    def write(self, matrices: Mapping[str, np.ndarray]) -> None:
        """Keep the matrices of texts; a disk that refuses is reported, and costs only speed."""
        if not matrices:
            return
        arrays: dict[str, Any] = {_key(text): rows for text, rows in matrices.items()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (
                atomic(self.folder / f"{uuid.uuid4().hex}{SUFFIX}") as partial,
                partial.open("wb") as file,
            ):
                np.savez(file, **arrays)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            log.warning(
                "embeddings are not kept (%s: %s); "
                "set WORDSWAY_HOME to a folder that can be written",
                self.folder,
                reason,
            )

    def oldest(self, texts: Iterable[str]) -> float:
        """The time (since the epoch) at which the oldest of these matrices was stored."""
        times = [time.time()]
        for path in {self.index[key] for key in map(_key, texts) if key in self.index}:
            with contextlib.suppress(OSError):
                times.append(path.stat().st_mtime)
        return min(times)

    def clear(self) -> None:
        """Remove every stored matrix."""
        for path in self.folder.glob(f"*{SUFFIX}"):
            path.unlink(missing_ok=True)
        self.index.clear()

    def _scan(self) -> None:
        """Read the contents of files added since the last refresh."""
        try:
            files = {entry for entry in self.folder.iterdir() if entry.suffix == SUFFIX}
        except OSError:
            return
        for path in sorted(files - self.seen):
            self.seen.add(path)
            try:
                with np.load(path, allow_pickle=False) as file:
                    self.index |= dict.fromkeys(file.files, path)
            except Exception as error:  # of the file or its header
                self._refuse(path, error)

    def _refuse(self, path: Path, error: Exception) -> None:
        """Set a broken file aside, so that it is reported once."""
        log.warning("%s is refused (%s): its texts are embedded again", path, error)
        self.index = {key: place for key, place in self.index.items() if place != path}
        with contextlib.suppress(OSError):
            os.replace(path, path.with_suffix(".refused"))


def _key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path, keys: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The matrices of texts with these keys; reading an array to its end compares its checksum."""
    with np.load(path, allow_pickle=False) as file:
        found = {text: file[key] for text, key in keys.items()}
    if any(rows.dtype != np.float32 or rows.ndim != 2 for rows in found.values()):
        raise ValueError("an array is not a float32 matrix")
    return found
