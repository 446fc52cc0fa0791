"""Random samples in low dimensions.

Functions with jumps (ReLU attention, whose rows may go silent) have suprema at edges where
gradients lead nowhere: the value rises towards an edge and drops behind it. In a few dimensions
plain sampling finds such places, and sampling ever closer around the best point slides along the
edge. In many dimensions it would not, and is not tried.
"""

from __future__ import annotations

from typing import Any

import torch

from wordsway.core.vectors import unit
from wordsway.optimize.objective import Objective

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
