"""Embeddings on disk, so that a text is run through a model once.

One safetensors file per batch, never changed once renamed into place: any number of processes may
add to a folder. Each text's numbers carry a checksum; what does not fit is refused, reported and
computed again. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wordsway.core.atomic import atomic
from wordsway.core.errors import needs
from wordsway.data import home

log = logging.getLogger("wordsway")
#: Of the numbers and of the files; results record it.
VERSION = 1


class Cache:
    """A folder of float32 matrices, one per text, named by the SHA-256 of the text."""

    def __init__(self, *path: str) -> None:
        needs("models", "safetensors")
        self.folder = home() / "embeddings" / f"v{VERSION}" / Path(*path)
        self.index: dict[str, Path] = {}
        self.seen: set[Path] = set()

    def read(self, keys: Sequence[str]) -> dict[str, np.ndarray]:
        """The matrices that are here, checked."""
        self._scan()
        by_file: dict[Path, list[str]] = {}
        for key in keys:
            if key in self.index:
                by_file.setdefault(self.index[key], []).append(key)
        found: dict[str, np.ndarray] = {}
        for path, here in by_file.items():
            try:
                found |= _read(path, here)
            except Exception as error:  # of the file, the header or the numbers
                self._refuse(path, error)
        return found

    def write(self, matrices: Mapping[str, np.ndarray]) -> None:
        """Keep the matrices; a disk that refuses is reported, and costs only speed."""
        if not matrices:
            return
        needs("models", "safetensors")
        from safetensors.numpy import save

        tensors = {key: np.ascontiguousarray(rows) for key, rows in matrices.items()}
        checksums = {key: zlib.crc32(rows.data) for key, rows in tensors.items()}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic(self.folder / f"{uuid.uuid4().hex}.safetensors") as partial:
                partial.write_bytes(save(tensors, metadata={"checksums": json.dumps(checksums)}))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            log.warning(
                "embeddings are not kept (%s: %s); "
                "set WORDSWAY_HOME to a folder that can be written",
                self.folder,
                reason,
            )

    def _scan(self) -> None:
        """Read the contents of files added since the last refresh."""
        try:
            files = {entry for entry in self.folder.iterdir() if entry.suffix == ".safetensors"}
        except OSError:
            return
        for path in sorted(files - self.seen):
            self.seen.add(path)
            try:
                with _opened(path) as file:
                    self.index |= dict.fromkeys(file.keys(), path)
            except Exception as error:  # of the file or its header
                self._refuse(path, error)

    def _refuse(self, path: Path, error: Exception) -> None:
        """Set a broken file aside, so that it is reported once."""
        log.warning("%s is refused (%s): its texts are embedded again", path, error)
        self.index = {key: place for key, place in self.index.items() if place != path}
        with contextlib.suppress(OSError):
            os.replace(path, path.with_suffix(".refused"))


def _opened(path: Path) -> Any:
    needs("models", "safetensors")
    from safetensors import safe_open

    return safe_open(path, framework="numpy")


def _read(path: Path, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Some matrices of a file, once their checksums agree."""
    with _opened(path) as file:
        checksums = json.loads(file.metadata()["checksums"])
        found = {key: file.get_tensor(key) for key in keys}
    for key, rows in found.items():
        if rows.dtype != np.float32 or rows.ndim != 2 or zlib.crc32(rows.data) != checksums[key]:
            raise ValueError("a checksum differs")
    return found
