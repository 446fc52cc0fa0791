"""Where to start: what the objective suggests, the top direction near zero, random directions; and
children of points that were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.vectors import unit
from wordsway.optimize.objective import Objective

#: Share of the radius at which f is as good as quadratic, so that gradients are power steps.
NEAR_ZERO = 1e-3


def default_starts(
    objective: Objective,
    problems: Sequence[int],
    count: int,
    noise: Sequence[torch.Generator],
) -> torch.Tensor:
    """``count`` points of each problem to start from, (P, count, p), that the problem allows.

    A quarter are random; as many as the objective suggests fill the rest; with three or more, one
    is the top eigendirection of f at x = 0 (where the gradient vanishes, so power steps are taken
    nearby).
    """
    which = torch.tensor(problems, device=objective.device)
    radius = objective.radius(which).to(objective.dtype)[:, None, None]
    kind: dict[str, Any] = {"device": objective.device, "dtype": objective.dtype}
    size = (count, objective.dimension)
    points = radius * unit(torch.stack([torch.randn(size, generator=own, **kind) for own in noise]))
    if count >= 3:
        ideas = objective.suggest(problems, count - max(1, count // 4) - 1, noise)
        points[:, 1 : 1 + ideas.shape[1]] = objective.project(which, ideas)
        points[:, 0] = radius[:, 0] * unit(top_direction(objective, which, points[:, -1]))
    return points if objective.constraint is None else objective.project(which, points)


def top_direction(
    objective: Objective, which: torch.Tensor, direction: torch.Tensor, steps: int = 3
) -> torch.Tensor:
    """A few power steps of the Hessian of f at x = 0, from ``direction`` (P, p)."""
    length = NEAR_ZERO * objective.radius(which).to(direction.dtype)[:, None]
    for _ in range(steps):
        _, gradient = objective.evaluate(which, length * unit(direction))
        flat = (gradient == 0).all(1, keepdim=True)
        direction = torch.where(flat, direction, gradient)
    return direction


def children(
    parents: torch.Tensor, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Points between pairs of good ones, sa + (1−s)b, rescaled to the longer parent: (m, p) →
    (count, p).
    """
    m = len(parents)
    device = parents.device
    first = torch.randint(m, (count,), generator=noise, device=device)
    offset = torch.randint(1, max(m, 2), (count,), generator=noise, device=device)
    share = torch.rand(count, 1, generator=noise, device=device, dtype=parents.dtype)
    a = parents[first]
    b = parents[(first + offset) % m]
    longer = torch.maximum(a.norm(dim=1, keepdim=True), b.norm(dim=1, keepdim=True))
    return longer.clamp_max(radius) * unit(share * a + (1 - share) * b)
