"""Checks made before anything is opened or built: a model's folder is untrusted data.

Only regular files are read (a FIFO or a device would never end), weights are safetensors that lie
in the folder itself, and a configuration may not exceed the sizes of any real model.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

import torch

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
    for path in entries:
        if path.suffix in SPELLING | {".safetensors"} and not path.is_dir():
            _check_regular(path)
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
    """Reject a configuration with more layers, experts, labels or positions than any model has, or
    one that names its own weights.
    """
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


#: "mean" over all rows, special tokens included; the first row ("cls"); the last one ("last").
Pooling = Literal["mean", "cls", "last", "max"]
#: What sentence-transformers calls its files.
MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"
TRANSFORMER_SETTINGS = "sentence_bert_config.json"
#: Where it stores the pooling unless its modules name another place.
CONFIGURATION = Path("1_Pooling") / "config.json"
#: Lengths from this one on mean "no limit" in a tokenizer's configuration.
NO_LIMIT = 1 << 24
_SWITCHES: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
}
_SPELLINGS: dict[str, Pooling] = {"lasttoken": "last", "mean_tokens": "mean", "cls_token": "cls"}


class Module(NamedTuple):
    """One step of a pipeline: its class without the package, and its folder."""

    kind: str
    folder: Path


def pipeline_of(folder: Path) -> Path | None:
    """The folder of the pipeline that a folder is: its own, or the one whose Transformer it is."""
    if (folder / MODULES).is_file():
        return folder
    above = folder.parent
    if (above / MODULES).is_file() and folder in [module.folder for module in _modules(above)]:
        return above
    return None


def modules_of(folder: Path) -> list[Module]:
    """The modules of a sentence-transformers pipeline in their order; none in other folders."""
    root = pipeline_of(folder)
    return [] if root is None else _modules(root)


def _modules(root: Path) -> list[Module]:
    try:
        found = [
            (str(one["type"]).rpartition(".")[2], PurePosixPath(one["path"]))
            for one in read_json_list(root / MODULES)
        ]
    except (TypeError, KeyError) as error:
        raise InputError(
            f"modules with type and path in {root / MODULES}",
            first_line(error),
            "save the model again",
        ) from None
    for _, inside in found:
        if inside.is_absolute() or ".." in inside.parts:
            raise InputError(
                f"modules inside {root} in its {MODULES}", str(inside)[:80], "save the model again"
            )
    return [Module(kind, root / inside) for kind, inside in found]


def transformer_folder(folder: Path) -> Path:
    """The folder with config.json and weights: that of the Transformer where modules name one."""
    for module in modules_of(folder):
        if module.kind == "Transformer" and module.folder.is_dir():
            return module.folder
    return folder


def pooling_file(folder: Path) -> Path:
    """The file with a folder's pooling, whether or not it exists."""
    for module in modules_of(folder):
        if module.kind == "Pooling":
            return module.folder / CONFIGURATION.name
    return folder / CONFIGURATION


def pooling_of(folder: Path) -> Pooling:
    """The pooling of a model's folder; "mean" where it has no pipeline and names none.

    Refuses pipelines of which a part would be left out.
    """
    modules = modules_of(folder)
    kinds = [module.kind for module in modules]
    others = [kind for kind in kinds[2:] if kind != "Normalize"]
    if modules and (kinds[:2] != ["Transformer", "Pooling"] or others):
        raise InputError(
            "a pipeline of Transformer, Pooling and Normalize, whose embedding is computed here",
            f"{', '.join(kinds)} in {folder / MODULES}",
            "the embedding of these modules cannot be measured; judge by a layer (--layer last)",
        )
    path = pooling_file(folder)
    if not path.is_file():
        if modules:
            raise InputError(
                f"the pooling that {MODULES} names",
                f"no {path}",
                "fetch or save the whole model; its pooling is not guessed",
            )
        return "mean"
    chosen = _chosen(read_json(path))
    if len(chosen) != 1 or chosen[0] not in get_args(Pooling):
        raise InputError(
            f"one way of pooling among {', '.join(get_args(Pooling))} in {path}",
            ", ".join(chosen) or "none",
            "choose one in that file, or remove it (the mean is then taken)",
        )
    return chosen[0]  # type: ignore[return-value]


def check_prompt(folder: Path) -> None:
    """Refuse a pipeline that puts a prompt before every text: it would be left out."""
    path = (pipeline_of(folder) or folder) / SETTINGS
    settings = read_json(path) if path.is_file() else {}
    name, prompts = settings.get("default_prompt_name"), settings.get("prompts")
    prompt = prompts.get(name) if isinstance(prompts, dict) and isinstance(name, str) else None
    if prompt:
        raise InputError(
            "a model without a default prompt",
            f"{str(prompt)[:60]!r} (default_prompt_name {name!r}) in {path}",
            "prompts are not applied: set default_prompt_name to null in a copy of the folder, and "
            "put the prompt before your texts",
        )


def longest_text(folder: Path) -> int | None:
    """The tokens to which sentence-transformers cuts a text; None for other folders."""
    if pipeline_of(folder) is None:
        return None
    for file, key in (
        (TRANSFORMER_SETTINGS, "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = folder / file
        limit = read_json(path).get(key) if path.is_file() else None
        if isinstance(limit, int | float) and 0 < limit < NO_LIMIT:
            return int(limit)
    return None


def lower_cases(folder: Path) -> bool:
    """Whether sentence-transformers lower-cases a text before the tokenizer."""
    path = folder / TRANSFORMER_SETTINGS
    found = pipeline_of(folder) is not None and path.is_file()
    return found and read_json(path).get("do_lower_case") is True


def pool(states: torch.Tensor, pooling: Pooling) -> torch.Tensor:
    """One vector (…, d) per text from its rows (…, n, d), none of them padding.

    >>> pool(torch.tensor([[1.0, 2.0], [3.0, 6.0]]), "mean").tolist()
    [2.0, 4.0]
    """
    if pooling == "mean":
        return states.mean(dim=-2)
    if pooling == "max":
        return states.amax(dim=-2)
    return states[..., 0 if pooling == "cls" else -1, :]


def _chosen(settings: dict[str, Any]) -> list[str]:
    named = settings.get("pooling_mode")
    if isinstance(named, str):
        return [_SPELLINGS.get(named, named)]
    switched = [name for name, value in settings.items() if value is True]
    return [_SWITCHES.get(name, name) for name in switched if name.startswith("pooling_mode_")]
