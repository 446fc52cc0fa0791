"""Where to start: the view's own suggestions, the top singular direction of the Jacobian, random
directions, and children.
"""

from __future__ import annotations

from typing import Any

import torch

from wordsway.optimize.objective import View
from wordsway.vectors import into_ball, unit

#: Share of the radius at which the change is as good as linear, so that gradients are JᵀJΔ.
LINEAR = 1e-3


def starts(
    view: View, words: torch.Tensor, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """``count`` starting points for each word, (P, count, d), in the ball of the given radius.

    A quarter are random; as many as the view suggests fill the rest; with three or more starts, one
    is the top singular direction of the map's Jacobian at Δ = 0 (the gradient at zero itself
    vanishes, so power steps are taken nearby).
    """
    d = view.X.shape[1]
    random = torch.randn(
        len(words), count, d, generator=noise, device=view.X.device, dtype=view.X.dtype
    )
    points = radius * unit(random)
    if count >= 3:
        for row, word in enumerate(words.tolist()):
            ideas = view.suggest(word, count - max(1, count // 4) - 1, radius, noise)
            points[row, 1 : 1 + len(ideas)] = into_ball(ideas, radius)
        points[:, 0] = radius * unit(top_direction(view, words, points[:, -1], radius))
    return points


def top_direction(
    view: View, words: torch.Tensor, direction: torch.Tensor, radius: float, steps: int = 3
) -> torch.Tensor:
    """A few power steps of JᵀJ at Δ = 0 for each word, (P, d)."""
    for _ in range(steps):
        _, gradient = view.change_and_gradient(words, LINEAR * radius * unit(direction))
        flat = (gradient == 0).all(1, keepdim=True)
        direction = torch.where(flat, direction, gradient)
    return direction


def children(
    parents: torch.Tensor, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Points between pairs of good ones: sΔ_a + (1−s)Δ_b, rescaled to the longer parent. (P, m, d)
    → (P, count, d).
    """
    words, m, _ = parents.shape
    how: dict[str, Any] = {"generator": noise, "device": parents.device}
    a = torch.randint(m, (words, count), **how)
    b = (a + torch.randint(1, max(m, 2), (words, count), **how)) % m
    share = torch.rand(words, count, 1, dtype=parents.dtype, **how)
    row = torch.arange(words, device=parents.device)[:, None]
    first, second = parents[row, a], parents[row, b]
    size = torch.maximum(
        first.norm(dim=2, keepdim=True), second.norm(dim=2, keepdim=True)
    ).clamp_max(radius)
    return size * unit(share * first + (1 - share) * second)
