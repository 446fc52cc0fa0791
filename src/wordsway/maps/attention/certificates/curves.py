"""The share p(a) that a row gives to a moved key, on a grid of moves a.

What happens between and beyond the grid points is bounded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from wordsway.maps.rigorous import SAFE

#: Grid points in a; logistic shares are followed for logits from −REACH to REACH.
NODES = 56
REACH = 9.0


class ShareCurve(NamedTuple):
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


def logistic_curve(
    logit: torch.Tensor, keys: torch.Tensor, radius: float, blur: torch.Tensor
) -> ShareCurve:
    """p(u) = σ(u) for u = logit p⁰ + a, as far as Δ can move it or from −9 to 9; what lies outside
    is bounded by the tails. ``logit``, ``keys`` and ``blur``, the error of a moved logit, have one
    row per row of the text but i.
    """
    reach = radius * keys.norm(dim=1, keepdim=True) * SAFE + blur
    low, high = (logit - reach).clamp(-REACH, REACH), (logit + reach).clamp(-REACH, REACH)
    u = low + (high - low) * torch.linspace(0, 1, NODES, dtype=keys.dtype, device=keys.device)
    p, step = torch.sigmoid(u), ((high - low) / (NODES - 1)).expand_as(u)
    # p(1−p) and |p″| = p(1−p)|1−2p| are at most min(p, 1−p), which changes by no more than a factor
    # e^step within a step.
    bound = torch.minimum(p, 1 - p) * torch.exp(step)
    below, beyond = logit - reach < -REACH, logit + reach > REACH
    return ShareCurve(
        p,
        u - logit,
        step,
        bound.clamp_max(0.0963),
        (bound * bound).clamp_max(1 / 16),
        torch.zeros_like(below),
        below,
        beyond,
    )


def neighbour(p: torch.Tensor, by: int) -> torch.Tensor:
    """The neighbour's value along the grid (the last axis); the ends repeat."""
    if by > 0:
        return torch.cat([p[..., :1], p[..., :-1]], -1)
    return torch.cat([p[..., 1:], p[..., -1:]], -1)
