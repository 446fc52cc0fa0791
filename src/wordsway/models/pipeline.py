"""From a text to its embedding as the model's own configuration computes it.

    text → prompt + text → tokens → hidden states → Pooling → Dense, Normalize, … → first k numbers

A folder with modules.json is a pipeline of sentence-transformers. Its Transformer is a model like
any other; a pooling and a normalisation are computed here, and all other modules by
sentence-transformers itself. They are torch modules, so gradients pass through them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch.nn.functional import normalize

from wordsway.core.errors import InputError, first_line, needs
from wordsway.models.folder import check_files, read_json, read_json_list

#: "mean" over all rows, special tokens included; the first row ("cls"); the last one ("last").
Pooling = Literal["mean", "cls", "last", "max"]
#: What sentence-transformers calls its files.
MODULES, SETTINGS = "modules.json", "config_sentence_transformers.json"
TRANSFORMER_SETTINGS = "sentence_bert_config.json"
#: Where it stores the pooling unless its modules name another place.
CONFIGURATION = Path("1_Pooling") / "config.json"
#: Modules whose output depends on the hidden states of the last layer alone.
KNOWN = ("Pooling", "Dense", "Normalize", "LayerNorm", "Dropout", "CNN", "LSTM")
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
    """One step of a pipeline: the dotted name of its class, and its folder."""

    type: str
    folder: Path

    @property
    def kind(self) -> str:
        """The class without its package."""
        return self.type.rpartition(".")[2]


@dataclass(frozen=True)
class TextSettings:
    """What a pipeline does to a text before the model, and how it shortens the embedding.

    ``prompt`` is put before every text, ``lower`` lower-cases it, ``limit`` is the number of tokens
    to which sentence-transformers would cut it; of the embedding the first ``dimensions`` are kept.
    """

    prompt: str = ""
    lower: bool = False
    limit: int | None = None
    dimensions: int | None = None


@dataclass(frozen=True)
class Pipeline:
    """How hidden states of the last layer become one vector per text.

    Either a ``pooling``, followed by division by the norm if ``normalised``; or ``modules`` of
    sentence-transformers, in float64. ``prompt_tokens`` at the beginning belong to the prompt.
    """

    pooling: Pooling | None = "mean"
    normalised: bool = False
    modules: tuple[Any, ...] = ()
    dimensions: int | None = None
    prompt_tokens: int = 0

    def __str__(self) -> str:
        """How results name it.

        >>> str(Pipeline("cls")), str(Pipeline("mean", normalised=True, dimensions=64))
        ('cls', 'mean, Normalize, 64 dimensions')
        """
        kinds = [self.pooling, "Normalize" if self.normalised else None]
        kinds += [type(module).__name__ for module in self.modules]
        kinds += [f"{self.dimensions} dimensions" if self.dimensions else None]
        return ", ".join(kind for kind in kinds if kind)

    @property
    def plain(self) -> bool:
        """Whether the embedding is a pooling of the states and nothing else."""
        return self.pooling is not None and not self.normalised and self.dimensions is None

    def embedding(self, states: torch.Tensor) -> torch.Tensor:
        """The text's embedding (…, k) from hidden states (…, n, d) of its n tokens."""
        if self.pooling is None:
            found = self._run(states, self.modules)
        else:
            found = pool(states, self.pooling)
            found = normalize(found, dim=-1) if self.normalised else found
        return found[..., : self.dimensions]

    def pooled(self, states: torch.Tensor) -> torch.Tensor:
        """An inner layer's states (…, n, d) pooled as the last layer's, without later modules."""
        return self._run(states, ()) if self.pooling is None else pool(states, self.pooling)

    def _run(self, states: torch.Tensor, modules: Sequence[Any]) -> torch.Tensor:
        """The output of the modules up to the pooling, and of all ``modules`` behind it."""
        rows = states.flatten(0, -3) if states.ndim > 2 else states[None]
        mask = torch.ones(rows.shape[:2], dtype=torch.long, device=rows.device)
        features = {"token_embeddings": rows.double(), "attention_mask": mask}
        if self.prompt_tokens:
            features["prompt_length"] = torch.full((len(rows),), self.prompt_tokens)
        for module in self.modules:
            if modules or "sentence_embedding" not in features:
                features = module(features)
        found: torch.Tensor = features["sentence_embedding"]
        return found.to(states.dtype).reshape(*states.shape[:-2], found.shape[-1])


def of_modules(modules: Sequence[Any], dimensions: int | None, prompt_tokens: int) -> Pipeline:
    """The pipeline of sentence-transformers' modules behind the Transformer: a float64 copy."""
    own = copy.deepcopy(torch.nn.Sequential(*modules)).double().eval().requires_grad_(False)
    return Pipeline(None, False, tuple(own), dimensions, prompt_tokens)


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


# ------------------------------------------------------------------------------------------ folders


def root_of(folder: Path) -> Path | None:
    """The folder of the pipeline that a folder is: its own, or the one whose Transformer it is."""
    if (folder / MODULES).is_file():
        return folder
    above = folder.parent
    if (above / MODULES).is_file() and folder in [module.folder for module in _modules(above)]:
        return above
    return None


def modules_of(folder: Path) -> list[Module]:
    """The modules of a sentence-transformers pipeline in their order; none in other folders."""
    root = root_of(folder)
    return [] if root is None else _modules(root)


