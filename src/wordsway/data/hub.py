"""Files of the Hugging Face hub, through huggingface_hub: its cache, its tokens (private and gated
repositories), downloads that resume.

A hub that does not respond is reported within `PATIENCE` seconds, and its declarations are checked
before anything is downloaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from wordsway.core.errors import MissingExtraError, WordswayError, first_line, needs
from wordsway.core.format import format_bytes
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import run_with_timeout
from wordsway.data.catalogue import HubSource
from wordsway.data.home import Report, SourceError, one_at_a_time, sha256, writing

#: Weights that run nothing when they are opened, and the small files that a model needs.
WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
#: Seconds that the hub gets to answer.
PATIENCE = 5.0
#: A model with more bytes is refused.
MOST_BYTES = 64 << 30
_ID = re.compile(r"[\w.\-]+/[\w.\-]+")


def is_hub_id(name: str) -> bool:
    """Return whether a name is spelled like a model of the hub.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("minilm"), is_hub_id("a/b/c")
    (True, False, False)
    """
    return _ID.fullmatch(name) is not None and not name.startswith(".")


def hub_folder(name: str, progress: Progress = silent) -> Path:
    """Return the folder of a model in the hub's cache; download its missing files."""
    needs("models", "huggingface_hub")
    from huggingface_hub import snapshot_download

    found, complete = _cached_snapshot(name)
    if found is not None and complete:
        return found
    try:
        with writing(name), one_at_a_time(name.replace("/", "--")), _reported():
            total = _check_model(_files(name, None))
            folder = snapshot_download(
                name,
                allow_patterns=list(WANTED),
                endpoint=os.environ.get("HF_ENDPOINT"),
                etag_timeout=PATIENCE,
                tqdm_class=_progress_bar(partial(progress, f"fetching {name}"), total),
            )
    except SourceError as error:
        if found is not None:
            return found
        raise WordswayError(
            f"{name}: {error}; or pass the path of a folder with the model"
        ) from None
    return Path(folder)


def _cached_snapshot(name: str) -> tuple[Path | None, bool]:
    """Return the cached snapshot of a model, and whether it is known to be complete.

    Another program may have stored the weights without the rest and without a listing of the
    repository.
    """
    from huggingface_hub import get_cached_repo_tree, snapshot_download
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(WANTED), local_files_only=True))
    except (OSError, ValueError):
        return None, False
    if not (folder / "config.json").is_file() or not any(folder.glob("*.safetensors")):
        return None, False
    try:
        get_cached_repo_tree(name)
    except CachedRepoTreeNotFoundError:
        return folder, False
    return folder, True


def check_no_pipeline(name: str) -> None:
    """Refuse to guess how a model pools its states where its modules.json may be missing here.

    A cache that transformers filled holds config.json and weights alone, also of models that have a
    sentence-transformers pipeline on the hub.
    """
    from huggingface_hub import try_to_load_from_cache

    known = try_to_load_from_cache(name, "modules.json")
    recorded_absent = known is not None and not isinstance(known, str)
    if recorded_absent or _cached_snapshot(name)[1]:
        return
    raise WordswayError(
        f"expected the pooling of {name}, got an incomplete cache of a hub that cannot be reached: "
        f"connect and fetch the whole model (hf download {name}), or pass the path of a folder "
        "with it; pooling is not guessed"
    )


