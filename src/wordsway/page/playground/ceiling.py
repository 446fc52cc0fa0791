"""The ceiling that the page computes: the certificate of `attention.certificates.one_matrix` for
the first word, moves priced by their squares alone, with multipliers tuned step for step as in
``assets/ceiling.js``, in double precision.

Every choice of multipliers gives a valid bound, so `ws.sensitivity` is free to tune in another way,
and to price fourth powers, too; numbers that two programs should agree on need one fixed procedure.
"""

from __future__ import annotations

import math
from dataclasses import replace

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import (
    Multipliers,
    cells,
    first_multipliers,
    largest,
    tune,
    tune_where_it_matters,
)
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, problem_of
from wordsway.maps.attention.certificates.problem import Problem
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import SAFE

#: How far, and in how many steps, log λ and log κ are looked for in turn.
SCHEDULE = ((4.5, 10), (1.5, 7))


def ceiling(layer: Layer, bounds: RowBounds, radius: float) -> float:
    """A bound of S over ‖Δ‖ ≤ radius for the first word; the layer must be in float64."""
    total = math.inf
    tuned: Multipliers | None = None
    for split in filter(None, bounds.young_parameters):
        found = problem_of(layer, bounds, 0, radius, split, WrapperContext(layer.norm))
        problem = replace(found, prices=replace(found.prices, gram=None))
        for tilt in bounds.reweightings:
            value, tuned = _minimised(problem.reweighted(tilt) if tilt else problem, radius, tuned)
            if not value >= total:
                total = value
    moved = math.sqrt(total * SAFE) if math.isfinite(total) else math.inf
    return min(moved, bounds.at_most(layer, 0, radius)) / layer.norm


def _minimised(problem: Problem, r: float, warm: Multipliers | None) -> tuple[float, Multipliers]:
    """The largest bound over the cells of β ∈ [−r, r], the worst of them halved, and the
    multipliers; those of another problem serve as a start.
    """
    lo, hi = cells(r, problem.rows.p)
    few = problem.coarse()
    if warm is None:
        tuned = tune(few, r, lo, hi, first_multipliers(problem, r), SCHEDULE)
    else:
        tuned = tune_where_it_matters(few, problem, r, lo, hi, warm)
    return largest(problem, r, tuned), tuned
