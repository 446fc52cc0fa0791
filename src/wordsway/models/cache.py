"""Embeddings on disk, so that a text is run through a model once.

One safetensors file per batch, never changed once renamed into place: any number of processes may
add to a folder. Each text's numbers carry a checksum; what does not fit is refused, reported and
computed again. Nothing is ever unpickled.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import uuid
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordsway.core.atomic import atomic
from wordsway.core.errors import needs
from wordsway.data import home

log = logging.getLogger("wordsway")
#: Of the numbers and of the files; results record it.
VERSION = 1


@dataclass(frozen=True)
class _Place:
    """Where a text's numbers lie: bytes start … end of a file, rows × columns of float32, and their
    checksum.
    """

    path: Path
    start: int
    end: int
    shape: tuple[int, int]
    checksum: int


class Cache:
    """A folder of float32 matrices, one per text, named by the SHA-256 of the text; read as memory
    maps.
    """

    def __init__(self, *path: str) -> None:
        self.folder = home() / "embeddings" / f"v{VERSION}" / Path(*path)
        self.index: dict[str, _Place] = {}
        self.seen: set[Path] = set()

    def read(self, keys: Sequence[str]) -> dict[str, np.ndarray]:
        """The matrices that are here, checked; they are read-only views of the files."""
        self._scan()
        by_file: dict[Path, list[str]] = {}
        for key in keys:
            if key in self.index:
                by_file.setdefault(self.index[key].path, []).append(key)
        found: dict[str, np.ndarray] = {}
        for path, here in by_file.items():
            try:
                memory = _mapped(path)
                for key in here:
                    place = self.index[key]
                    if zlib.crc32(memoryview(memory)[place.start : place.end]) != place.checksum:
                        raise ValueError("a checksum differs")
                    rows = np.frombuffer(
                        memory,
                        dtype="<f4",
                        count=(place.end - place.start) // 4,
                        offset=place.start,
                    )
                    found[key] = rows.reshape(place.shape)
            except (OSError, ValueError) as error:
                self._refuse(path, error)
                found = {key: rows for key, rows in found.items() if key not in here}
        return found

    def write(self, matrices: Mapping[str, np.ndarray]) -> None:
        """Keep the matrices; a disk that refuses is reported, and costs only the speed of a second
        run.
        """
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
                self.index |= _places(path)
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                self._refuse(path, error)

    def _refuse(self, path: Path, error: Exception) -> None:
        """Set a broken file aside, so that it is reported once."""
        log.warning("%s is refused (%s): its texts are embedded again", path, error)
        self.index = {key: place for key, place in self.index.items() if place.path != path}
        with contextlib.suppress(OSError):
            os.replace(path, path.with_suffix(".refused"))


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _places(path: Path) -> dict[str, _Place]:
    """The header of a safetensors file: eight bytes of length, then JSON with offsets from its own
    end.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= size - 8:
            raise ValueError("its header is broken")
        header = json.loads(file.read(length))
    checksums = json.loads(header.pop("__metadata__")["checksums"])
    places = {}
    for key, tensor in header.items():
        start, end = (8 + length + offset for offset in tensor["data_offsets"])
        rows, columns = tensor["shape"]
        if (
            tensor["dtype"] != "F32"
            or not 0 <= start <= end <= size
            or end - start != 4 * rows * columns
        ):
            raise ValueError("its header does not fit its size")
        places[key] = _Place(path, start, end, (rows, columns), int(checksums[key]))
    return places
