"""Certificates for attention with one matrix: rows can only be attracted at a price.

With m_j the mean of φ_j over the keys but i, y_j = x_i − m_j and the share p_j on key i,

    φ_j(X^i(Δ)) − φ_j(X) = (p_j − p⁰_j) y_j + p_jΔ,        p_j = p_j(a_j),  a = AΔ,  A_j = Wᵀx_j/√d,

and with Δ = βe + Δ⊥ along e = (x_i − m̄)/‖·‖, for all λ, κ > 0,

    Σ_{j≠i} ‖row j‖² ≤ (r² − β²)(λ‖A⊥‖² + κ‖Y⊥‖²) + Σ_{j≠i} max_a [poly_j(a) − λ(a − βA_j·e)²],
    poly_j = (p−p⁰)²‖y‖² + 2p(p−p⁰)β y·e + p²r² + p²(p−p⁰)²/κ.

docs/statements/attention.md has the proof (Theorem 4), with weights of the rows, fourth powers, and
what happens between grid points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import (
    Multipliers,
    lower_with_fourth_powers,
    minimise_duals,
)
from wordsway.maps.attention.certificates.problem import (
    GridRows,
    Prices,
    Problem,
    Tail,
    across_error,
    neighbour,
    quartic_price,
)
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import SAFE, Certificate, U, opnorm_upper_bound, relative

#: Fourth powers are priced where the text has more than this many rows for each dimension.
QUARTIC_FROM = 0.5
#: How strongly rows that are hard to win over are discounted there, and beyond STEEP_FROM·d² of
#: them.
QUARTIC_TILT, STEEP_TILT, STEEP_FROM = 1.0, 1.2, 1 / 16


@dataclass(frozen=True)
class WrapperContext:
    """What a wrapper makes of the rows, over norm²; with ``residual``, Δ is added to w_i.
    ``norm`` is a lower bound of the norm in exact arithmetic.

    Where rows v_j (``before``, n×D, off by ``errors``) are normalised, row j counts at most
    min(4, 4‖w_j‖²/β_j²)·D with the β_j of ``sizes`` (n,), from below, and half of it in all but
    r²‖V_g‖² rows: Theorem 13 of docs/statements/wrappers.md.
    """

    norm: float
    residual: bool = False
    before: torch.Tensor | None = None
    sizes: torch.Tensor | None = None
    errors: torch.Tensor | None = None

    def normed(
        self, problem: Problem, y: torch.Tensor, rows: torch.Tensor, i: int, omega: torch.Tensor
    ) -> Problem:
        """The problem of normalised ``rows``, a mask, with y (m, D) and errors ``omega`` (m,)."""
        if self.before is None or self.sizes is None or self.errors is None:
            return problem
        width, v, error = self.before.shape[1], self.before[rows], self.errors[rows]
        lengths, far = v.norm(dim=1), y.norm(dim=1)
        g = (v * v).sum(1) - (v * y).sum(1).abs()
        g = g - (lengths + error) * (4 * (width + 8) * U * (lengths + far) + 2 * error + omega)
        g = g - error * far
        able = g > 0
        steep = v[able] / g[able][:, None]
        off = float((error[able] / g[able]).norm()) + 4 * U * float(steep.norm())
        turned = (problem.radius * opnorm_upper_bound(steep, off)) ** 2 * SAFE
        count = min(int(turned), int(able.sum())) + int((~able).sum())
        half = count <= len(v) // 4
        most = (2.0 if half else 4.0) * width * SAFE
        scale = most / self.sizes[rows][:, None] ** 2
        own = 4.0 * width * SAFE
        extra = most * count if half else 0.0
        return replace(
            problem,
            rows=problem.rows.times(scale).limited(most),
            own=replace(problem.own, scale=own / float(self.sizes[i]) ** 2, ceiling=own),
            ceiling=most,
            extra=extra,
        )


def certify(
    layer: Layer,
    bounds: RowBounds,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
    around: WrapperContext | None = None,
) -> Certificate:
    """An exact certificate for each row; the layer must be in float64."""
    around = around or WrapperContext(layer.norm_below)
    upper: list[float] = []
    for i, solved in zip(rows, solve(layer, bounds, rows, radius, around), strict=True):
        total = solved.total
        last_resort = bounds.at_most(layer, i, radius) + (radius if around.residual else 0.0)
        if around.before is not None and around.sizes is not None:
            each = 2 * math.sqrt(around.before.shape[1]) * SAFE
            steepest = each / float(around.sizes.min())
            last_resort = min(last_resort * steepest, each * math.sqrt(len(layer.X)))
        found = math.sqrt(total * SAFE) if math.isfinite(total) else math.inf
        off = rounding(layer, i, radius, around)
        upper.append(relative((min(found, last_resort) + off) * SAFE, around.norm))
        progress("certifying", len(upper), len(rows))
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


class SolvedDual(NamedTuple):
    """The dual of one row, and log λ, log κ and perhaps log ν in each coarse cell."""

    total: float
    problem: Problem
    multipliers: Sequence[torch.Tensor]


def solve(
    layer: Layer, bounds: RowBounds, rows: Sequence[int], radius: float, around: WrapperContext
) -> Iterator[SolvedDual]:
    """The dual of each row, with tuned multipliers."""
    tuned: Multipliers | None = None
    choices = list(product(bounds.young_parameters, bounds.reweightings))
    for i in rows:
        # The first row tries every way to weight the others; later ones follow the best of them.
        problems = {
            young: problem_of(layer, bounds, i, radius, young, around)
            for young in {young for young, _ in choices}
        }
        reweighted = [
            problems[young].reweighted(power) if power else problems[young]
            for young, power in choices
        ]
        total, tuned, best = minimise_duals(reweighted, radius, tuned)
        chosen, found = choices[best], SolvedDual(total, reweighted[best], tuned)
        choices = [chosen]
        if len(layer.X) > QUARTIC_FROM * layer.X.shape[1]:
            weighted = problems[chosen[0]]
            if len(bounds.reweightings) > 1:
                n, d = layer.X.shape
                steep = n > STEEP_FROM * d * d
                weighted = weighted.reweighted(STEEP_TILT if steep else QUARTIC_TILT)
            prices = weighted.prices
            fourth = quartic_price(prices.across, prices.error)
            priced = replace(weighted, prices=replace(prices, fourth=fourth))
            lower, with_fourth = lower_with_fourth_powers(priced, radius, tuned)
            found = SolvedDual(lower, priced, with_fourth) if lower < total else found
        yield found


def rounding(layer: Layer, i: int, radius: float, around: WrapperContext) -> float:
    """‖(omega_j)‖ with the error f_i of row i, in the units of the problem."""
    rows = layer.rows_attending_to(i)
    far = layer.X[i].norm() + layer.errors.longest
    y = far.expand(int(rows.sum())) if layer.scores.normalised else layer.X[i].norm()
    errors = layer.errors.omega(layer.scores, i, rows, y, radius)
    own = layer.errors.rows[i] + 2 * layer.text_error + 16 * U * layer.errors.longest
    if not layer.scores.normalised:
        own = own + 2 * len(layer.X) * layer.text_error
    if around.before is not None and around.sizes is not None:
        steep = 2 * math.sqrt(around.before.shape[1])
        errors, own = steep * errors / around.sizes[rows], steep * own / around.sizes[i]
    return math.hypot(float(errors.norm()), float(own)) * SAFE


def problem_of(
    layer: Layer,
    bounds: RowBounds,
    i: int,
    radius: float,
    young: float,
    around: WrapperContext,
    only: torch.Tensor | None = None,
) -> Problem:
    """The dual's problem for row i, with the rows j ≠ i that attend to it (or ``only`` those)."""
    X = layer.X
    rows = layer.rows_attending_to(i) if only is None else only
    x = X[i]
    count = int(rows.sum())
    y = layer.directions(i, rows)
    e = y.mean(0) if count else x
    e = e / e.norm().clamp_min(torch.finfo(e.dtype).tiny)
    A = layer.keys[rows]
    ae, ye = A @ e, y @ e
    blur = layer.errors.blur(rows, layer.pairs[0][i, rows], A, radius)[:, None]
    curve = bounds.curve(layer, rows, i, radius, blur)
    p, width, bend, trivial = curve.p, curve.step, curve.bend, curve.trivial
    p0, y2 = layer.P[rows, i][:, None], (y * y).sum(1, keepdim=True)
    cross = p * (p - p0)
    trivial_bound = (y2.sqrt() + radius) ** 2
    # The largest share around each grid point.
    top = torch.maximum(torch.maximum(p, neighbour(p, -1)), p0)
    grid = GridRows(
        p=p,
        a=curve.a,
        square=torch.where(trivial, trivial_bound, (p - p0) ** 2 * y2 + p * p * radius * radius),
        linear=torch.where(trivial, 0.0, cross * ye[:, None]),
        quartic=torch.where(trivial, 0.0, cross**2),
        width2=width**2 / 8,
        price_width2=width**2 / 8,
        slope=top * (2 * y2 + 4 * radius * ye.abs()[:, None] + 2 * radius * radius),
        bend=bend,
        kappa_bend=4 * top * bend + p0**2 * curve.rise,
        y2=y2,
        trivial_bound=trivial_bound,
        ae=ae[:, None],
        blur=blur,
        low=bounds.below(curve, p0, y2, trivial_bound),
        high=Tail.where(curve.beyond, trivial_bound, torch.ones_like(p0)),
    )
    across, y_across = A - torch.outer(ae, e), y - torch.outer(ye, e)
    error = across_error(A)
    norms = opnorm_upper_bound(across, error), opnorm_upper_bound(y_across, across_error(y))
    prices = Prices(across, error, *norms)
    own = replace(bounds.own_row(layer, i, radius, young), axis=e)
    own = own.with_delta(radius) if around.residual else own
    problem, own_keys = Problem(radius, grid, prices, own), None
    if only is None:
        own_keys = bounds.own_keys(layer, i, radius, e, young, own.delta_multiplicity)
    omega = layer.errors.omega(layer.scores, i, rows, y.norm(dim=1), radius)
    problem = around.normed(problem, y, rows, i, omega)
    if own_keys is None:
        return problem
    if problem.ceiling < problem.own.ceiling:
        # No single key of row i need respect the other rows' ceiling: row i counts all it may.
        return replace(problem, own=replace(problem.own, hull=math.inf, cap=math.inf))
    # Their sum is part of row i, and counts as row i does.
    counted = replace(own_keys, rows=own_keys.rows.times(problem.own.scale))
    return problem.with_rows(counted)
