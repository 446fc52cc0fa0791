"""A model from its files: encoder, causal or classifier, through transformers' Auto classes; or its
twin with random weights.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from wordsway.errors import InputError, WordswayError
from wordsway.models.files import ModelFiles

#: "base": hidden states only; "causal": with a head that predicts the next token; "classifier":
#: with the head it was saved with.
Kind = Literal["base", "causal", "classifier"]
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}


@dataclass(frozen=True)
class Loading:
    """How to load a model.

    ``eager`` computes attention step by step, so that it can be read (other implementations return
    none); ``twin`` is a seed: the same architecture with random weights. ``remote_code`` runs
    Python that comes with the model: only ever what the user asks for.
    """

    kind: Kind = "base"
    device: str = "cpu"
    dtype: str = "float32"
    eager: bool = False
    remote_code: bool = False
    twin: int | None = None

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise InputError(
                f"a dtype among {', '.join(DTYPES)}", repr(self.dtype), "float32 is the default"
            )
        try:
            wanted = torch.device(self.device)
            torch.empty(0, device=wanted)
        except (RuntimeError, AssertionError, ValueError) as error:
            raise InputError(
                "a device of this machine",
                f"{self.device} ({str(error).splitlines()[0][:80]})",
                "use cpu",
            ) from None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No bars and no chatter of transformers on standard error."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def load(files: ModelFiles, options: Loading | None = None) -> Any:
    """The model, in evaluation mode, without gradients of its weights."""
    options = options or Loading()
    folder = files.verified()
    try:
        with quiet():
            auto = _auto(options.kind)
            attention = {"attn_implementation": "eager"} if options.eager else {}
            if options.twin is None:
                model = auto.from_pretrained(
                    folder,
                    local_files_only=True,
                    trust_remote_code=options.remote_code,
                    use_safetensors=True,
                    dtype=DTYPES[options.dtype],
                    **attention,
                )
            else:
                model = _twin(auto, folder, options, attention)
    except Exception as error:  # transformers and safetensors raise whatever they come across
        raise WordswayError(
            f"{files.name} could not be loaded ({(str(error).strip() or type(error).__name__).splitlines()[0][:200]}): "
            "it has to be a transformers model with config.json and safetensors weights"
        ) from None
    model = model.eval().to(options.device).requires_grad_(False)
    return (
        model.get_encoder() if model.config.is_encoder_decoder and options.kind == "base" else model
    )


def _auto(kind: Kind) -> Any:
    import transformers

    return {
        "base": transformers.AutoModel,
        "causal": transformers.AutoModelForCausalLM,
        "classifier": transformers.AutoModelForSequenceClassification,
    }[kind]


def _twin(auto: Any, folder: Any, options: Loading, attention: dict[str, str]) -> Any:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=options.remote_code
    )
    before = torch.get_rng_state()
    try:
        torch.manual_seed(options.twin or 0)  # initialisation knows no other source of randomness
        return auto.from_config(
            config, trust_remote_code=options.remote_code, dtype=DTYPES[options.dtype], **attention
        )
    finally:
        torch.set_rng_state(before)
