"""Where a model's files are: by catalogue name, hub id, or a folder of yours. Weights are
safetensors; nothing is unpickled.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from wordsway import data
from wordsway.core.errors import InputError, needs
from wordsway.core.progress import Progress, silent
from wordsway.data.fetch import MANIFEST
from wordsway.data.home import sha256
from wordsway.data.hub import check_no_pipeline, hub_folder, is_hub_id
from wordsway.models import gguf
from wordsway.models.folder import SPELLING, check_config, check_folder, read_json
from wordsway.models.pipeline import (
    Pipeline,
    TextSettings,
    modules_of,
    pipeline_files,
    pipeline_in,
    settings_of,
    transformer_folder,
)
from wordsway.text.files import expanded, path_exists

#: Between a model and the name of its prompt.
PROMPT = ":prompt="
LIGHT = ("tokenizer.json", "config.json")
#: What every model needs, so that nothing is downloaded without them.
LIBRARIES = ("transformers", "tokenizers")
#: Records that wordsway writes next to a model's files and that are not part of it.
OWN_RECORDS = {MANIFEST, gguf.RECORD}


@dataclass(frozen=True)
class ModelFiles:
    """A model on this machine: its name for results, its folder, and one hash over its files.

    ``catalogued`` tells a model of the catalogue from a folder of the same name;
    ``hub_id`` is set for models of the hub outside of the catalogue; ``prompt_name`` chooses one of
    a pipeline's prompts.
    """

    name: str
    folder: Path
    digest: str
    catalogued: bool = False
    hub_id: str | None = None
    prompt_name: str | None = None

    def verified(self) -> Path:
        """The folder, every file checked; a broken one is fetched again."""
        if self.catalogued:
            data.get(self.name)
        return self.folder

    def settings(self) -> TextSettings:
        """What the model's pipeline does to a text before the model."""
        return settings_of(self.folder, self.prompt_name)

    def pipeline(self, prompt_tokens: int = 0) -> Pipeline:
        """How the model makes one vector of a text."""
        found = pipeline_in(self.folder, self.settings().dimensions, prompt_tokens)
        named = modules_of(self.folder) or pipeline_files(self.folder)
        if self.hub_id is not None and not named:
            check_no_pipeline(self.hub_id)
        return found

    def config(self) -> dict[str, Any]:
        """config.json, checked against the limits of `check_config`."""
        config = read_json(self.folder / "config.json")
        check_config(config, self.name)
        return config


def locate(model: str | Path, progress: Progress = silent) -> ModelFiles:
    """The files of a model, fetched if the catalogue lists it; of a catalogue's model only the
    small files are checked here.

    ``NAME:prompt=query`` is the model with another prompt of its pipeline than the default.
    """
    needs("models", *LIBRARIES)
    name, _, prompt_name = str(model).partition(PROMPT)
    if prompt_name:
        files = locate(name, progress)
        digest = _digest([("files", files.digest), ("prompt", prompt_name)])
        named = f"{files.name}{PROMPT}{prompt_name}"
        return ModelFiles(named, files.folder, digest, False, files.hub_id, prompt_name)
    if str(model) in data.CATALOGUE:
        return _of_catalogue(str(model), progress)
    folder = expanded(model)
    if isinstance(model, str) and not path_exists(model) and is_hub_id(model):
        return _hashed(model, hub_folder(model, progress), hub_id=model)
    if not path_exists(model) or not folder.is_dir():
        known = ", ".join(name for name, entry in data.CATALOGUE.items() if entry.kind == "model")
        raise InputError(
            f"a model ({known}), a hub id or a folder with one",
            repr(str(model)),
            _remedy(str(model)),
        )
    return _hashed(labels_of([str(model)])[str(model)], folder)


def _remedy(model: str) -> str:
    """What to pass instead of a string that is not a model's."""
    if model.startswith("python:"):
        return "pass one of these: objects of yours are not supported here"
    if ":" in model:
        return f"write python:{model} for an object of yours"
    if nearest := difflib.get_close_matches(model, data.CATALOGUE, 1):
        return f"did you mean {nearest[0]}?"
    return "see wordsway data list, or check the path; for your own code: python:module:name"


