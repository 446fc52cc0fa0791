"""The naive procedure, written plainly: what a first script would do.

Full forward pass of the whole text, autograd, float64, one random start, one word, plain gradient
ascent with a fixed step projected on the ball ‖Δ‖ ≤ √d around the word: 50·n steps for attention,
300 for fully connected maps.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch


def attention(W: torch.Tensor, kind: str) -> Callable[[torch.Tensor], torch.Tensor]:
    def phi(X: torch.Tensor) -> torch.Tensor:
        scores = X @ W @ X.T / math.sqrt(len(W))
        if kind == "raf":
            return torch.softmax(scores, dim=1) @ X
        shares = torch.relu(scores)
        return shares / shares.sum(1, keepdim=True).clamp_min(1e-30) @ X

    return phi


def layers(weights: list[torch.Tensor]) -> Callable[[torch.Tensor], torch.Tensor]:
    def phi(X: torch.Tensor) -> torch.Tensor:
        h = X.flatten()
        for V in weights:
            h = torch.relu(V @ h)
        return h

    return phi


def ascend(
    phi: Callable[[torch.Tensor], torch.Tensor], X: torch.Tensor, steps: int, rate: float
) -> float:
    """S of the first word by gradient ascent from one random start."""
    d = X.shape[1]
    radius = math.sqrt(d)
    before = phi(X)
    delta = torch.randn(d, dtype=X.dtype, generator=torch.Generator().manual_seed(0))
    delta *= radius / delta.norm()
    best = 0.0
    for _ in range(steps):
        delta.requires_grad_(True)
        moved = torch.cat([(X[0] + delta)[None], X[1:]])
        change = (phi(moved) - before).norm() / before.norm()
        (gradient,) = torch.autograd.grad(change, delta)
        best = max(best, float(change.detach()))
        with torch.no_grad():
            delta = delta + rate * gradient
            delta = delta * min(1.0, radius / float(delta.norm()))
    return best
