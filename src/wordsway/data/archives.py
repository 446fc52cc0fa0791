"""Taking named members out of archives: nothing is installed, nothing is run, nothing lands outside
the folder.
"""

from __future__ import annotations

import json
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from wordsway.errors import WordswayError

PIECE = 1 << 20


class ArchiveError(WordswayError):
    """An archive that is broken, lacks a member, or tries to write where it must not."""


def extract(archive: Path, wanted: Mapping[str, Path]) -> None:
    """Write each wanted member of a zip or tar archive to its target.

    The whole archive is refused if any member, wanted or not, is a link or a device or would leave
    the folder.
    """
    try:
        missing = (
            _from_zip(archive, wanted)
            if zipfile.is_zipfile(archive)
            else _from_tar(archive, wanted)
        )
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise ArchiveError(
            f"{archive.name} is not a whole archive ({error or type(error).__name__})"
        ) from None
    if missing:
        raise ArchiveError(f"{archive.name} has no member {sorted(missing)[0]}")


def join(parts: Iterable[Path], target: Path) -> None:
    """Put files end to end; each is removed once it is in, so that the whole never takes twice its
    room.
    """
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, out, PIECE)
            part.unlink()


def _from_zip(archive: Path, wanted: Mapping[str, Path]) -> set[str]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            _check(archive, info.filename, link=stat.S_ISLNK(info.external_attr >> 16))
        here = set(file.namelist())
        for name in here & set(wanted):
            with file.open(name) as member:
                _write(member, wanted[name])
    return set(wanted) - here


def _from_tar(archive: Path, wanted: Mapping[str, Path]) -> set[str]:
    missing = set(wanted)
    with tarfile.open(archive, "r:*") as file:
        members = file.getmembers()
        for info in members:
            _check(archive, info.name, link=not (info.isfile() or info.isdir()))
        for info in members:
            if info.name in missing:
                member = file.extractfile(info)
                assert member is not None
                _write(member, wanted[info.name])
                missing.discard(info.name)
    return missing


def _check(archive: Path, name: str, *, link: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0:1]:
        raise ArchiveError(
            f"{archive.name} is refused: its member {name!r} would be written outside the folder"
        )
    if link:
        raise ArchiveError(f"{archive.name} is refused: its member {name!r} is a link or a device")


def _write(member: IO[bytes], target: Path) -> None:
    with target.open("wb") as out:
        shutil.copyfileobj(member, out, PIECE)


def looks_like(path: Path) -> bool:
    """Is a file of the kind that its name says? A check for files whose hash nobody knows
    beforehand.
    """
    with path.open("rb") as file:
        head = file.read(8)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    if path.suffix == ".parquet":
        return head[:4] == tail == b"PAR1"
    if path.suffix == ".safetensors":
        return 2 <= int.from_bytes(head, "little") <= path.stat().st_size - 8
    try:
        text = path.read_text("utf-8")
        return path.suffix != ".json" or isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False
