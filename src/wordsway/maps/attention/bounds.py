"""What a certificate needs to know of a kind of attention.

The share p(a) that a row gives to a moved key, on a grid of moves a, with all that happens between
the grid points bounded; and how far row i itself can move.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch

from wordsway.maps.attention.layer import Layer

#: Grid points in a; logistic shares are followed for logits from −REACH to REACH.
NODES = 56
REACH = 9.0


class Curve(NamedTuple):
    """The share p(a) of one key on a grid of moves, rows × grid points, with bounds on its
    derivatives around each point.
    """

    p: torch.Tensor
    a: torch.Tensor
    step: torch.Tensor
    bend: torch.Tensor  # |p″|
    rise: torch.Tensor  # p′²
    trivial: torch.Tensor  # rows for which only the trivial bound is used (n−1, 1)
    below: torch.Tensor  # rows that Δ can move below the grid (n−1, 1)
    beyond: torch.Tensor  # rows that Δ can move beyond it (n−1, 1)


@dataclass(frozen=True)
class OwnRow:
    """How far row i can move: ‖row i‖² ≤ min(cap, max(hull, ‖far + Δ‖²)).

    ``far`` is x_i − φ_i for rows in the hull of the text, which may end up at the moved row.
    """

    hull: float
    far: torch.Tensor | None = None
    cap: float = math.inf


class RowBounds(ABC):
    """The bounds of one kind of attention."""

    #: How strongly rows that are hard to win over are discounted; every choice gives a valid bound.
    tilts: tuple[float, ...] = (0.0,)

    @abstractmethod
    def curve(self, layer: Layer, others: torch.Tensor, i: int, radius: float) -> Curve:
        """The shares of the rows j ≠ i (``others``, a mask) on key i."""

    @abstractmethod
    def below(self, curve: Curve, p0: torch.Tensor, y2: torch.Tensor, most: torch.Tensor) -> Tail:
        """What a row below its grid can move by."""

    @abstractmethod
    def own_row(self, layer: Layer, i: int, radius: float) -> OwnRow:
        """How far row i, whose query moved too, can move."""

    @abstractmethod
    def at_most(self, layer: Layer, i: int, radius: float) -> float:
        """A bound of ‖φ(X^i(Δ)) − φ(X)‖ that holds however large or small the numbers are."""


def hull(layer: Layer, i: int, radius: float) -> float:
    """Rows that are means of the text's rows, or zero, stay in the hull of the moved text."""
    longest = max(float(layer.X.norm(dim=1).max()), float(layer.X[i].norm()) + radius)
    return float((layer.phi.norm(dim=1) + longest).norm())


def farthest_row(layer: Layer, i: int, *, or_zero: bool = False) -> float:
    """max_l ‖x_l − φ_i‖² over the other rows of the text, and zero where a row may become zero."""
    others = layer.X[torch.arange(len(layer.X), device=layer.X.device) != i]
    if or_zero:
        others = torch.cat([others, torch.zeros_like(layer.X[:1])])
    return float((others - layer.phi[i]).norm(dim=1).max()) ** 2 if len(others) else 0.0


def logistic_curve(logit: torch.Tensor, keys: torch.Tensor, radius: float) -> Curve:
    """p(u) = σ(u) for u = logit p⁰ + a, as far as Δ can move it or from −9 to 9; what lies outside
    is bounded by the tails. ``logit`` and ``keys`` have one row per row of the text but i.
    """
    reach = radius * keys.norm(dim=1, keepdim=True) * (1 + 1e-9)
    low, high = (logit - reach).clamp(-REACH, REACH), (logit + reach).clamp(-REACH, REACH)
    u = low + (high - low) * torch.linspace(0, 1, NODES, dtype=keys.dtype, device=keys.device)
    p, step = torch.sigmoid(u), ((high - low) / (NODES - 1)).expand_as(u)
    # p(1−p) and |p″| = p(1−p)|1−2p| are at most min(p, 1−p), which changes by no more than a factor
    # e^step within a step.
    bound = torch.minimum(p, 1 - p) * torch.exp(step)
    below, beyond = logit - reach < -REACH, logit + reach > REACH
    return Curve(
        p,
        u - logit,
        step,
        bound.clamp_max(0.0963),
        (bound * bound).clamp_max(1 / 16),
        torch.zeros_like(below),
        below,
        beyond,
    )


class Tail(NamedTuple):
    """What a row beyond the end of its grid can move by where Δ can reach it, −∞ elsewhere, and its
    κ-term; (n−1, 1) each.
    """

    value: torch.Tensor
    kappa_term: torch.Tensor

    @staticmethod
    def where(reachable: torch.Tensor, value: torch.Tensor, kappa_term: torch.Tensor) -> Tail:
        return Tail(
            torch.where(reachable, value, -math.inf), torch.where(reachable, kappa_term, 0.0)
        )


def low_shares(curve: Curve, p0: torch.Tensor, most: torch.Tensor) -> Tail:
    """Below the grid of a logistic curve the share is at most that at the grid's end, or p⁰."""
    small = torch.maximum(curve.p[:, :1], p0)
    return Tail.where(curve.below, small**2 * most, small**4)


def neighbour(p: torch.Tensor, by: int) -> torch.Tensor:
    """The neighbour's value along the grid; the ends repeat."""
    return torch.cat([p[:, :1], p[:, :-1]], 1) if by > 0 else torch.cat([p[:, 1:], p[:, -1:]], 1)
