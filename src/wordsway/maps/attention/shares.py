"""The share p(a) that a row gives to a moved key, on a grid of moves a, with all that happens
between the grid points bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch

if TYPE_CHECKING:
    from wordsway.maps.attention.view import AttentionView

NODES = 56  # grid points in a (in the softmax case: logits from −9 to 9)
STEEP = 600  # a ReLU row is steep where R is below 1/600 of what Δ can add to its score


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


def softmax_curve(view: AttentionView, rows: torch.Tensor, i: int, radius: float) -> Curve:
    """p(u) = σ(u) for u = logit p⁰ + a, as far as Δ can move it or from −9 to 9; what lies outside
    is bounded by the tails.
    """
    logit = view._pairs[0][i, rows][:, None]
    reach = radius * view.keys[rows].norm(dim=1, keepdim=True) * (1 + 1e-9)
    low, high = (logit - reach).clamp(-9, 9), (logit + reach).clamp(-9, 9)
    u = low + (high - low) * torch.linspace(0, 1, NODES, dtype=view.X.dtype, device=view.X.device)
    p, step = torch.sigmoid(u), ((high - low) / (NODES - 1)).expand_as(u)
    # p(1−p) and |p″| = p(1−p)|1−2p| are at most min(p, 1−p), which changes by no more than a factor
    # e^step within a step.
    bound = torch.minimum(p, 1 - p) * torch.exp(step)
    below, beyond = logit - reach < -9, logit + reach > 9
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


def relu_curve(view: AttentionView, rows: torch.Tensor, i: int, radius: float) -> Curve:
    """p(w) = w/(R+w), w = s + a from 0 to what Δ can reach, finer near 0; below 0 the share is 0."""
    s, R = (part[i, rows][:, None] for part in view._pairs)
    # Rounding errors of a score scale with its factors, not with what is left of it: a row must not
    # pass for out of reach.
    error = (
        1e-12 * view.X[rows].norm(dim=1, keepdim=True) * view.W.norm() * (view.X[i].norm() + radius)
    )
    reach = (s + radius * view.keys[rows].norm(dim=1, keepdim=True) + error).clamp_min(0)
    w = reach * torch.linspace(0, 1, NODES, dtype=view.X.dtype, device=view.X.device) ** 2
    # Where the other words hardly count (R ≈ 0), the share jumps within a step; such rows are
    # bounded by their trivial move.
    steep = reach > STEEP * R
    p = torch.where(steep, 1.0, w / (R + w).clamp_min(torch.finfo(w.dtype).tiny))
    step = torch.maximum(w - neighbour(w, 1), neighbour(w, -1) - w)
    before = torch.where(steep | (R == 0), 1.0, R + neighbour(w, 1))
    bend = torch.where(steep, 0.0, 2 * R / before**3)
    rise = torch.where(steep, 0.0, (R / before**2) ** 2)
    return Curve(p, w - s, step, bend, rise, steep, torch.ones_like(steep), torch.zeros_like(steep))


def neighbour(p: torch.Tensor, by: int) -> torch.Tensor:
    """The neighbour's value along the grid; the ends repeat."""
    return torch.cat([p[:, :1], p[:, :-1]], 1) if by > 0 else torch.cat([p[:, 1:], p[:, -1:]], 1)
