"""Many problems of which the largest counts: a light search ranks them, the full one follows for
the first few.
"""

from __future__ import annotations

import torch

from wordsway.optimize.driver import Found, maximise
from wordsway.optimize.objective import Objective
from wordsway.optimize.plan import Plan
from wordsway.progress import Progress, silent, stretch_of

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
    seed: int,
    memory: int,
    progress: Progress = silent,
) -> Found:
    """The best x of every problem, found by a lighter plan where it is not among the largest."""
    searches = stages(plan, len(problems), kept=bool(objective.bytes_kept))
    if len(searches) == 1:
        return maximise(objective, problems, plan, seed=seed, memory=memory, progress=progress)
    (light, _), (_, full) = searches
    ranking = len(problems) * light.evaluations
    total = ranking + full * plan.evaluations
    first = maximise(
        objective,
        problems,
        light,
        seed=seed,
        memory=memory,
        progress=stretch_of(progress, 0, ranking, total),
    )
    top = first.value.topk(full).indices
    second = maximise(
        objective,
        problems[top],
        plan,
        seed=seed,
        memory=memory,
        progress=stretch_of(progress, ranking, total, total),
    )
    better = second.value > first.value[top]
    x = first.x.clone()
    value = first.value.clone()
    x[top[better]] = second.x[better]
    value[top[better]] = second.value[better]
    # The others had no chance of being the largest: whether they settled does not matter.
    settled = torch.ones_like(first.settled)
    settled[top] = second.settled
    return Found(problems, x, value, settled)
