"""Certificates for attention: rows can only be attracted at a price.

Fix row i of the text. With m_j the mean of φ_j over the *other* keys, p_j its share on key i and
y_j = x_i − m_j,

    φ_j(X^i(Δ)) − φ_j(X) = (p_j − p⁰_j) y_j + p_jΔ,        p_j = p_j(a_j),  a = AΔ,  A_j = Wᵀx_j/√d.

Split Δ = βe + Δ⊥ along e = (x_i − m̄)/‖·‖, and write A, Y (rows y_j) without their e-component as
A⊥, Y⊥. With ‖Δ‖ = r,

    ‖row j‖² = (p−p⁰)²‖y‖² + 2p(p−p⁰)(β y·e + η_j) + p²r²,     a_j = βA_j·e + (A⊥Δ⊥)_j,     η_j =
    (Y⊥Δ⊥)_j.

For any λ, κ > 0, Σ_j λ(A⊥Δ⊥)_j² + κη_j² ≤ (r² − β²)(λ‖A⊥‖² + κ‖Y⊥‖²) is the price, so Lagrangian
duality makes the rows separate: with 2p(p−p⁰)η − κη² ≤ p²(p−p⁰)²/κ,

    Σ_{j≠i} ‖row j‖² ≤ (r² − β²)(λ‖A⊥‖² + κ‖Y⊥‖²)
                       + Σ_{j≠i} max_a [(p−p⁰)²‖y‖² + 2p(p−p⁰)β y·e + p²r² + p²(p−p⁰)²/κ − λ(a −
                       βA_j·e)²].

Every λ and κ give a valid bound; they are tuned for each cell of a grid over β. So does every
positive weight of the rows, with A_j and a_j multiplied by it: softmax rows that need a longer move
to be won over get a smaller one, which where rows are many compared with d is worth a tenth of the
bound, and nearly a fifth where fourth powers are priced (`wordsway.maps.attention.quartic`).
Between grid points nothing is left out: β enters linearly or through distances to an interval, and
in a the function f obeys f″ ≥ −M, so that it exceeds its chord by at most M·width²/8.
Row i lies in the hull of the text: ‖row i‖ ≤ max(‖x_i + Δ − φ_i‖, max_l ‖x_l − φ_i‖), and for ReLU
attention `wordsway.maps.attention.silence` says how far row i can turn to itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch

from wordsway.maps.attention.bounds import RowBounds
from wordsway.maps.attention.curves import Tail, neighbour
from wordsway.maps.attention.dual import Multipliers, lower_with_fourth_powers, minimise_duals
from wordsway.maps.attention.layer import Layer
from wordsway.maps.attention.problem import Problem
from wordsway.maps.attention.quartic import quartic_price
from wordsway.maps.certificate import SAFE, Certificate, norm_above, norm_near
from wordsway.progress import Progress, silent

#: Fourth powers are priced where the text has more than this many rows for each dimension.
QUARTIC_FROM = 0.5
#: How strongly rows that are hard to win over are discounted there, and beyond STEEP_FROM·d² of
#: them.
QUARTIC_TILT, STEEP_TILT, STEEP_FROM = 1.0, 1.2, 1 / 16


@dataclass(frozen=True)
class Around:
    """What a wrapper makes of the rows, over norm²; ``residual`` says that w_i has Δ added to it.

    Where rows v_j (``before``, n×D) are normalised, row j counts at most min(4, 4‖w_j‖²/β_j²)·D
    with the β_j of ``sizes`` (n,). A row that does not turn by more than a right angle counts half
    of either, and few rows can: (v_j + w_j)·v_j < 0 takes v_j·Δ ≤ −g_j, g_j = ‖v_j‖² − |v_j·y_j|,
    and Σ_j (v_j·Δ/g_j)² ≤ r²‖V_g‖² with the rows v_j/g_j of V_g.
    """

    norm: float
    residual: bool = False
    before: torch.Tensor | None = None
    sizes: torch.Tensor | None = None

    def normed(self, problem: Problem, y: torch.Tensor, rows: torch.Tensor, i: int) -> Problem:
        """The problem of normalised rows; ``y`` (n−1, D) are those of ``rows``, a mask."""
        if self.before is None or self.sizes is None:
            return problem
        width, v = self.before.shape[1], self.before[rows]
        g = (v * v).sum(1) - (v * y).sum(1).abs()
        able = g > 0
        turned = (problem.radius * norm_above(v[able] / g[able][:, None])) ** 2 * SAFE
        count = min(int(turned), int(able.sum())) + int((~able).sum())
        half = count <= len(v) // 4
        most = (2.0 if half else 4.0) * width * SAFE
        scale = most / self.sizes[rows][:, None] ** 2
        own = 4.0 * width * SAFE
        extra = most * count if half else 0.0
        return problem.scaled(scale, most, own / float(self.sizes[i]) ** 2, own, extra)


def certify(
    layer: Layer,
    bounds: RowBounds,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
    around: Around | None = None,
) -> Certificate:
    """An exact certificate for each row; the layer must be in float64."""
    around = around or Around(layer.norm)
    tuned: Multipliers | None = None
    choices = list(product(bounds.splits, bounds.tilts))
    upper: list[float] = []
    for i in rows:
        # The first row tries every way to weight the others; later ones follow the best of them.
        splits = {split for split, _ in choices}
        problems = {split: problem_of(layer, bounds, i, radius, split, around) for split in splits}
        tilted = [
            problems[split].tilted(tilt) if tilt else problems[split] for split, tilt in choices
        ]
        total, tuned, best = minimise_duals(tilted, radius, tuned)
        chosen = choices[best]
        choices = [chosen]
        if len(layer.X) > QUARTIC_FROM * layer.X.shape[1]:
            weighted = problems[chosen[0]]
            if len(bounds.tilts) > 1:
                n, d = layer.X.shape
                steep = n > STEEP_FROM * d * d
                weighted = weighted.tilted(STEEP_TILT if steep else QUARTIC_TILT)
            priced = replace(weighted, quartic_price=quartic_price(weighted.across))
            total = min(total, lower_with_fourth_powers(priced, radius, tuned))
        last_resort = bounds.at_most(layer, i, radius) + (radius if around.residual else 0.0)
        if around.before is not None and around.sizes is not None:
            each = 2 * math.sqrt(around.before.shape[1]) * SAFE
            steepest = each / float(around.sizes.min())
            last_resort = min(last_resort * steepest, each * math.sqrt(len(layer.X)))
        found = math.sqrt(total * SAFE) if math.isfinite(total) else math.inf
        upper.append(min(found, last_resort) / around.norm)
        progress("certifying", len(upper), len(rows))
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


def problem_of(
    layer: Layer,
    bounds: RowBounds,
    i: int,
    radius: float,
    split: float,
    around: Around,
    only: torch.Tensor | None = None,
) -> Problem:
    """All that the dual needs to know of row i, and of the rows j ≠ i that see it (or ``only`` a
    mask of them).
    """
    X = layer.X
    rows = layer.seers(i) if only is None else only
    x = X[i]
    count = int(rows.sum())
    y = layer.directions(i, rows)
    e = y.mean(0) if count else x
    e = e / e.norm().clamp_min(torch.finfo(e.dtype).tiny)
    A = layer.keys[rows]
    ae, ye = A @ e, y @ e
    curve = bounds.curve(layer, rows, i, radius)
    p, width, bend, trivial = curve.p, curve.step, curve.bend, curve.trivial
    across = A - torch.outer(ae, e)
    gram = across @ across.T if count <= X.shape[1] else None
    p0, y2 = layer.P[rows, i][:, None], (y * y).sum(1, keepdim=True)
    cross = p * (p - p0)
    most = (y2.sqrt() + radius) ** 2
    # The largest share around each grid point.
    top = torch.maximum(torch.maximum(p, neighbour(p, -1)), p0)
    own = bounds.own_row(layer, i, radius, split)
    if around.residual:
        own = own.with_delta(radius)
    far = torch.zeros_like(x) if own.far is None else own.far
    along = float(far @ e)
    problem = Problem(
        radius=radius,
        p=p,
        a=curve.a,
        y2=y2,
        most=most,
        ae=ae[:, None],
        across=across,
        square=torch.where(trivial, most, (p - p0) ** 2 * y2 + p * p * radius * radius),
        linear=torch.where(trivial, 0.0, cross * ye[:, None]),
        quartic=torch.where(trivial, 0.0, cross**2),
        width2=width**2 / 8,
        price_width2=width**2 / 8,
        slope=top * (2 * y2 + 4 * radius * ye.abs()[:, None] + 2 * radius * radius),
        bend=bend,
        kappa_bend=4 * top * bend + p0**2 * curve.rise,
        low=bounds.below(curve, p0, y2, most),
        high=Tail.where(curve.beyond, most, torch.ones_like(p0)),
        gram=gram,
        norm_a=norm_above(across) if gram is None else norm_near(gram, X.shape[1]),
        norm_y=norm_above(y - torch.outer(ye, e))
        if gram is None
        else norm_near(_gram_across(y, ye, e), X.shape[1]),
        own_far=(float(far @ far), along, float((far - along * e).norm())),
        own_hull=own.hull,
        own_cap=own.cap,
        own_times=(2.0 if around.residual else 1.0) if own.far is not None else 0.0,
    )
    times = 2.0 if around.residual else 1.0
    own_keys = bounds.own_keys(layer, i, radius, e, split, times) if only is None else None
    problem = around.normed(problem, y, rows, i)
    if own_keys is None:
        return problem
    if problem.ceiling < problem.own_ceiling:
        # No single key of row i need respect the other rows' ceiling: row i counts all it may.
        return replace(problem, own_hull=math.inf, own_cap=math.inf)
    # Their sum is part of row i, and counts as row i does.
    return problem.with_rows(own_keys.times(problem.own_scale))


def _gram_across(y: torch.Tensor, ye: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """The products of the rows of y without their e-components."""
    across = y - torch.outer(ye, e)
    return across @ across.T
