"""A model from its files: encoder, causal or classifier, through transformers' Auto classes; or its
twin with random weights.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch

from wordsway.core.errors import InputError, WordswayError, first_line, needs
from wordsway.core.format import format_bytes
from wordsway.core.runtime import available_memory, checked_device, survives_products
from wordsway.models.files import ModelFiles
from wordsway.models.memory import ModelInMemory

#: "base": hidden states only; "causal": with a head that predicts the next token; "masked": a
#: hidden one; "classifier": with the head it was saved with.
Kind = Literal["base", "causal", "classifier", "masked"]
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
    Python that comes with the model: only at the user's explicit request.
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
        device = checked_device(self.device)
        if device == "cpu" and not survives_products(DTYPES[self.dtype]):
            raise InputError(
                "a dtype that this processor multiplies",
                f"{self.dtype}, whose products end the process (an illegal instruction)",
                "use float32, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE before starting",
            )


def load(files: ModelFiles | ModelInMemory, options: Loading | None = None) -> Any:
    """The model, in evaluation mode, without gradients of its weights.

    Every weight that the hidden states (or the head's output) depend on comes from the files; one
    that is missing there is named and refused, since transformers would fill it in at random.
    """
    options = options or Loading()
    if isinstance(files, ModelInMemory):
        return _from_memory(files, options)
    files.config()
    folder = files.verified()
    missing: set[str] = set()
    try:
        with quiet():
            config = import_transformers().AutoConfig.from_pretrained(
                folder, local_files_only=True, trust_remote_code=options.remote_code
            )
            settings = {
                "trust_remote_code": options.remote_code,
                "dtype": DTYPES[options.dtype],
                "attn_implementation": _attention(files, options),
                "experts_implementation": None,
            }
            if options.twin is not None:
                model = _twin(config, settings, options)
            else:
                model, report = _auto(options.kind).from_pretrained(
                    folder,
                    config=config,
                    local_files_only=True,
                    use_safetensors=True,
                    output_loading_info=True,
                    **settings,
                )
                missing = set(report["missing_keys"])
    except WordswayError:
        raise
    except Exception as error:  # transformers and safetensors raise whatever they come across
        raise WordswayError(
            f"{files.name} could not be loaded ({first_line(error)}): "
            "it has to be a transformers model with config.json and safetensors weights"
        ) from None
    model = model.eval().to(options.device).requires_grad_(False)
    base = options.kind == "base"
    measured = model.get_encoder() if base and model.config.is_encoder_decoder else model
    if missing:
        refuse_missing(model, measured, missing, files.name, head=not base)
    return measured


def _from_memory(files: ModelInMemory, options: Loading) -> Any:
    """The user's own model; a copy of it where attention is to be read, or its twin."""
    model = files.whole
    if options.twin is not None:
        with quiet():
            settings = {"dtype": DTYPES[options.dtype], "attn_implementation": None}
            model = _twin(model.config, settings, options).to(options.device)
    if options.eager:
        model = copy.deepcopy(model)
        model.set_attn_implementation("eager")
    model.eval()
    if options.kind != "base":
        return model
    base = model.base_model
    return base.get_encoder() if base.config.is_encoder_decoder else base


def _auto(kind: Kind) -> Any:
    transformers = import_transformers()
    return {
        "base": transformers.AutoModel,
        "causal": transformers.AutoModelForCausalLM,
        "masked": transformers.AutoModelForMaskedLM,
        "classifier": transformers.AutoModelForSequenceClassification,
    }[kind]


def _attention(files: ModelFiles, options: Loading) -> str | None:
    """How to compute attention: by torch alone, step by step where the configuration or the caller
    requires it. Any other name in a configuration could be a kernel to be downloaded and run.
    """
    config = files.config()
    named = [config.get(key) for key in ("attn_implementation", "_attn_implementation")]
    return "eager" if options.eager or "eager" in named else None


def _twin(config: Any, settings: dict[str, Any], options: Loading) -> Any:
    auto = _auto(options.kind)
    with torch.device("meta"):
        outline = auto.from_config(config, **settings)
    needed = sum(weight.numel() * weight.element_size() for weight in outline.parameters())
    if needed > available_memory():
        raise WordswayError(
            f"a twin needs {format_bytes(needed)}, {format_bytes(available_memory())} are free: "
            "take a smaller model"
        )
    before = torch.get_rng_state()
    try:
        torch.manual_seed(options.twin or 0)  # the only source of randomness of initialisation
        return auto.from_config(config, **settings)
    finally:
        torch.set_rng_state(before)


def import_transformers() -> Any:
    """The package; an error that names the extra where it is not installed."""
    needs("models", "transformers")
    import transformers

    return transformers


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No progress bars and no log messages of transformers on standard error."""
    import_transformers()
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


class MissingWeightsError(WordswayError):
    """Weights that the output depends on are not in the model's files."""


#: Names that an error lists.
SHOWN = 4


def refuse_missing(model: Any, measured: Any, missing: set[str], name: str, *, head: bool) -> None:
    """Refuse weights that are missing from the files and reach what is measured: the hidden states
    of ``measured`` (or, with ``head``, the logits). Others, such as a pooler, may be missing.

    A weight reaches the output if a gradient flows back to it.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    suspects = {key: parameters[key] for key in missing if key in parameters}
    others = [key for key in missing if key not in parameters and _is_number(model, key)]
    used = sorted([*others, *_reached(measured, suspects, head)])
    if used:
        more = f" and {len(used) - SHOWN} more" if len(used) > SHOWN else ""
        raise MissingWeightsError(
            f"{name} lacks weights that its config.json requires "
            f"({', '.join(used[:SHOWN])}{more}): save the whole model with save_pretrained; "
            "refusing to initialise missing weights at random"
        )


def _reached(measured: Any, suspects: dict[str, torch.nn.Parameter], head: bool) -> list[str]:
    """The suspects that the output depends on."""
    if not suspects:
        return []
    for weight in suspects.values():
        weight.requires_grad_(True)
    device = next(iter(suspects.values())).device
    try:
        with torch.enable_grad():
            ids = torch.arange(5, 9, device=device)[None]
            out = measured(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                output_hidden_states=True,
                use_cache=False,
            )
            outputs = [out.logits] if head else list(out.hidden_states)
            total = torch.stack([states.float().sum() for states in outputs]).sum()
            if not total.requires_grad:
                return []
            gradients = torch.autograd.grad(total, list(suspects.values()), allow_unused=True)
    finally:
        for weight in suspects.values():
            weight.requires_grad_(False)
    return [key for key, flow in zip(suspects, gradients, strict=True) if flow is not None]


def _is_number(model: Any, key: str) -> bool:
    """Whether a missing entry is a buffer of real numbers (a table of positions is none)."""
    buffer = dict(model.named_buffers()).get(key)
    return buffer is not None and buffer.is_floating_point()
