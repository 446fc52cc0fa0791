"""Targets by name: a vector g of the text; a change is ‖g(changed) − g(text)‖/‖g(text)‖.

| target | g |
|---|---|
| a layer | its hidden states H (n×d), by norm or row by row (`wordsway.probing.layer_target`) |
| "all" | those of layers 1 … L, each over its norm and √L: the root mean square over layers |
| "pooled" | the text's embedding: the last layer pooled as the model's own configuration says |
| "cosine" | the embedding over its norm; reported as cosine distance, 1 − cos = ‖g′ − g‖²/2 |
| "logits" | those of a classifier saved with its head |
| "next-token" | √p, p the next token's probabilities: ‖g′ − g‖ = √2 · Hellinger distance |
"""

from __future__ import annotations

from wordsway.core.errors import InputError
from wordsway.models.probe import Prepared, Probe
from wordsway.probing.layer_target import SCALINGS, LayerTarget
from wordsway.probing.target import Target
from wordsway.probing.vector_targets import LogitsTarget, NextTokenTarget, PooledTarget

#: Targets besides layers.
NAMED = ("all", "pooled", "cosine", "logits", "next-token")


def check_target(target: int | str, scaling: str = "auto") -> None:
    """What can be refused before a model is loaded: how many layers it has is not known yet."""
    if scaling not in SCALINGS:
        raise InputError(
            f"a scaling among {', '.join(SCALINGS)}", repr(scaling), "leave it at auto"
        )
    name = str(target).removeprefix("layer ").strip()
    if name not in (*NAMED, "layer", "last", "input") and not name.isdigit():
        raise InputError(
            f"a layer: input, last or its number; or {', '.join(NAMED)}",
            repr(target),
            "last is the last layer",
        )


def target_of(probe: Probe, prepared: Prepared, target: int | str, scaling: str = "auto") -> Target:
    """A target by name: a layer ("last", 3, "layer 3"), or one of `NAMED`."""
    check_target(target, scaling)
    if target in ("pooled", "cosine"):
        return PooledTarget(probe, prepared, cosine=target == "cosine")
    if target == "logits":
        return LogitsTarget(probe, prepared)
    if target == "next-token":
        return NextTokenTarget(probe, prepared)
    if target == "all":
        return LayerTarget(probe, prepared, tuple(range(1, probe.layers.count + 1)), scaling)
    number = probe.layers.number(
        str(target).removeprefix("layer ").strip(), f", {', '.join(NAMED)}"
    )
    if number == 0 and prepared.at == "input":
        raise InputError(
            "a layer behind the one that moves",
            "layer 0",
            "take layer 1 or later, or move the words",
        )
    return LayerTarget(probe, prepared, (number,), scaling)
