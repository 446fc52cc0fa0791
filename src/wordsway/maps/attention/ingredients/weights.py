"""The matrices of an attention layer: drawn from a seed, or given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.seeds import generator

#: Which matrices a layer has: with one matrix, and with heads. "tied": keys are queries (L2);
#: "twice": a second pair of queries and keys (differential).
ONE = {"usual": ("W",), "tied": ("W",), "twice": ("W", "W2")}
MANY = {
    "usual": ("Q", "K", "V", "O"),
    "tied": ("Q", "V", "O"),
    "twice": ("Q", "K", "V", "O", "Q2", "K2"),
}


def draw_projections(d: int, seed: int, heads: int | None, shape: str) -> dict[str, torch.Tensor]:
    """Entries N(0, 1/d), each matrix from its own stream; W is that of `RAF` with this seed."""
    check_heads(d, heads)
    drawn = {}
    for name in ONE[shape] if heads is None else MANY[shape]:
        path = ("attention", d) if name == "W" else ("attention", d, name)
        noise = torch.randn(d, d, dtype=torch.float64, generator=generator(seed, *path))
        drawn[name] = noise / math.sqrt(d)
    return drawn


def given_projections(
    d: int | None,
    heads: int | None,
    shape: str,
    weight: Any,
    weights: Mapping[str, Any] | None,
) -> dict[str, torch.Tensor]:
    """The caller's own matrices, checked: d×d each."""
    wanted = ONE[shape] if heads is None else MANY[shape]
    if weight is not None and (weights is not None or wanted != ("W",)):
        raise InputError(
            f"weights={{{', '.join(wanted)}}}",
            "weight=",
            "one matrix is all there is without heads and with most scores",
        )
    named = {"W": weight} if weight is not None else dict(weights or {})
    if set(named) != set(wanted):
        raise InputError(
            f"weights named {', '.join(wanted)}", ", ".join(named) or "none", "name each matrix"
        )
    found = {name: finite_matrix(named[name], "a weight matrix") for name in wanted}
    size = len(found[wanted[0]])
    for name, matrix in found.items():
        if matrix.shape != (size, size):
            raise InputError(
                f"square d×d weight matrices, d={size}",
                f"{name} of shape {tuple(matrix.shape)}",
                "trained layers of other shapes are made with Attention.of(probe, layer)",
            )
    if d is not None and d != size:
        raise InputError(
            f"d={size}, the size of the weights", f"d={d}", "leave d out when weights are given"
        )
    check_heads(size, heads)
    return found


def check_heads(d: int, heads: int | None) -> None:
    """Heads share the dimensions evenly."""
    if heads is not None and (heads < 1 or d % heads):
        divisors = [str(h) for h in range(1, min(d, 64) + 1) if d % h == 0]
        raise InputError(
            f"a number of heads that divides d={d}", heads, f"choose among {', '.join(divisors)}"
        )
