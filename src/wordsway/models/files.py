"""Where a model's files are: by catalogue name, hub id, or a folder of yours. Weights are
safetensors; nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordsway import data
from wordsway.data.clients import Progress
from wordsway.data.home import sha256
from wordsway.data.hub import hub_folder, is_hub_id
from wordsway.errors import InputError
from wordsway.text.readers import expanded, there

LIGHT = ("tokenizer.json", "config.json")
#: Files beside the weights that can change tokens or numbers.
SPELLING = {".json", ".txt", ".model", ".jinja"}


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine: its name for results, its folder, and one hash over its files."""

    name: str
    folder: Path
    digest: str

    def verified(self) -> Path:
        """The folder, every file checked; a broken one is fetched again."""
        if self.name in data.CATALOGUE:
            data.get(self.name)
        return self.folder

    def config(self) -> dict[str, Any]:
        try:
            return dict(json.loads((self.folder / "config.json").read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise InputError(
                f"a model's config.json in {self.folder}",
                error,
                "point at the folder that `save_pretrained` wrote",
            ) from None


def locate(model: str | Path, progress: Progress | None = None) -> ModelFiles:
    """The files of a model, fetched where the catalogue knows how; only the small ones are checked
    here.
    """
    if str(model) in data.CATALOGUE:
        entry = data.entry(str(model))
        if entry.kind != "model":
            raise InputError(
                "a model", f"{model}, which is a {entry.kind}", "name a model: minilm, mpnet"
            )
        here = data.get(entry.name, only=LIGHT, progress=progress)
        if any(name.endswith(".gguf") for name in here.files):
            from wordsway.models.gguf import unpacked

            return unpacked(here)
        return ModelFiles(entry.name, here.folder, here.digest)
    folder = expanded(model)
    if isinstance(model, str) and not there(model) and is_hub_id(model):
        folder = hub_folder(model)
        return _hashed(model, folder)
    if not there(model) or not folder.is_dir():
        known = ", ".join(name for name, entry in data.CATALOGUE.items() if entry.kind == "model")
        raise InputError(
            f"a model ({known}), a hub id or a folder with one",
            repr(str(model)),
            "see wordsway data list, or check the path",
        )
    return _hashed(str(model), folder)


def _hashed(name: str, folder: Path) -> ModelFiles:
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise InputError(
            "a folder with weights in safetensors",
            f"{folder} without any",
            "save the model with save_pretrained(…, safe_serialization=True); other formats can run code when they are opened",
        )
    spelling = sorted(
        path for path in folder.iterdir() if path.is_file() and path.suffix in SPELLING
    )
    kept = [*weights, *spelling]
    listing = "".join(f"{path.name} {sha256(path)}\n" for path in kept)
    return ModelFiles(name, folder, hashlib.sha256(listing.encode()).hexdigest())
