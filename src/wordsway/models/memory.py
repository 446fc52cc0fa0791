"""Models that the user holds in memory: (model, tokenizer) of transformers, PEFT included, and
objects of sentence-transformers.

Nothing is copied or saved. The model is put into evaluation mode, as sentence-transformers' own
``encode`` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.data import CATALOGUE
from wordsway.models.files import labels_of
from wordsway.models.pipeline import KNOWN, NO_LIMIT, Pipeline, TextSettings, of_modules


@dataclass(frozen=True, eq=False)
class ModelInMemory:
    """A model with the interface of `wordsway.models.files.ModelFiles`.

    ``whole`` is the transformers model with its head, if it has one; ``modules`` are those of
    sentence-transformers behind it (None: the mean of the rows).
    """

    name: str
    whole: Any
    tokenizer: Any
    text_settings: TextSettings
    modules: tuple[Any, ...] | None = None

    @cached_property
    def digest(self) -> str:
        """One hash over weights, tokenizer and settings."""
        total = hashlib.sha256(repr((self.text_settings, self.config())).encode())
        total.update(self.tokenizer.backend_tokenizer.to_str().encode())
        for name, weight in self._weights():
            total.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
            total.update(
                weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data
            )
        return total.hexdigest()

    def _weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        for part in (self.whole, *(self.modules or ())):
            yield from sorted(part.state_dict().items())

    def config(self) -> dict[str, Any]:
        """The configuration, with the class of the model in memory as its architecture."""
        return self.whole.config.to_dict() | {"architectures": [type(self.whole).__name__]}

    def settings(self) -> TextSettings:
        return self.text_settings

    def pipeline(self, prompt_tokens: int = 0) -> Pipeline:
        if self.modules is None:
            return Pipeline()
        return of_modules(self.modules, self.text_settings.dimensions, prompt_tokens)


def is_model_with_tokenizer(given: object) -> bool:
    """Whether it is (model, tokenizer) of transformers.

    >>> is_model_with_tokenizer(("minilm", "mpnet"))
    False
    """
    return (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], torch.nn.Module)
        and hasattr(given[1], "convert_ids_to_tokens")
    )


def is_sentence_transformer(given: object) -> bool:
    """Whether it is a `SentenceTransformer` whose layers can be measured."""
    if not is_class_of_sentence_transformers(given, "SentenceTransformer"):
        return False
    modules = [type(module).__name__ for module in given]  # type: ignore[attr-defined]
    tokenizer = getattr(given, "tokenizer", None)
    return (
        modules[0] == "Transformer"
        and "Pooling" in modules
        and {*modules[1:]} <= {*KNOWN}
        and isinstance(given.transformers_model, torch.nn.Module)  # type: ignore[attr-defined]
        and hasattr(tokenizer, "backend_tokenizer")
    )


def is_class_of_sentence_transformers(given: object, name: str) -> bool:
    """Whether an object is of a class of sentence-transformers, which is not imported for it."""
    return any(
        kind.__name__ == name and kind.__module__.startswith("sentence_transformers")
        for kind in type(given).__mro__
    )


def in_memory(given: Any) -> ModelInMemory:
    """The model of (model, tokenizer) or of a `SentenceTransformer`."""
    if is_model_with_tokenizer(given):
        model, tokenizer = given
        whole = _without_adapter(model)
        limit = getattr(tokenizer, "model_max_length", NO_LIMIT)
        settings = TextSettings(limit=int(limit) if 0 < limit < NO_LIMIT else None)
        name = _name(whole, type(model).__name__)
        return ModelInMemory(name, whole, _checked(tokenizer), settings)
    if not is_sentence_transformer(given):
        raise InputError(
            "a model with layers: a name, a folder, a SentenceTransformer or (model, tokenizer)",
            getattr(given, "__name__", type(given).__name__),
            "pairs, audit, swap and words take encoders without layers as they are",
        )
    whole = _without_adapter(given.transformers_model)
    limit = given.max_seq_length
    settings = TextSettings(
        prompt=given.prompts.get(given.default_prompt_name) or "",
        limit=int(limit) if limit is not None and 0 < limit < NO_LIMIT else None,
        dimensions=given.truncate_dim,
    )
    name = _name(whole, type(given).__name__)
    return ModelInMemory(name, whole, given.tokenizer, settings, tuple(given)[1:])


def _checked(tokenizer: Any) -> Any:
    if not hasattr(tokenizer, "backend_tokenizer"):
        raise InputError(
            "a fast tokenizer, which gives the places of its tokens",
            type(tokenizer).__name__,
            "load it with AutoTokenizer.from_pretrained(…, use_fast=True)",
        )
    return tokenizer


def _without_adapter(model: Any) -> Any:
    """The transformers model in which PEFT's adapter is active."""
    configurations = getattr(model, "peft_config", None) or {}
    if not hasattr(model, "get_base_model"):
        return model
    if any(getattr(one, "is_prompt_learning", False) for one in configurations.values()):
        raise InputError(
            "an adapter inside the layers, such as LoRA",
            f"{type(model).__name__} with prompt learning, whose virtual tokens are no words",
            "pass a function that encodes texts",
        )
    return model.get_base_model()


def _name(model: Any, kind: str) -> str:
    """The name under which the model was loaded, next to its class if the name is the catalogue's,
    whose model it may no longer be; without a name its class.
    """
    path = str(getattr(model, "name_or_path", "") or "")
    name = labels_of([path])[path] if path else kind
    return f"{kind} ({name})" if name in CATALOGUE else name
