"""Many problems of which the largest counts: a light search ranks them, the full one follows for
the first few.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.vectors import into_ball
from wordsway.optimize.driver import Found, exceeds, maximise, points_of
from wordsway.optimize.objective import Objective
from wordsway.optimize.plan import Plan

#: Up to this many problems, all get the full search.
MANY = 8
#: How many get it beyond that; twice as many where evaluations leave something behind, since plans
#: are then short and rank less surely.
FINALISTS = 4


def stages(plan: Plan, problems: int, *, kept: bool) -> list[tuple[Plan, int]]:
    """The searches of `maximise_ranked`, each with its plan and its number of problems; ``kept``
    says that evaluations leave something behind.

    >>> [(stage.steps, problems) for stage, problems in stages(Plan(), 20, kept=False)]
    [(30, 20), (60, 4)]
    """
    if problems <= MANY:
        return [(plan, problems)]
    return [(plan.lighter(), problems), (plan, 2 * FINALISTS if kept else FINALISTS)]


def maximise_ranked(
    objective: Objective,
    problems: torch.Tensor,
    plan: Plan,
    *,
    ranking: Objective | None = None,
    seed: int,
    memory: int,
    progress: Progress = silent,
) -> Found:
    """The best x of every problem, found by a lighter plan where it is not among the largest.

    Where the light search is the beginning of the full one, the first few go on from where it left
    them. ``ranking`` is the same function in cheaper arithmetic: it finds the places, and the
    objective itself says what they are worth.
    """
    searches = stages(plan, len(problems), kept=bool(objective.bytes_kept))
    if len(searches) == 1:
        return maximise(objective, problems, plan, seed=seed, memory=memory, progress=progress)
    (light, _), (_, full) = searches
    cheap = ranking or objective
    go_on = light.begins(plan) and cheap.dtype == objective.dtype
    before = len(problems) * light.evaluations
    total = before + full * plan.evaluations
    first = maximise(
        cheap,
        problems,
        light,
        seed=seed,
        memory=memory,
        progress=stretch_of(progress, 0, before, total),
    )
    if cheap.dtype != objective.dtype:
        first = _valued(first, objective)
    top = first.value.topk(full).indices
    second = maximise(
        objective,
        problems[top],
        plan,
        seed=seed,
        memory=memory,
        points=points_of(first.points, top, len(problems)) if go_on else None,
        progress=stretch_of(progress, before, total, total),
    )
    better = exceeds(second.value, first.value[top])
    x = first.x.clone()
    value = first.value.clone()
    x[top[better]] = second.x[better]
    value[top[better]] = second.value[better]
    # The others had no chance of being the largest: whether they converged does not matter.
    settled, agreed = torch.ones_like(first.settled), torch.ones_like(first.agreed)
    settled[top], agreed[top] = second.settled, second.agreed
    return Found(problems, x, value, settled, agreed, first.points)


def _valued(found: Found, objective: Objective) -> Found:
    """The same places in the objective's own arithmetic, with its values there."""
    radius = objective.radius(found.problems).to(objective.dtype)[:, None]
    x = into_ball(found.x.to(objective.dtype), radius)
    parts = zip(found.problems.split(64), x.split(64), strict=True)
    value = torch.cat([objective.value(*part) for part in parts])
    return replace(found, x=x, value=value)
