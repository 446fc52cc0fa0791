"""Any model of the hub by its id, "organisation/name": from the hub's own cache on this machine, or
downloaded into it.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from wordsway.data.clients import PATIENCE, Unreachable, _open, _within
from wordsway.errors import WordswayError, first_line, needs

#: What a model needs: weights that run nothing when they are opened, and small files beside them.
WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_ID = re.compile(r"[\w.\-]+/[\w.\-]+")


def is_hub_id(name: str) -> bool:
    """Whether a name is spelled like a model of the hub.

    >>> is_hub_id("google-bert/bert-base-uncased"), is_hub_id("minilm"), is_hub_id("a/b/c")
    (True, False, False)
    """
    return _ID.fullmatch(name) is not None and not name.startswith(".")


def hub_folder(name: str) -> Path:
    """The folder of a hub model; out of reach, it says so within seconds."""
    needs("models", "huggingface_hub")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, allow_patterns=list(WANTED), local_files_only=True))
        if (folder / "config.json").is_file() and any(folder.glob("*.safetensors")):
            return folder
    except (LocalEntryNotFoundError, OSError, ValueError):
        pass
    try:
        answer, _ = _within(
            PATIENCE, partial(_open, name, "config.json", None)
        )  # so that no client retries for minutes
        answer.close()
        return Path(snapshot_download(name, allow_patterns=list(WANTED), etag_timeout=PATIENCE))
    except Unreachable as error:
        raise WordswayError(
            f"{name}: {error}; connect and try again, or pass the path of a folder with the model"
        ) from None
    except Exception as error:  # whatever the hub's client raises
        raise WordswayError(
            f"{name} could not be fetched from the Hugging Face hub ({first_line(error, 160)}); "
            "or pass a local folder"
        ) from None
