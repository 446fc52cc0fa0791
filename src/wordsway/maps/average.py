"""The average next to the worst case: how far a random Δ, or a real word, moves the features.

S is a supremum. This module adds the mean and quantiles of ‖φ(X^i(Δ)) − φ(X)‖/‖φ(X)‖ over Δ drawn
uniformly from the sphere ‖Δ‖ = radius, or over Δ = v − x_i for the words v of a vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from wordsway.core.checks import Count, validated
from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.seeds import generator
from wordsway.core.vectors import unit
from wordsway.maps.base import View

QUANTILES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class AverageChange:
    """The relative change over random Δ at one row, or over all of several rows.

    ``error`` is the standard error of ``mean``; ``q50``, ``q90`` and ``q99`` are quantiles of the
    draws, ``most`` is the largest of them.
    """

    mean: float
    error: float | None
    q50: float
    q90: float
    q99: float
    most: float
    draws: int

    @staticmethod
    def of(changes: torch.Tensor) -> AverageChange:
        """From relative changes, (draws,).

        >>> AverageChange.of(torch.tensor([1.0, 2.0, 3.0])).mean
        2.0
        """
        count = len(changes)
        error = float(changes.std()) / math.sqrt(count) if count > 1 else None
        levels = torch.tensor(QUANTILES, dtype=changes.dtype)
        q50, q90, q99 = torch.quantile(changes, levels).tolist()
        mean, most = float(changes.mean()), float(changes.max())
        return AverageChange(mean, error, q50, q90, q99, most, count)


def averages(
    view: View,
    rows: Sequence[int],
    radius: float,
    seed: int,
    memory: int,
    draws: int | None,
    vocabulary: Any,
) -> list[dict[str, Any]]:
    """The average over random Δ ("average") and over words ("real"), as ``draws`` and
    ``vocabulary`` request: over all rows first, then row by row.
    """
    found: dict[str, torch.Tensor] = {}
    if draws is not None:
        found["average"] = random_changes(view, rows, radius, draws, seed, memory)
    if vocabulary is not None:
        found["real"] = word_changes(view, rows, vocabulary, memory)
    parts = [found, *({name: part[at] for name, part in found.items()} for at in range(len(rows)))]
    return [
        {name: AverageChange.of(each.flatten()) for name, each in part.items()} for part in parts
    ]


def random_changes(
    view: View, rows: Sequence[int], radius: float, draws: int, seed: int, memory: int
) -> torch.Tensor:
    """Relative changes by random Δ at each row, by its own stream, on the sphere: (rows, draws)."""
    found = []
    for row in rows:
        noise = generator(seed, "average", row)
        drawn = torch.randn(draws, view.X.shape[1], generator=noise, dtype=torch.float64)
        found.append(_changes(view, row, (radius * unit(drawn)).to(view.X), memory))
    return torch.stack(found)


def word_changes(view: View, rows: Sequence[int], vocabulary: Any, memory: int) -> torch.Tensor:
    """Relative changes where each word v of ``vocabulary`` (V, d) stands at each row: (rows, V).
    If a word's vector depends on its place, ``vocabulary(row)`` returns them.
    """
    found = []
    for row in rows:
        given = vocabulary(row) if callable(vocabulary) else vocabulary
        words = finite_matrix(given, "a vocabulary").to(view.X)
        if words.shape[1] != view.X.shape[1]:
            raise InputError(
                f"word vectors of {view.X.shape[1]} dimensions",
                f"shape {tuple(words.shape)}",
                "embed the vocabulary as the text is",
            )
        found.append(_changes(view, row, words - view.X[row], memory))
    return torch.stack(found)


def _changes(view: View, row: int, delta: torch.Tensor, memory: int) -> torch.Tensor:
    view = view.bounded(min(256, memory // max(1, view.bytes_per_point)))
    squares = view.values(torch.full((len(delta),), row, device=delta.device), delta)
    return squares.clamp_min(0).sqrt().to("cpu", torch.float64)


MOST_BITS = 16


@dataclass(frozen=True)
class BooleanSensitivity:
    """``average`` and largest sensitivity, an input ``at`` which the latter is attained,
    ``influences`` of the n bits, and the ``profile``: the sensitivity of each of the 2ⁿ inputs, in
    the order of their numbers (bit 0 is the first position; 0 stands for −1).
    """

    average: float
    most: float
    at: torch.Tensor
    influences: torch.Tensor
    profile: torch.Tensor


@validated
def boolean_sensitivity(f: Callable[[torch.Tensor], torch.Tensor], n: Count) -> BooleanSensitivity:
    """The sensitivity of f, a function of inputs (2ⁿ, n) with entries ±1 to 2ⁿ numbers.

    Parity is sensitive to every bit; the majority of three has sensitivity 2 where the bits
    disagree:

    >>> boolean_sensitivity(lambda x: x.prod(1), 5).average
    5.0
    >>> boolean_sensitivity(lambda x: x.sum(1).sign(), 3).profile.tolist()
    [0.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 0.0]
    """
    if n > MOST_BITS:
        raise InputError(f"between 1 and {MOST_BITS} bits", n, "sample inputs for longer ones")
    numbers = torch.arange(2**n)
    bits = (numbers[:, None] >> torch.arange(n)) & 1
    inputs = (2 * bits - 1).to(torch.float64)
    value = f(inputs)
    if not isinstance(value, torch.Tensor) or value.numel() != 2**n:
        raise InputError(
            f"a function from ({2**n}, {n}) inputs to {2**n} numbers",
            f"shape {tuple(getattr(value, 'shape', ()))}",
            "return one number per input",
        )
    value = value.detach().to(torch.float64).reshape(-1)
    if not bool(value.isfinite().all()):
        raise InputError("finite values", "NaN or infinity", "guard the function")
    turned = torch.stack([value[numbers ^ (1 << bit)] for bit in range(n)], 1)
    terms = ((value[:, None] - turned) / 2) ** 2
    profile = terms.sum(1)
    top = int(profile.argmax())
    average = math.fsum(profile.tolist()) / 2**n
    return BooleanSensitivity(average, float(profile[top]), inputs[top], terms.mean(0), profile)