def _modules(root: Path) -> list[Module]:
    try:
        found = [
            (str(one["type"]), PurePosixPath(one["path"])) for one in read_json_list(root / MODULES)
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


def pipeline_files(folder: Path) -> dict[str, Path]:
    """Files outside the Transformer's folder that change the embedding, by name."""
    modules = modules_of(folder)
    others = [module.folder for module in modules if module.folder != folder]
    pooling = folder / CONFIGURATION
    if not modules and pooling.is_file():
        others = [pooling.parent]
    found = {
        f"{place.name}/{path.name}": path
        for place in others
        if place.is_dir()
        for path in check_files(place)
    }
    root = root_of(folder)
    if root is not None and root != folder:
        found |= {path.name: path for path in (root / MODULES, root / SETTINGS) if path.is_file()}
    return found


def settings_of(folder: Path, prompt_name: str | None = None) -> TextSettings:
    """What a folder's pipeline does to a text; ``prompt_name`` chooses another than its default."""
    root = root_of(folder)
    settings = _json(folder if root is None else root, SETTINGS)
    prompts = settings.get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    name = settings.get("default_prompt_name") if prompt_name is None else prompt_name
    if prompt_name is not None and not isinstance(prompts.get(prompt_name), str):
        raise InputError(
            f"a prompt of {folder.name}: {', '.join(map(str, prompts)) or 'it has none'}",
            repr(prompt_name),
            "choose one of them, or put the prompt before your texts",
        )
    dimensions = settings.get("truncate_dim")
    own = {} if root is None else _json(folder, TRANSFORMER_SETTINGS)
    return TextSettings(
        str(prompts.get(name) or ""),
        own.get("do_lower_case") is True,
        None if root is None else _longest(folder, own),
        dimensions if isinstance(dimensions, int) and dimensions > 0 else None,
    )


def _longest(folder: Path, own: dict[str, Any]) -> int | None:
    """The tokens to which sentence-transformers cuts a text."""
    named = (
        own.get("max_seq_length"),
        _json(folder, "tokenizer_config.json").get("model_max_length"),
    )
    limits = [one for one in named if isinstance(one, int | float) and 0 < one < NO_LIMIT]
    return int(limits[0]) if limits else None


def _json(folder: Path, name: str) -> dict[str, Any]:
    return read_json(folder / name) if (folder / name).is_file() else {}


def pipeline_in(folder: Path, dimensions: int | None = None, prompt_tokens: int = 0) -> Pipeline:
    """The pipeline of a model's folder; the mean of its rows where it names none.

    Modules that need more than the last layer's states are refused.
    """
    modules = modules_of(folder)
    kinds = [module.kind for module in modules]
    if modules:
        _check_kinds(kinds, folder)
    path = next((one.folder for one in modules if one.kind == "Pooling"), folder / "1_Pooling")
    path /= CONFIGURATION.name
    if not path.is_file():
        if modules:
            raise InputError(
                f"the pooling that {MODULES} names",
                f"no {path}",
                "fetch or save the whole model; its pooling is not guessed",
            )
        return Pipeline(dimensions=dimensions)
    settings = read_json(path)
    chosen = _chosen(settings)
    simple = len(chosen) == 1 and chosen[0] in get_args(Pooling)
    apart = prompt_tokens and settings.get("include_prompt") is False
    if simple and not apart and kinds[2:] in ([], ["Normalize"]):
        return Pipeline(chosen[0], bool(kinds[2:]), dimensions=dimensions)  # type: ignore[arg-type]
    if not modules:
        raise InputError(
            f"one way of pooling among {', '.join(get_args(Pooling))} in {path}",
            ", ".join(chosen) or "none",
            "choose one in that file, or remove it (the mean is then taken)",
        )
    return of_modules(_loaded(modules[1:]), dimensions, prompt_tokens)


def _check_kinds(kinds: list[str], folder: Path) -> None:
    if kinds[0] == "Transformer" and "Pooling" in kinds and {*kinds[1:]} <= {*KNOWN}:
        task = _json(folder, TRANSFORMER_SETTINGS).get("transformer_task", "feature-extraction")
        if task == "feature-extraction":
            return
        kinds = [f"Transformer ({task})", *kinds[1:]]
    reason = "" if "Pooling" in kinds else " (no Pooling: one vector per token, not one per text)"
    raise InputError(
        f"a pipeline of Transformer, Pooling and {', '.join(KNOWN[1:])}",
        f"{', '.join(kinds)} in {folder / MODULES}{reason}",
        "the embedding of these modules cannot be measured; use a layer (--layer last)",
    )


def _loaded(modules: Sequence[Module]) -> list[Any]:
    """The modules, read by sentence-transformers from folders without pickles."""
    needs("models", "sentence_transformers")
    from sentence_transformers.util import import_from_string

    found = []
    for module in modules:
        if not module.type.startswith("sentence_transformers."):
            raise InputError(
                "modules of sentence-transformers", module.type[:80], "other code is not run"
            )
        try:
            kind: Any = import_from_string(module.type)
            found.append(kind.load(str(module.folder), local_files_only=True))
        except Exception as error:  # as many kinds as modules
            raise InputError(
                f"a {module.kind} in {module.folder}", first_line(error, 120), "save it again"
            ) from None
    return found


def _chosen(settings: dict[str, Any]) -> list[str]:
    named = settings.get("pooling_mode")
    if isinstance(named, str):
        return [_SPELLINGS.get(named, named)]
    switched = [name for name, value in settings.items() if value is True]
    return [_SWITCHES.get(name, name) for name in switched if name.startswith("pooling_mode_")]
