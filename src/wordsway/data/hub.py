"""Any model of the hub by its id, "organisation/name": from the hub's own cache on this machine, or
streamed into `home()`, never more of it than the hub declared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import urllib.request
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from wordsway.data.archives import ArchiveError, Budget
from wordsway.data.catalogue import Kept
from wordsway.data.clients import PATIENCE, Progress, Unreachable, offline, stream, within
from wordsway.data.fetch import one_at_a_time, writing
from wordsway.data.home import home
from wordsway.errors import WordswayError, first_line, needs
from wordsway.format import format_bytes

#: What a model needs: weights that run nothing when they are opened, and small files beside them.
WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
#: Bytes of a listing, files of a model, and bytes of all of them: more is refused.
LISTING, FILES, MOST = 8 << 20, 500, 64 << 30
_ID = re.compile(r"[\w.\-]+/[\w.\-]+")


def is_hub_id(name: str) -> bool:
    """Whether a name is spelled like a model of the hub.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("minilm"), is_hub_id("a/b/c")
    (True, False, False)
    """
    return _ID.fullmatch(name) is not None and not name.startswith(".")


def hub_folder(name: str, progress: Progress | None = None) -> Path:
    """The folder of a hub model; out of reach, it says so within seconds."""
    needs("models", "huggingface_hub")
    cached = _in_hub_cache(name)
    folder = home() / "hub" / name.replace("/", "--")
    if cached is not None or folder.is_dir():
        return cached or folder
    with writing(name), one_at_a_time(folder.name):
        if not folder.is_dir():
            _fetch(name, folder, progress or (lambda done, total: None))
    return folder


def _in_hub_cache(name: str) -> Path | None:
    """The model's folder in the hub's own cache, if it is whole enough to be one."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(WANTED), local_files_only=True))
    except (LocalEntryNotFoundError, OSError, ValueError):
        return None
    whole = (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))
    return folder if whole else None


def _fetch(name: str, folder: Path, progress: Progress) -> None:
    """All files of the model, each held to the size and the hash that the hub declares."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        sizes = declared(name)
        _has_room(name, sum(sizes.values()))
        done, total = 0, sum(sizes.values())
        for file, size in sizes.items():
            target = room / file
            target.parent.mkdir(parents=True, exist_ok=True)
            told = partial(_onwards, progress, done, total)
            kept, budget = Kept(file, file, None), Budget(size, "the hub declares", slack=0)
            stream(name, kept, None, target, budget, told)
            done += size
        os.replace(room, folder)
    except Unreachable as error:
        raise WordswayError(
            f"{name}: {error}; connect and try again, or pass the path of a folder with the model"
        ) from None
    except ArchiveError as error:
        raise WordswayError(f"{name}: {error}; pass the path of a folder with the model") from None
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _onwards(progress: Progress, before: int, total: int, now: int) -> None:
    progress(before + now, total)


def declared(name: str) -> dict[str, int]:
    """The files that a model needs, and how many bytes the hub says that each has."""
    offline()
    document = within(PATIENCE, partial(_listing, name))
    try:
        found = {
            str(file["rfilename"]): file["size"]
            for file in document["siblings"]
            if any(fnmatch(str(file["rfilename"]), pattern) for pattern in WANTED)
        }
    except (KeyError, TypeError) as error:
        raise ArchiveError(f"the hub's listing of it is refused ({first_line(error)})") from None
    for file, size in found.items():
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or "\\" in file or "\0" in file:
            raise ArchiveError(f"its file {file!r} is refused: it would lie outside its folder")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise ArchiveError(f"its file {file!r} is refused: the hub declares no size of it")
    if "config.json" not in found or not any(file.endswith(".safetensors") for file in found):
        raise ArchiveError("it has no config.json with weights in safetensors")
    if len(found) > FILES or sum(found.values()) > MOST:
        raise ArchiveError(
            f"it has {len(found):,} files of {format_bytes(sum(found.values()))}, more than the "
            f"{FILES} of {format_bytes(MOST)} that are fetched"
        )
    return found


def _listing(name: str) -> Any:
    from huggingface_hub.constants import ENDPOINT

    hub = os.environ.get("HF_ENDPOINT") or ENDPOINT
    url = f"{hub}/api/models/{quote(name)}?blobs=true"
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        text = answer.read(LISTING + 1)
    if len(text) > LISTING:
        raise ValueError(f"a listing of more than {format_bytes(LISTING)}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("a listing that is no JSON") from None


def _has_room(name: str, needed: int) -> None:
    free = shutil.disk_usage(home()).free
    if free < needed:
        raise ArchiveError(
            f"it needs {format_bytes(needed)}, {home()} has {format_bytes(free)} free: free some "
            "space there, or set WORDSWAY_HOME to another folder"
        )
