"""Batches of vectors: unit length, and how a Δ stays in the ball ‖Δ‖ ≤ radius."""

from __future__ import annotations

import math

import numpy as np
import torch


def ball_radius(radius: float | None, d: int) -> float:
    """The radius of the ball for Δ ∈ ℝ^d: √d by default.

    >>> ball_radius(None, 16), ball_radius(2, 16)
    (4.0, 2.0)
    """
    return math.sqrt(d) if radius is None else float(radius)


def into_ball(delta: torch.Tensor, radius: float | torch.Tensor) -> torch.Tensor:
    """Each Δ longer than the radius, shortened to it; radii may differ along the batch.

    >>> into_ball(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0).norm(dim=1).tolist()
    [1.0, 0.5]
    """
    size = delta.norm(dim=-1, keepdim=True)
    tiny = torch.finfo(delta.dtype).tiny
    return torch.where(size > radius, delta * (size.clamp_min(tiny).reciprocal() * radius), delta)


def unit(v: torch.Tensor) -> torch.Tensor:
    """Each vector of the last axis, rescaled to norm one; zero stays zero.

    >>> unit(torch.tensor([[3.0, 4.0], [3e-30, 4e-30], [0.0, 0.0]])).norm(dim=1).tolist()
    [1.0, 1.0, 0.0]
    """
    tiny = torch.finfo(v.dtype).tiny
    size = v.norm(dim=-1, keepdim=True)
    lost = size < 1e4 * math.sqrt(tiny)  # the squares underflow: rescale by the largest entry first
    if bool(lost.any()):
        v = torch.where(lost, v / v.abs().amax(-1, keepdim=True).clamp_min(tiny), v)
        size = v.norm(dim=-1, keepdim=True)
    return v / size.clamp_min(tiny)


def exactly_inside(delta: torch.Tensor, radius: float) -> torch.Tensor:
    """Δ in float64 with a norm that does not exceed the radius, whichever formula computes it.

    A sum of squares is rounded in the order it is taken, so torch, NumPy and exact summation may
    differ in the last digit: Δ is shortened until none of them exceeds the radius.

    >>> float(exactly_inside(torch.tensor([3.0, 4.0]), 1.0).norm()) <= 1.0
    True
    """
    delta = into_ball(delta.to("cpu", torch.float64), radius)
    while _longest_norm(delta) > radius >= 0:
        delta = delta * (1 - torch.finfo(torch.float64).eps)
    return delta


def _longest_norm(delta: torch.Tensor) -> float:
    """The largest of the norms that usual formulas give."""
    array = delta.flatten().numpy()
    squares = array * array
    return max(
        float(delta.norm()),
        math.sqrt(float((delta * delta).sum())),
        float(np.linalg.norm(array)),
        math.sqrt(float(squares.sum())),
        math.sqrt(math.fsum(squares)),
        math.hypot(*array.tolist()),
    )


def gram(rows: torch.Tensor, size: int = 256) -> torch.Tensor:
    """rows·rowsᵀ with half the products: only the blocks on and below the diagonal are computed.

    >>> gram(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[5.0, 11.0], [11.0, 25.0]]
    """
    K = rows.new_empty(len(rows), len(rows))
    for start in range(0, len(rows), size):
        stop = min(len(rows), start + size)
        K[start:, start:stop] = rows[start:] @ rows[start:stop].T
        K[start:stop, stop:] = K[stop:, start:stop].T
    return K
