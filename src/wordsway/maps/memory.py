"""How many points a search evaluates at once: its working memory follows from it."""

from __future__ import annotations

from wordsway.optimize import sampling
from wordsway.optimize.driver import stages
from wordsway.optimize.plan import Plan


def searches(plan: Plan, effort: float, rows: int, *, kept: bool = False) -> list[tuple[Plan, int]]:
    """The plans that a measurement follows, each with its number of rows: the full plan for the
    first row, and for the others with a lighter one that ranks them where they are many.
    """
    full = plan.scaled(effort)
    return [(full, 1), *(stages(full, rows - 1, kept=kept) if rows > 1 else [])]


def points_at_once(plan: Plan, effort: float, rows: int, d: int) -> int:
    """Points evaluated at once, at most, over ``rows`` rows in ``d`` dimensions.

    >>> points_at_once(Plan(starts=4, explore=0, keep=4, steps=9, rounds=0), 1.0, 3, 10_000)
    8
    """
    sampled = sampling.POINTS if plan.scatter and d <= sampling.DIMENSIONS else 0
    return max(
        count * max(sampled, *(stage.abreast * points for points, _ in stage.phases))
        for stage, count in searches(plan, effort, rows)
    )
