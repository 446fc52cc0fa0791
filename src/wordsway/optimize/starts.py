"""Where to start: what the objective suggests, the top direction near zero, random directions;
children of points that were found; and random samples in low dimensions.

Functions with jumps (ReLU attention, whose rows may go silent) have suprema at edges where
gradients lead nowhere: the value rises towards an edge and drops behind it. In a few dimensions
plain sampling finds such places, and sampling ever closer around the best point slides along the
edge. In many dimensions it would not, and is not tried.
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
    objective: Objective, which: torch.Tensor, direction: torch.Tensor
) -> torch.Tensor:
    """Three power steps of the Hessian of f at x = 0, from ``direction`` (P, p)."""
    length = NEAR_ZERO * objective.radius(which).to(direction.dtype)[:, None]
    for _ in range(3):
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


#: Sampling is worth its time up to this many dimensions.
DIMENSIONS = 16
#: Points of the first sample; rounds of sliding, and the points of each.
POINTS, ROUNDS, TRIES = 1536, 48, 48


def worthwhile(objective: Objective) -> bool:
    return objective.dimension <= DIMENSIONS and not objective.bytes_retained_per_eval


def random_search(
    objective: Objective, problem: int, count: int, noise: torch.Generator, groups: int = 1
) -> torch.Tensor:
    """The ``count`` best of many random points, (count, p): in the ball, on the sphere, and around
    the objective's landmark. Each of several groups samples its share.
    """
    many = max(count, POINTS // groups)
    p = objective.dimension
    kind: dict[str, Any] = {
        "generator": noise,
        "device": objective.device,
        "dtype": objective.dtype,
    }
    which = torch.tensor([problem], device=objective.device)
    radius = float(objective.radius(which))
    uniform = torch.rand(many, 1, **kind)
    directions = unit(torch.randn(many, p, **kind))
    size = uniform ** (1 / p)
    size[::3] = 1
    points = radius * size * directions
    landmark = objective.landmark(problem)
    if landmark is not None:
        points[1::3] = landmark + radius * 10 ** (-4 * uniform[1::3]) * directions[1::3]
    points = objective.project(which.expand(many), points)
    value = objective.values(which.expand(many), points)
    return points[value.topk(count).indices]


def local_random_search(
    objective: Objective,
    problems: torch.Tensor,
    x: torch.Tensor,
    value: torch.Tensor,
    noise: list[torch.Generator],
    groups: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Improve each problem's x (P, p) by random moves of all sizes, from the radius down to a
    millionth of it. Each of several groups tries its share.
    """
    tries = max(1, TRIES // groups)
    p = x.shape[1]
    radius = objective.radius(problems)
    index = torch.arange(len(problems), device=x.device)
    for _ in range(ROUNDS):
        moves = []
        for reach, source in zip(radius.tolist(), noise, strict=True):
            kind: dict[str, Any] = {"generator": source, "device": x.device, "dtype": x.dtype}
            scale = 10 ** (-6 * torch.rand(tries, 1, **kind))
            moves.append(reach * scale * torch.randn(tries, p, **kind))
        tried = objective.project(problems, x[:, None] + torch.stack(moves))
        values = objective.values(problems.repeat_interleave(tries), tried.flatten(0, 1))
        best, place = values.reshape(len(problems), tries).max(1)
        better = best > value
        value = torch.where(better, best, value)
        x = torch.where(better[:, None], tried[index, place], x)
    return x, value
