"""Where fetched data and embeddings are kept: the user's cache directory, or WORDSWAY_HOME."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import platformdirs

from wordsway.atomic import atomic


def home() -> Path:
    """The cache directory: ``$WORDSWAY_HOME`` where set, else the platform's own."""
    chosen = os.environ.get("WORDSWAY_HOME")
    if chosen and not chosen.startswith("~"):
        return Path(chosen)
    return (
        Path(os.path.expanduser(chosen))
        if chosen
        else Path(platformdirs.user_cache_dir("wordsway", appauthor=False))
    )


#: Bytes that are hashed at a time: few pieces, since a thread that hashes beside others waits for
#: its turn after each.
PIECE = 2**24


def sha256(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    found = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        piece = memoryview(bytearray(min(PIECE, os.fstat(file.fileno()).st_size + 1)))
        while count := file.readinto(piece):
            found.update(piece[:count])
    return found.hexdigest()


def write_json(path: Path, document: Any) -> None:
    """Write a document: it is there whole, or not at all."""
    with atomic(path) as partial:
        partial.write_text(json.dumps(document, indent=1, ensure_ascii=False), "utf-8")
