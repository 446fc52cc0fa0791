"""Batches of vectors: unit length, and how a Δ stays in the ball ‖Δ‖ ≤ radius."""

from __future__ import annotations

import torch


def into_ball(delta: torch.Tensor, radius: float) -> torch.Tensor:
    """Each Δ longer than the radius, shortened to it.

    >>> into_ball(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0).norm(dim=1).tolist()
    [1.0, 0.5]
    """
    size = delta.norm(dim=-1, keepdim=True)
    return torch.where(
        size > radius, delta * (radius / size.clamp_min(torch.finfo(delta.dtype).tiny)), delta
    )


def unit(v: torch.Tensor) -> torch.Tensor:
    """Each vector of the last axis, rescaled to norm one; zero stays zero."""
    return v / v.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(v.dtype).tiny)


def exactly_inside(delta: torch.Tensor, radius: float) -> torch.Tensor:
    """Δ in float64 with a norm that does not exceed the radius even by rounding."""
    delta = into_ball(delta.to("cpu", torch.float64), radius)
    while float(delta.norm()) > radius >= 0:
        delta = delta * (1 - torch.finfo(torch.float64).eps)
    return delta


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
