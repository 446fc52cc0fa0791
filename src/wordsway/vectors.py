"""Batches of vectors: unit length, and how a Δ stays in the ball ‖Δ‖ ≤ radius."""

from __future__ import annotations

import torch


def into_ball(delta: torch.Tensor, radius: float) -> torch.Tensor:
    """Each Δ longer than the radius, shortened to it.

    >>> into_ball(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 1.0).norm(dim=1).tolist()
    [1.0, 0.5]
    """
    size = delta.norm(dim=-1, keepdim=True)
    return torch.where(size > radius, delta * (radius / size.clamp_min(torch.finfo(delta.dtype).tiny)), delta)


def unit(v: torch.Tensor) -> torch.Tensor:
    """Each vector of the last axis, rescaled to norm one; zero stays zero."""
    return v / v.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(v.dtype).tiny)


def exactly_inside(delta: torch.Tensor, radius: float) -> torch.Tensor:
    """Δ in float64 with a norm that does not exceed the radius even by rounding."""
    delta = into_ball(delta.to("cpu", torch.float64), radius)
    while float(delta.norm()) > radius:
        delta = delta * (1 - torch.finfo(torch.float64).eps)
    return delta
