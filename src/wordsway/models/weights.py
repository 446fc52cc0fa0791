"""Weights that a file lacks: transformers fills them in at random, so they are refused by name."""

from __future__ import annotations

from typing import Any

import torch

from wordsway.core.errors import WordswayError


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
            f"{name} lacks weights that its config.json asks for "
            f"({', '.join(used[:SHOWN])}{more}): save the whole model with save_pretrained; "
            "random numbers are not put in their place"
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
