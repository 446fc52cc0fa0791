"""What a search costs, asked of its plan: how many points are evaluated, and how many at once."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.optimize import scatter
from wordsway.optimize.plan import Plan
from wordsway.optimize.ranking import stages

#: Share of the evaluations a plan allows that a search makes before its points stall.
TYPICAL = 0.6


@dataclass(frozen=True)
class Evaluations:
    """Points evaluated per row of the text over a whole search, and at most at once."""

    total: float
    at_once: int


def searches(
    own: Plan, plan: Plan | None, effort: float, rows: int, *, kept: bool = False
) -> list[tuple[Plan, int]]:
    """The plans that a measurement follows, each with its number of rows: the caller's ``plan`` for
    all of them, or the map's ``own`` for the first, and for the others with a lighter one that
    ranks them where they are many.
    """
    if plan is not None:
        return [(plan, rows)]
    full = own.scaled(effort)
    return [(full, 1), *(stages(full, rows - 1, kept=kept) if rows > 1 else [])]


def evaluations(plan: Plan, d: int | None = None) -> Evaluations:
    """Points evaluated per searched row, with the random samples of low dimensions d.

    >>> evaluations(Plan(starts=4, explore=0, keep=4, steps=9, rounds=0))
    Evaluations(total=26.4, at_once=4)
    """
    sampled = plan.scatter and d is not None and d <= scatter.DIMENSIONS
    samples = scatter.POINTS + scatter.ROUNDS * scatter.TRIES if sampled else 0
    at_once = max(points for points, _ in plan.phases)
    return Evaluations(
        TYPICAL * plan.evaluations + samples, max(at_once, scatter.POINTS if sampled else 0)
    )
