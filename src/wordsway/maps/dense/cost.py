"""What measuring RF and DRF costs: counted from the sizes and the plan, nothing is made."""

from __future__ import annotations

from typing import Any

from wordsway.core.cost import Cost
from wordsway.gaussian.dense import DENSE_BYTES
from wordsway.maps.cost import evaluations, searches
from wordsway.maps.dense.certificate import CELLS, LATER_CELLS, WEIGHTED_UP_TO
from wordsway.maps.dense.neurons import NODES
from wordsway.maps.dense.view import bytes_kept, bytes_per_point, plan_for
from wordsway.optimize.plan import Plan

#: Questions that one evaluation of a conjugate search asks a matrix: two trial steps and the point
#: itself forwards, its gradient backwards.
QUESTIONS = 4
#: Operations to draw a random number of a whole matrix, and on one neuron at one node of a
#: certificate's grid.
PER_DRAW, PER_NODE = 40, 60
#: To draw a number on demand, and with each number of a direction that is known already.
PER_NEW, PER_KNOWN = 26, 9


def dense_cost(
    n: int,
    d: int,
    rows: int,
    *,
    plan: Plan | None = None,
    effort: float = 1.0,
    certificate: bool = True,
    memory: int = 2**31,
    k: int | None = None,
    depth: int = 1,
    **options: Any,
) -> Cost:
    """What measuring ``rows`` rows takes; matrices beyond `DENSE_BYTES` are drawn on demand."""
    k = n * d if k is None else k
    weights = k * n * d + (depth - 1) * k * k
    asleep = k / 2  # those awake are two sums; in later layers the others are counted at nodes
    nodes = CELLS * asleep + (depth - 1) * LATER_CELLS * min(asleep, NODES)
    certified = certificate * PER_NODE * (rows * nodes + (depth - 1) * k)
    if weights * 8 > DENSE_BYTES:
        found = _on_demand(n, d, k, depth - 1, rows, plan, effort, memory)
    else:
        found = _dense(n, d, k, depth - 1, rows, plan, effort, memory, certificate)
    return Cost(found.bytes, found.work + certified)


def _dense(
    n: int,
    d: int,
    k: int,
    later: int,
    rows: int,
    plan: Plan | None,
    effort: float,
    memory: int,
    certificate: bool,
) -> Cost:
    """Per point a product with V_i and one with its transpose, and the same for later layers."""
    weights = k * n * d + later * k * k
    found = [
        (evaluations(stage, d), count)
        for stage, count in searches(plan_for(k, d, on_demand=False), plan, effort, rows)
    ]
    per_point = 4 * (k * d + later * k * k) + 20 * k * (later + 1)
    work = PER_DRAW * weights + per_point * sum(count * some.total for some, count in found)
    points = max(count * some.at_once for some, count in found) * bytes_per_point(k, 8)
    held = 8.0 * weights
    if certificate:  # the norm of V_i, weighted for each row, and of the later matrices
        width = k if k <= WEIGHTED_UP_TO else 0
        work += rows * (2 * k * d * d + 10 * min(k, d) ** 3 + later * 12 * width**3)
        work += later * 12 * k**3
        held += 24 * (k * d + later * k * k)
    return Cost(min(points, memory) + held, work)


def _on_demand(
    n: int,
    d: int,
    k: int,
    later: int,
    rows: int,
    plan: Plan | None,
    effort: float,
    memory: int,
) -> Cost:
    """Every question costs a new direction, and as many operations as are known already: of one row
    for the first layer, of all rows for the later ones.
    """
    own = plan_for(k, d, on_demand=True)
    found = searches(own, plan, effort, rows, kept=True)
    asked = sum(count * evaluations(stage).total for stage, count in found)
    known = sum(evaluations(stage).total for stage, _ in found)  # a ranking is gone on with
    questions = QUESTIONS * asked
    work = questions * (PER_NEW * k + PER_KNOWN * (k + d) * known)
    work += later * questions * (PER_NEW * k + PER_KNOWN * k * questions)
    kept = sum(count * stage.evaluations for stage, count in found) * bytes_kept(k, d, later, 8)
    return Cost(min(kept, memory) + 8 * k * (later + 1) * 30 + 8 * n * d * 4, work)
