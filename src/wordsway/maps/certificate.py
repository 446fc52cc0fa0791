"""A certificate: a number that no Δ can exceed, and its basis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from wordsway.maps.rigorous import U

#: Total probability with which a certificate for weights drawn at random may fail.
FAILURE = 1e-9


@dataclass(frozen=True)
class Certificate:
    """``upper[w]`` bounds S at the w-th searched word, +∞ where float64 cannot tell φ(X) from zero.
    ``kind`` is "exact" (given the actual weights, and proved for exact arithmetic) or "1 − 1e-9"
    (with that probability over the draw of the weights, for a text chosen without looking at them).
    """

    upper: torch.Tensor
    kind: str

    def replaced(self, upper: list[float]) -> Certificate:
        """Other numbers with the same basis."""
        return Certificate(torch.tensor(upper, dtype=torch.float64), self.kind)

    @staticmethod
    def exact(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, "exact")

    @staticmethod
    def probable(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, f"1 − {FAILURE:.0e}".replace("e-0", "e-"))


def relative(change: float, norm: float) -> float:
    """A bound of ‖φ(X^i(Δ)) − φ(X)‖ over a lower bound of ‖φ(X)‖; +∞ where that is zero."""
    return change / norm * (1 + 4 * U) if norm > 0 else math.inf
