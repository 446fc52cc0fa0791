"""What a search of attention costs."""

from __future__ import annotations

from typing import Any

from wordsway.maps.attention.view import plan_for
from wordsway.maps.cost import evaluations
from wordsway.maps.kind import Cost
from wordsway.optimize.plan import Plan


def attention_cost(
    n: int,
    d: int,
    rows: int,
    *,
    plan: Plan | None = None,
    effort: float = 1.0,
    certificate: bool = True,
    memory: int = 2**31,
    **options: Any,
) -> Cost:
    """A search of ``rows`` rows: 2(8nd + d²) operations per point and its gradient."""
    looked_at = evaluations(plan or plan_for(n, d), effort)
    per_point = 16 * n * d + 4 * d * d
    work = 8.0 * n * n * d + 6.0 * n * d * d + rows * looked_at.total * per_point
    work += 2e4 * rows * n * certificate
    points = looked_at.at_once * rows * (16 * n + 8 * d) * 8
    held = 8 * (3 * d * d + 4 * n * d + 12 * n * n) + certificate * 60 * n * 56 * 8
    return Cost(min(points, memory) + held, work)
