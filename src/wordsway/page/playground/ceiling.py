"""The ceiling that the page computes: the certificate of `wordsway.maps.attention.certificate` for
the first word, moves priced by their squares alone, with multipliers tuned step for step as in
``assets/ceiling.js``, in double precision.

Every choice of multipliers gives a valid bound, so `ws.sensitivity` is free to tune in another way,
and to price fourth powers, too; what two programs should agree on needs one way of its own.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch

from wordsway.maps.attention.bounds import RowBounds
from wordsway.maps.attention.certificate import SAFE, Around, problem_of
from wordsway.maps.attention.dual import (
    COARSE,
    SPLITS,
    Multipliers,
    _bound,
    _golden,
    _interpolate,
    _others,
)
from wordsway.maps.attention.layer import Layer
from wordsway.maps.attention.problem import Problem

#: How far, and in how many steps, log λ and log κ are looked for in turn.
SCHEDULE = ((4.5, 10), (1.5, 7))


def ceiling(layer: Layer, bounds: RowBounds, radius: float) -> float:
    """A bound of S over ‖Δ‖ ≤ radius for the first word; the layer must be in float64."""
    total = math.inf
    tuned: Multipliers | None = None
    for split in bounds.splits:
        found = problem_of(layer, bounds, 0, radius, split, Around(layer.norm))
        problem = replace(found, gram=None)
        for tilt in bounds.tilts:
            value, tuned = _minimised(problem.tilted(tilt) if tilt else problem, radius, tuned)
            if not value >= total:
                total = value
    moved = math.sqrt(total * SAFE) if math.isfinite(total) else math.inf
    return min(moved, bounds.at_most(layer, 0, radius)) / layer.norm


def _minimised(problem: Problem, r: float, warm: Multipliers | None) -> tuple[float, Multipliers]:
    """The largest bound over the cells of β ∈ [−r, r], the worst of them halved, and the
    multipliers; those of another problem serve as a start.
    """
    edges = torch.linspace(-r, r, COARSE + 1, dtype=torch.float64)
    lo, hi = edges[:-1], edges[1:]
    grid, few = (lo + hi) / 2, problem.coarse()
    if warm is None:
        rows = max(1, len(problem.y2))
        size = math.log((r * r + float(problem.y2.sum()) / rows) / 20 + 1e-30)
        turn = 0.5 * math.log(len(problem.p) / 5 / (r * r * problem.norm_y**2 + 1e-30) + 1e-30)
        log_lambda, log_kappa = torch.full_like(lo, size), torch.full_like(lo, turn)
        for reach, steps in SCHEDULE:
            kappa = log_kappa
            log_lambda = _golden(
                lambda at, kappa=kappa: _others(few, r, lo, hi, at, kappa),  # type: ignore[misc]
                log_lambda,
                reach,
                steps,
            )
            lam = log_lambda
            log_kappa = _golden(
                lambda at, lam=lam: _others(few, r, lo, hi, lam, at),  # type: ignore[misc]
                log_kappa,
                reach,
                steps,
            )
    else:
        log_lambda, log_kappa = warm
        value = _bound(problem, r, lo, hi, *warm)
        matter = value >= 0.8 * value.max()
        a, b, kappa = lo[matter], hi[matter], log_kappa[matter]
        best = _golden(lambda at: _others(few, r, a, b, at, kappa), log_lambda[matter], 0.5, 3)
        log_lambda = log_lambda.masked_scatter(matter, best)
    value = _bound(problem, r, lo, hi, log_lambda, log_kappa)
    for _ in range(SPLITS):
        worst = value >= value.max() * 0.95
        middle = (lo[worst] + hi[worst]) / 2
        left, right = torch.cat([lo[worst], middle]), torch.cat([middle, hi[worst]])
        at = [_interpolate((left + right) / 2, grid, part) for part in (log_lambda, log_kappa)]
        fresh = torch.minimum(_bound(problem, r, left, right, *at), value[worst].repeat(2))
        lo, hi = torch.cat([lo[~worst], left]), torch.cat([hi[~worst], right])
        value = torch.cat([value[~worst], fresh])
    return float(value.max()), (log_lambda, log_kappa)
