"""What a search costs, counted from its plan: how many points are evaluated, how many at once."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.optimize.plan import Plan

#: Shares of the steps a search may take that it takes on average before its points stall.
TYPICAL_HALFWAY, TYPICAL_STEPS = 0.6, 0.5


@dataclass(frozen=True)
class Evaluations:
    """Points evaluated per row of the text over a whole search, and at most at once."""

    total: float
    at_once: int


def evaluations(plan: Plan, effort: float = 1.0) -> Evaluations:
    """Points evaluated per searched row."""
    plan = plan.scaled(effort)
    total = plan.starts * (2.0 + plan.explore)
    if plan.rounds:
        total += plan.children * plan.rounds * (1.0 + plan.explore)
        total += plan.keep * (1 + plan.rounds) * 12 * TYPICAL_HALFWAY
    total += max(1, plan.keep // 2) * plan.steps * TYPICAL_STEPS
    return Evaluations(total, max(plan.starts, plan.children))
