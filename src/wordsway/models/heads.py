"""The heads that a model was saved with: a classifier's logits, a language model's next token."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.models.files import ModelFiles
from wordsway.models.load import Kind, Loading, import_transformers, load, quiet
from wordsway.models.memory import ModelInMemory
from wordsway.models.probe import Probe


def is_classifier(probe: Probe) -> bool:
    return saved_with(probe, "SequenceClassification")


def classifier_of(probe: Probe) -> Any:
    if not is_classifier(probe):
        raise InputError(
            "a model saved with a classifier",
            probe.files.name,
            "use another target: a layer, or pooled",
        )
    model = _loaded(probe, "classifier")
    if model.config.pad_token_id is None:  # texts of a batch have one length: nothing is padded
        model.config.pad_token_id = -1
    return model


def next_token_model(probe: Probe) -> Any:
    if not predicts_next(probe.files, probe.options):
        raise InputError(
            "a causal language model saved with its head",
            probe.files.name,
            "take smollm2, or another target: a layer, or pooled",
        )
    if not probe.is_causal:
        raise InputError(
            "a model whose tokens do not attend to later ones",
            f"{probe.files.name}, an encoder with a language head",
            "take smollm2, or another target: a layer, or pooled",
        )
    return _loaded(probe, "causal")


def masked_model(probe: Probe) -> Any:
    return _loaded(probe, "masked")


def logits_of(model: Any, **inputs: torch.Tensor) -> torch.Tensor:
    """Logits of texts given as ``input_ids`` (B, n) or ``inputs_embeds`` (B, n, d)."""
    inputs = {name: value.clone() for name, value in inputs.items()}  # CTRL changes them in place
    (given,) = inputs.values()
    mask = torch.ones(given.shape[:2], dtype=torch.long, device=given.device)
    try:
        with quiet():
            logits: torch.Tensor = model(
                **inputs, attention_mask=mask, **_without_cache(model)
            ).logits
    except (NotImplementedError, ValueError, TypeError) as error:
        raise WordswayError(
            f"this model's head does not accept this input ({first_line(error, 120)}): "
            "use another target: a layer, or pooled"
        ) from None
    return logits


def labels_of(model: Any) -> list[str]:
    names = getattr(model.config, "id2label", None) or {}
    count = int(model.config.num_labels)
    return [str(names.get(number, f"LABEL_{number}")) for number in range(count)]


def _without_cache(model: Any) -> dict[str, bool]:
    return {"use_cache": False} if getattr(model.config, "use_cache", None) is not None else {}


def saved_with(probe: Probe, head: str) -> bool:
    return any(head in str(name) for name in probe.files.config().get("architectures") or ())


def predicts_next(files: ModelFiles | ModelInMemory, options: Loading) -> bool:
    """Whether a model was saved with a head for the next token; others would get a random one."""
    import_transformers()
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as HEADS

    config = files.config()
    own = options.remote_code and "AutoModelForCausalLM" in (config.get("auto_map") or {})
    saved = HEADS.get(str(config.get("model_type"))) in (config.get("architectures") or ())
    return not config.get("is_encoder_decoder") and bool(own or saved)


def _loaded(probe: Probe, kind: Kind) -> Any:
    return _load_once(probe.files, replace(probe.options, kind=kind))


@lru_cache(maxsize=2)
def _load_once(files: ModelFiles | ModelInMemory, options: Loading) -> Any:
    return load(files, options)