def fetch_from_hub(
    source: HubSource, folder: Path, most_bytes: int, report: Report
) -> dict[str, str]:
    """Put the files of a catalogue's hub source into ``folder``; return SHA-256 by name.

    A file without a pinned hash is compared with the hash that the hub declares: SHA-256 of large
    files, git's blob SHA-1 of small ones.
    """
    try:
        needs("models", "huggingface_hub")
    except MissingExtraError as error:  # another source may work without it
        raise SourceError(str(error)) from None
    from huggingface_hub import hf_hub_download, try_to_load_from_cache

    kind = "dataset" if source.dataset else None
    members = [file.member for file in source.files]
    paths = {m: try_to_load_from_cache(source.repo, m, repo_type=kind) for m in members}
    if not all(isinstance(path, str) for path in paths.values()):
        with _reported():
            declared = {file.rfilename: file for file in _files(source.repo, kind)}
            if missing := [member for member in members if member not in declared]:
                raise SourceError(f"the hub's {source.repo} has no file {missing[0]}")
            total = sum(declared[member].size or 0 for member in members)
            if total > most_bytes:
                raise SourceError(
                    f"{source.repo} is refused: the hub declares {format_bytes(total)}, more than "
                    f"the {format_bytes(most_bytes)} of the catalogue"
                )
            done = 0
            for member in members:
                file = declared[member]
                paths[member] = path = hf_hub_download(
                    source.repo,
                    member,
                    repo_type=kind,
                    endpoint=os.environ.get("HF_ENDPOINT"),
                    etag_timeout=PATIENCE,
                    tqdm_class=_progress_bar(report, total, done),
                )
                _check_promise(file, Path(path))
                done += file.size or 0
    for file in source.files:
        shutil.copyfile(str(paths[file.member]), folder / file.name)
    return {file.name: sha256(folder / file.name) for file in source.files}


@contextmanager
def _reported() -> Iterator[None]:
    """Report what the hub refuses, in one line with the remedy; errors of the disk pass."""
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        yield
    except WordswayError:
        raise
    except GatedRepoError:
        raise SourceError(
            "the repository is gated: accept its terms on its page, then set HF_TOKEN or log in "
            "with `hf auth login`"
        ) from None
    except RepositoryNotFoundError:
        raise SourceError(
            "the hub has no such repository, or it is private: check the name, or set HF_TOKEN"
        ) from None
    except Exception as error:  # of the network: huggingface_hub passes its client's own errors
        if isinstance(error, OSError) and not isinstance(
            error, HfHubHTTPError | LocalEntryNotFoundError | ConnectionError | TimeoutError
        ):
            raise
        raise SourceError(
            f"the Hugging Face hub cannot be reached ({first_line(error, 160)}): "
            "connect and try again"
        ) from None


def _files(repo: str, kind: str | None) -> list[Any]:
    """Return what the hub lists of a repository: names, sizes and hashes.

    Looking up a host name may hang beyond any time-out of the connection.
    """
    from huggingface_hub import HfApi

    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    info: Any = run_with_timeout(
        PATIENCE,
        lambda: api.repo_info(repo, repo_type=kind, files_metadata=True, timeout=PATIENCE),
    )
    return list(info.siblings or ())


def _check_model(files: list[Any]) -> int:
    """Return the bytes of the files that a model needs, or refuse what cannot be used."""
    wanted = {
        file.rfilename: file.size or 0
        for file in files
        if any(fnmatch(file.rfilename, pattern) for pattern in WANTED)
    }
    total = sum(wanted.values())
    if "config.json" not in wanted or not any(name.endswith(".safetensors") for name in wanted):
        raise SourceError("it has no config.json with weights in safetensors")
    from huggingface_hub.constants import HF_HUB_CACHE

    cache = Path(HF_HUB_CACHE)
    cache.mkdir(parents=True, exist_ok=True)
    if total > min(MOST_BYTES, free := shutil.disk_usage(cache).free):
        raise SourceError(
            f"it needs {format_bytes(total)}; at most {format_bytes(MOST_BYTES)} are downloaded, "
            f"and {cache} has {format_bytes(free)} free"
        )
    return total


def _check_promise(declared: Any, path: Path) -> None:
    """Refuse a file whose hash differs from the one that the hub declares."""
    if declared.lfs is not None:
        good = sha256(path) == declared.lfs.sha256
    else:  # git's hash of a file
        good = declared.blob_id == git_blob_hash(path.read_bytes())
    if not good:
        raise SourceError(
            f"{path.name} from the hub is refused: its hash differs from the one the hub declares"
        )


def git_blob_hash(content: bytes) -> str:
    """Return git's SHA-1 of a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _progress_bar(report: Report, total: int, done: int = 0) -> type[Any]:
    """Return a tqdm class that prints nothing and reports bytes, after ``done``."""
    from tqdm import tqdm

    most = done

    class SilentBar(tqdm):  # type: ignore[misc, type-arg, unused-ignore]
        def display(self, *args: Any, **kwargs: Any) -> None:
            nonlocal most
            if self.unit == "B":
                most = max(most, min(done + int(self.n), total))
                report(most, total)

    return SilentBar
