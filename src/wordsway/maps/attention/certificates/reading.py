"""Certificates for read-outs of attention, one row or the mean of all: Theorems 15 and 16 of
docs/statements/wrappers.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import Multipliers, minimise_duals
from wordsway.maps.attention.certificates.one_matrix import (
    SolvedDual,
    WrapperContext,
    problem_of,
    rounding,
)
from wordsway.maps.attention.certificates.problem import Problem, Tail
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import SAFE, Certificate, U, opnorm_upper_bound

#: Cells of β for one row.
CELLS = 512


def certify_row(
    layer: Layer, bounds: RowBounds, read: int, rows: Sequence[int], radius: float
) -> Certificate:
    """How far a Δ at each of the ``rows`` moves row ``read`` of φ at most."""
    upper = []
    around = WrapperContext(layer.norm_below)
    for i in rows:
        only = torch.arange(len(layer.X), device=layer.X.device) == read
        if read == i:
            found = _own_row(layer, bounds, i, radius)
        elif not bool(layer.rows_attending_to(i)[read]):
            upper.append(0.0)
            continue
        else:
            problem = problem_of(layer, bounds, i, radius, 1.0, around, only)
            found = _one_row(problem, radius)
        found = min(found, bounds.at_most(layer, i, radius))
        upper.append((found + rounding(layer, i, radius, around)) * SAFE)
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


def _own_row(layer: Layer, bounds: RowBounds, i: int, radius: float) -> float:
    """How far row i itself moves, by its hull."""
    own = bounds.own_row(layer, i, radius, 1.0)
    if own.far is None:
        return math.inf
    reached = (float(own.far.norm()) + radius) ** 2
    return math.sqrt(min(own.cap, max(own.hull, reached)) * SAFE)


def _one_row(problem: Problem, r: float) -> float:
    """The largest move of the problem's only row, over cells of β and the grid in a."""
    q, prices = problem.rows, problem.prices
    edges = torch.linspace(-r, r, CELLS + 1, dtype=torch.float64, device=q.p.device)
    lo, hi = edges[:-1, None], edges[1:, None]
    smallest = torch.where(lo * hi < 0, 0.0, torch.minimum(lo.abs(), hi.abs()))
    reach = prices.norm_a * (r * r - smallest**2).clamp_min(0).sqrt()
    near, far = torch.minimum(lo * q.ae, hi * q.ae), torch.maximum(lo * q.ae, hi * q.ae)
    near, far = near - q.blur, far + q.blur
    distance = torch.maximum(q.a - far, near - q.a).clamp_min(0)  # (cells, grid)
    # A grid point counts where a reachable a lies within a step of it: its chord does, then.
    step = (8 * q.width2).sqrt()
    within = distance <= (reach + step) * SAFE
    linear = 2 * torch.maximum(lo * q.linear, hi * q.linear)
    # Of products of length d, and of what is left of y across e.
    made = 8 * (32 + prices.across.shape[1]) * U * q.trivial_bound
    value = problem.raised + linear + made
    found = torch.where(within, value, -math.inf).amax(1)
    low = torch.where((near - q.a[:, :1])[:, 0] <= reach[:, 0] * SAFE, q.low.value[0], -math.inf)
    high = torch.where((q.a[:, -1:] - far)[:, 0] <= reach[:, 0] * SAFE, q.high.value[0], -math.inf)
    best = torch.maximum(found, torch.maximum(low, high)).clamp_max(float(q.trivial_bound[0, 0]))
    # The e-component is exact, so that y has no other one: no κ-term.
    return math.sqrt(max(0.0, float(best.max())) * SAFE)


def certify_mean(
    layer: Layer, bounds: RowBounds, rows: Sequence[int], radius: float, residual: bool
) -> Certificate:
    """How far a Δ at each row moves the sum of all rows at most; for normalised shares."""
    upper = []
    around = WrapperContext(layer.norm_below, residual)
    for i, solved in zip(rows, solve_mean(layer, bounds, rows, radius, around), strict=True):
        total = solved.total
        n = len(layer.X)
        last_resort = math.sqrt(n) * (bounds.at_most(layer, i, radius) + residual * radius)
        found = total * SAFE if math.isfinite(total) else math.inf
        off = math.sqrt(n) * rounding(layer, i, radius, around)
        upper.append((min(found, last_resort) + off) * SAFE)
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


def solve_mean(
    layer: Layer, bounds: RowBounds, rows: Sequence[int], radius: float, around: WrapperContext
) -> Iterator[SolvedDual]:
    """The dual of each row with the linear objective, and tuned multipliers."""
    tuned: Multipliers | None = None
    for i in rows:
        problem = problem_of(layer, bounds, i, radius, 1.0, around)
        start, linear = tuned, _linear(layer, i, radius, problem)
        found: SolvedDual | None = None
        for tilt in bounds.reweightings:
            reweighted = linear.reweighted(tilt) if tilt else linear
            value, start, _ = minimise_duals([reweighted], radius, start)
            if found is None or not value >= found.total:
                found, tuned = SolvedDual(value, reweighted, start), start
        assert found is not None
        yield found


def _linear(layer: Layer, i: int, r: float, q: Problem) -> Problem:
    """The dual's problem with p in place of a row's square, and what follows for the sum."""
    rows = layer.rows_attending_to(i)  # the others do not move
    means = layer.scores.without(layer.s[rows], i) @ layer.X
    y = layer.X[i] - means
    long = float(y.mean(0).norm()) if len(y) else 0.0
    spread = 0.0
    if len(y):
        centring = 4 * (len(y) + 8) * U * float(means.norm())
        spread = opnorm_upper_bound(means - means.mean(0), centring)
    before, before2 = float(layer.P[rows, i].sum()), float((layer.P[rows, i] ** 2).sum())

    def finish(
        others: torch.Tensor, own: torch.Tensor, lo: torch.Tensor, hi: torch.Tensor
    ) -> torch.Tensor:
        most = others.clamp_min(0)
        moved = torch.full_like(most, (before * long) ** 2)  # at P = 0
        for end in (lo, hi):
            cross = 2 * most * (most - before) * end * long
            at = ((most - before) * long) ** 2 + cross + (most * r) ** 2
            moved = torch.maximum(moved, at)
        return moved.clamp_min(0).sqrt() + spread * (most + before2).sqrt() + own.sqrt()

    rows_of = q.rows
    none, one = torch.zeros_like(rows_of.y2), torch.ones_like(rows_of.y2)
    small = torch.maximum(rows_of.p[:, :1], layer.P[rows, i][:, None])
    linear = rows_of._replace(
        y2=one,
        trivial_bound=one,
        square=rows_of.p,
        linear=torch.zeros_like(rows_of.p),
        quartic=torch.zeros_like(rows_of.p),
        slope=torch.ones_like(rows_of.p),
        kappa_bend=torch.zeros_like(rows_of.p),
        low=Tail.where(rows_of.low.value > -math.inf, small, none),
        high=Tail.where(rows_of.high.value > -math.inf, one, none),
    )
    return replace(q, rows=linear, prices=replace(q.prices, norm_y=0.0), finish=finish)
