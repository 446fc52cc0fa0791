"""S(ρ): how far a word can move the target, from small moves to its own length.

For small ρ the worst Δ is the top right singular vector of the Jacobian, times ρ·r_I, up to its
sign. Each branch starts there (± the first and the second direction) and is followed as ρ grows:
the point at one ρ, made longer, is where the climb at the next one starts. At ρ = 1 and beyond
fresh starts join, and the best point of all continues alone. Every value is attained by a Δ of that
length, and S is not smaller at a larger ρ, so the curve never falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.core.progress import Progress, part_of, silent
from wordsway.optimize import Plan
from wordsway.probing.local import Local
from wordsway.probing.moves import Blocks, MemoryBudget
from wordsway.probing.search import Climbed, climb, plan_of, worst
from wordsway.probing.targets import Target

#: Reaches of a curve, branches per word, and steps per branch and reach.
REACHES = (0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
BRANCHES, STEPS = 4, 6
#: Fresh starts at the last reach that climb on after their first steps, and the factor by which the
#: best point of all takes more steps than those: S(1) still grows by a tenth there.
KEPT, ON = 2, 2


@dataclass(frozen=True)
class CurvePoint:
    """``lower``: the largest change attained with ‖Δ‖ ≤ reach·r; ``spread``: how much less the
    weakest branch reached.
    """

    reach: float
    lower: float
    spread: float


@dataclass(frozen=True)
class WordCurve:
    """A word's S(ρ), and for each point the Δ (m, d) that attains it."""

    points: tuple[CurvePoint, ...]
    deltas: tuple[torch.Tensor, ...]


def reaches_up_to(reach: float) -> tuple[float, ...]:
    """The curve's reaches, with the requested one as its last.

    >>> reaches_up_to(0.25), reaches_up_to(3.0)[-2:]
    ((0.03, 0.06, 0.1, 0.2, 0.25), (2.0, 3.0))
    """
    grid = list(REACHES)
    while grid[-1] < reach:
        grid.append(2 * grid[-1])
    return (*(value for value in grid if value < reach * (1 - 1e-9)), reach)


def curves(
    target: Target,
    blocks: Blocks,
    found: Sequence[Local],
    *,
    reaches: Sequence[float] = REACHES,
    effort: float = 1.0,
    seed: int = 0,
    budget: MemoryBudget,
    progress: Progress = silent,
) -> list[WordCurve]:
    """The curve of every word, from its singular directions."""
    steps = max(1, round(effort * STEPS))
    owners = torch.arange(len(blocks), device=blocks.rows.device).repeat_interleave(BRANCHES)
    points = torch.cat([_directions(blocks, one) for one in found])
    path: list[
        Climbed
    ] = []  # for each reach the points of all branches, (words × BRANCHES) of them
    for number, reach in enumerate(reaches):
        here = blocks.at_reach(reach)
        longer = points * (here.radius[owners] / points.norm(dim=1).clamp_min(1e-30))[:, None]
        part = part_of(progress, "following S(ρ)", number, len(reaches) + 1)
        path.append(climb(target, here, owners, longer, steps, budget, part))
        points = path[-1].delta
    best = path[-1].best_of(BRANCHES)
    last = _finish(target, here, best, plan_of(effort), seed, budget, progress)
    return [_curve(target, blocks, [*path, last], reaches, word) for word in range(len(blocks))]


def _directions(blocks: Blocks, found: Local) -> torch.Tensor:
    """± the first and the second singular direction, padded to the blocks' size."""
    second = found.directions[0] if found.directions else found.direction
    rows = torch.stack([found.direction, -found.direction, second, -second]).flatten(1)
    padded = rows.new_zeros(BRANCHES, blocks.size)
    padded[:, : rows.shape[1]] = rows
    return padded


def _finish(
    target: Target,
    blocks: Blocks,
    best: Climbed,
    plan: Plan,
    seed: int,
    budget: MemoryBudget,
    progress: Progress,
) -> Climbed:
    """Continue the best branch at the last reach; if the reach is large, also try fresh starts, and
    let the best point of all climb on.
    """
    owners = torch.arange(len(blocks), device=blocks.rows.device)
    ends = climb(target, blocks, owners, best.delta, plan.steps, budget)
    if blocks.reach < 1:
        return ends
    part = part_of(progress, "following S(ρ)", 1, 2)
    other = worst(blocks, target, plan=plan, keep=KEPT, seed=seed, budget=budget, progress=part)
    better = other.value > ends.value
    start = torch.where(better[:, None], other.delta, ends.delta)
    return climb(target, blocks, owners, start, ON * plan.steps, budget)


def _curve(
    target: Target,
    blocks: Blocks,
    path: list[Climbed],
    reaches: Sequence[float],
    word: int,
) -> WordCurve:
    points: list[CurvePoint] = []
    deltas: list[torch.Tensor] = []
    branch = slice(word * BRANCHES, (word + 1) * BRANCHES)
    for at, reach in enumerate(reaches):
        values = path[at].value[branch].double().sqrt()
        top = int(values.argmax())
        lower = float(values[top])
        delta = path[at].delta[branch][top]
        if at == len(reaches) - 1 and float(path[-1].value[word]) ** 0.5 > lower:
            lower = float(path[-1].value[word]) ** 0.5
            delta = path[-1].delta[word]
        spread = target.reported(lower) - target.reported(float(values.min()))
        if points and target.reported(lower) < points[-1].lower:  # a smaller Δ did better
            points.append(CurvePoint(reach, points[-1].lower, spread))
            deltas.append(deltas[-1])
            continue
        points.append(CurvePoint(reach, target.reported(lower), spread))
        deltas.append(blocks.at_reach(reach).delta(word, delta))
    return WordCurve(tuple(points), tuple(deltas))
