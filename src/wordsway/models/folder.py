"""Checks made before anything is opened or built: a model's folder is untrusted data.

Only regular files are read (a FIFO or a device would never end), weights are safetensors that lie
in the folder itself, and a configuration may not exceed the sizes of any real model.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wordsway.core.errors import InputError, first_line

#: Files other than the weights that can change tokens or numbers.
SPELLING = {".json", ".txt", ".model", ".jinja"}
INDEX = ".safetensors.index.json"
#: A configuration or an index of more bytes is not one.
LARGEST_JSON = 64 << 20
#: Upper limits of a configuration: each of these entries costs time or memory before a single
#: weight is read.
LIMITS = {
    "layers": (re.compile(r"(^|_)n?(layers?|blocks|depth|stages)$|^n_layer$"), 1_024),
    "experts": (re.compile(r"(^|_)experts$"), 4_096),
    "labels": (re.compile(r"^num_labels$"), 100_000),
    "positions": (re.compile(r"(^|_)positions?(_embeddings)?$"), 1 << 24),
}


def check_folder(folder: Path) -> list[Path]:
    """The weights of a model's folder, sorted by name, once all its files are fit to be opened."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(
            "a folder that can be read", f"{folder} ({error.strerror})", "check its permissions"
        ) from None
    check_files(folder)
    weights = [path for path in entries if path.suffix == ".safetensors" and path.is_file()]
    if not weights:
        raise InputError(
            "a folder with weights in safetensors",
            f"{folder} without any",
            "save the model with save_pretrained(…, safe_serialization=True); "
            "other formats can run code when they are opened",
        )
    if (folder / "adapter_config.json").is_file():
        raise InputError(
            "a whole model",
            f"{folder} with an adapter to another one",
            "merge it into its model (merge_and_unload) and save that",
        )
    for index in entries:
        if index.name.endswith(INDEX):
            _check_index(index, {path.name for path in weights})
    return weights


def check_files(folder: Path) -> list[Path]:
    """The files that change tokens or numbers, all regular; refuse pickles without safetensors."""
    entries = sorted(path for path in folder.iterdir() if not path.is_dir())
    found = [path for path in entries if path.suffix in SPELLING | {".safetensors"}]
    for path in found:
        _check_regular(path)
    pickled = [path for path in entries if path.suffix in (".bin", ".pt", ".pth")]
    if pickled and not any(path.suffix == ".safetensors" for path in found):
        raise InputError(
            "weights in safetensors",
            str(pickled[0]),
            "save the model with save_pretrained(…, safe_serialization=True); "
            "other formats can run code when they are opened",
        )
    return found


def _check_regular(path: Path) -> None:
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        raise InputError(
            "a file that can be read", f"{path} ({error.strerror})", "save the model again"
        ) from None
    if not regular:
        raise InputError(
            "regular files in a model's folder",
            f"{path}, which is a device or a pipe",
            "remove it, or save the model again",
        )


def _check_index(index: Path, weights: set[str]) -> None:
    """An index may only name safetensors files in its own folder: those that are hashed."""
    document = read_json(index)
    shards = document.get("weight_map")
    if not isinstance(shards, dict) or not isinstance(document.get("metadata"), dict):
        raise InputError(
            f"a weight_map and metadata in {index.name}", "another document", "save the model again"
        )
    for shard in shards.values():
        if shard not in weights:
            raise InputError(
                f"safetensors files beside {index.name}, and nothing else, in it",
                repr(shard)[:80],
                "save the model again; files elsewhere or of other formats are not opened",
            )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a regular file of bounded size."""
    return dict(_document(path, dict))


def read_json_list(path: Path) -> list[Any]:
    """A JSON array from a regular file of bounded size."""
    return list(_document(path, list))


def _document(path: Path, kind: type) -> Any:
    try:
        _check_regular(path)
        if path.stat().st_size > LARGEST_JSON:
            raise ValueError(f"more than {LARGEST_JSON >> 20} MB")
        document = json.loads(path.read_text("utf-8"))
        if not isinstance(document, kind):
            raise TypeError(f"a {type(document).__name__} instead of a {kind.__name__}")
        return document
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"a model's {path.name} in {path.parent}",
            first_line(error),
            "point at the folder that `save_pretrained` wrote",
        ) from None


def check_config(config: dict[str, Any], name: str) -> None:
    """Reject sizes beyond those of any model, and a configuration that names its weights."""
    if config.get("transformers_weights") is not None:
        raise InputError(
            f"{name} with its weights in model.safetensors",
            f"a config.json that names {config['transformers_weights']!r}"[:120],
            "save the model again",
        )
    for key, value in _integers(config):
        for what, (pattern, most) in LIMITS.items():
            if value > most and pattern.search(key):
                raise InputError(
                    f"at most {most:,} {what} in the config.json of {name}",
                    f"{key} = {value:,}"
                    if value < 10**15
                    else f"{key} of {len(str(value))} digits",
                    "check that the file is the model's own",
                )


def _integers(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Every whole number of a configuration, those of its parts included, with its key."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _integers(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            yield str(key), value