def labels_of(models: Iterable[str]) -> dict[str, str]:
    """The name of each model in results: of a folder the last part of its path, or as many parts as
    distinguish it from the others, so that no result reveals the names of a machine's folders.

    >>> labels_of(["minilm", "org/model", "/srv/a/model", "/srv/b/model"])["/srv/b/model"]
    'b/model'
    """
    parts = {
        model: (model,)
        if model in data.CATALOGUE or is_hub_id(model)
        else expanded(model).absolute().parts
        for model in models
    }
    labels: dict[str, str] = {}
    for length in range(1, 1 + max(map(len, parts.values()), default=0)):
        labels = {model: "/".join(path[-length:]) for model, path in parts.items()}
        if len(set(labels.values())) == len(labels):
            break
    return labels


def _of_catalogue(name: str, progress: Progress) -> ModelFiles:
    entry = data.entry(name)
    if entry.kind != "model":
        raise InputError("a model", f"{name}, which is a corpus", "name a model: minilm, mpnet")
    here = data.get(entry.name, only=LIGHT, progress=progress)
    if any(file.endswith(".gguf") for file in here.files):
        kind, folder = gguf.unpacked(here)
        return ModelFiles(f"{entry.name} (dequantised {kind})", folder, here.digest)
    return ModelFiles(entry.name, here.folder, here.digest, catalogued=True)


def _hashed(name: str, folder: Path, hub_id: str | None = None) -> ModelFiles:
    """A folder's files under the hash that the catalogue gives the same files by their name."""
    folder = transformer_folder(folder)
    weights = check_folder(folder)
    spelling = [
        path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in SPELLING
    ]
    hashes = {path.name: sha256(path) for path in [*weights, *spelling]}
    kept = {file: digest for file, digest in hashes.items() if file not in OWN_RECORDS}
    kept |= {file: sha256(path) for file, path in pipeline_files(folder).items()}
    digest = _dequantised(folder) or _digest(sorted(kept.items()))
    return ModelFiles(name, folder, digest, hub_id=hub_id)


def _dequantised(folder: Path) -> str | None:
    """The catalogue's hash, where the folder is the one that a quantised model was unpacked to."""
    for entry in data.CATALOGUE.values():
        here = data.present(entry.name) if entry.kind == "model" else None
        if here is not None and gguf.target(here) == folder.resolve():
            return here.digest
    return None


def _digest(hashes: Iterable[tuple[str, str]]) -> str:
    listing = "".join(f"{name} {digest}\n" for name, digest in hashes)
    return hashlib.sha256(listing.encode()).hexdigest()


class ModelName(NamedTuple):
    """A model, and the seed of its twin with random weights where that is meant.

    >>> ModelName.of("minilm"), str(ModelName.of("minilm:random=3"))
    (ModelName(model='minilm', twin=None), 'minilm:random=3')
    """

    model: str
    twin: int | None = None

    @classmethod
    def of(cls, text: str) -> ModelName:
        found = re.fullmatch(r"(.+):random(?:=(\d+))?", text)
        return cls(text) if found is None else cls(found[1], int(found[2] or 0))

    def __str__(self) -> str:
        if self.twin is None:
            return self.model
        return f"{self.model}:random" + (f"={self.twin}" if self.twin else "")


@lru_cache(maxsize=64)
def parameters_of(model: str, sha256: str) -> int:
    """Numbers in a model's weight files, by their headers; quantised: half a byte per number."""
    here = data.present(model) if model in data.CATALOGUE else None
    folder = locate(model).folder if here is None else here.folder
    total = sum(2 * path.stat().st_size for path in folder.glob("*.gguf"))
    for path in folder.glob("*.safetensors"):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(length, 2**27)))
        tensors = [about for name, about in header.items() if name != "__metadata__"]
        total += sum(math.prod(about["shape"]) for about in tensors)
    return total
