"""Attention seen from one row: exact change and gradient at incremental cost.

With the moved rows of `attention.one_matrix.layer`, inner products replace the n×d changes
themselves:

    ‖t y + pΔ‖² = t²‖y‖² + 2tp y·Δ + p²‖Δ‖².
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import Around, certify
from wordsway.maps.attention.certificates.reading import certify_mean, certify_row
from wordsway.maps.attention.one_matrix.layer import Layer, Others
from wordsway.maps.attention.one_matrix.readout import AttentionReadout
from wordsway.maps.attention.one_matrix.rows import AttentionMoving
from wordsway.maps.base import Readout
from wordsway.maps.certificate import Certificate
from wordsway.maps.rows import Moving, RowView
from wordsway.optimize.plan import Plan

#: Below this many multiplications in one product of a search, a second thread does not pay.
SMALL = 4_000_000
#: Widths over which kinks are rounded, in units of a score.
WIDTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
#: suggest(layer, rows, count, radius, noise): up to ``count`` Δ of each row that are worth starting
#: from, (P, m, d); each row has its own noise.
Suggest = Callable[[Layer, Sequence[int], int, float, Sequence[torch.Generator]], torch.Tensor]
#: What S at each of the rows cannot exceed, where it is known without a dual problem:
#: certify(layer, rows, radius, progress).
Certify = Callable[[Layer, Sequence[int], float, Progress], Certificate]


def is_small(n: int, d: int) -> bool:
    """Whether a product of a search is too small for more than one thread."""
    return Plan().starts * (3 * n + d) * d < SMALL


def plan_for(n: int, d: int, *, kinks: bool = False) -> Plan:
    """How to search. Functions with ``kinks`` have their maxima on them, where gradients alone do
    not lead: a maximum is followed from a smooth function to the function itself. Up to n = d, a
    row can be silent to all others, and the smoothest function has the best maxima in the right
    order; beyond, rounding that much prefers wrong places, and more points are kept.
    """
    if kinks:
        plan = Plan("lbfgs", 24, 20, keep=5, steps=40, rounds=0, groups=3, widths=WIDTHS)
        return plan if n <= d else replace(plan, groups=4, starts=40, keep=8, widths=WIDTHS[2:])
    if is_small(n, d):
        return Plan("lbfgs", groups=3, starts=24, explore=20, keep=5, rounds=0)
    return Plan(groups=2, starts=16, keep=8, children=16)


def bytes_per_point(n: int, d: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return (16 * n + 8 * d) * itemsize


@final
class AttentionView(RowView):
    """The view of every kind of attention. Shapes: B pairs (i, Δ), n rows, d dimensions.
    ``text`` is the layer's without what positions add to it, where they do.
    """

    def __init__(
        self,
        layer: Layer,
        bounds: RowBounds | Certify,
        suggest: Suggest,
        text: torch.Tensor | None = None,
    ) -> None:
        self.X = layer.X if text is None else text
        self.layer = layer
        self.rows_before = layer.phi
        self.bounds = bounds
        self._suggest = suggest
        self.small = is_small(*layer.X.shape)
        self.plan = plan_for(*layer.X.shape, kinks=layer.scores.kinks)

    def change(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return self._evaluate(rows, delta, gradient=False)[0]

    def change_and_gradient(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        value, gradient = self._evaluate(rows, delta, gradient=True)
        assert gradient is not None
        return value, gradient

    def _evaluate(
        self, rows: torch.Tensor, delta: torch.Tensor, gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        layer, X = self.layer, self.layer.X
        moved = layer.moved(rows, delta)
        square, slopes = square_of_rows(layer, rows, delta, moved, gradient)
        out = moved.own_change
        value = (square + (out * out).sum(1)) / layer.norm**2
        if slopes is None:
            return value, None

        h = 2 * out @ X.T
        h[moved.own] += 2 * (out * delta).sum(1)
        own_slope = layer.scores.pull(moved.s, moved.r, h)
        g = gradient_of_rows(layer, rows, delta, moved, slopes, own_slope)
        own_score = layer.keys[rows] + 2 * moved.turned
        g += 2 * moved.r[moved.own][:, None] * out + own_slope[moved.own][:, None] * own_score
        return value, g / layer.norm**2

    def smoothed(self, width: float) -> AttentionView:
        layer = self.layer.smoothed(width)
        if layer is self.layer:
            return self
        view = copy.copy(self)
        view.layer = layer
        return view

    def suggest(
        self, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        if count < 1 or len(self.X) < 2:
            return super().suggest(rows, count, radius, noise)
        return self._suggest(self.layer, rows, count, radius, noise)

    def certify(
        self,
        rows: Sequence[int],
        radius: float,
        progress: Progress = silent,
        around: Around | None = None,
    ) -> Certificate:
        if isinstance(self.bounds, RowBounds):
            return certify(self.layer, self.bounds, rows, radius, progress, around)
        assert around is None  # wrappers go around maps with row bounds only
        return self.bounds(self.layer, rows, radius, progress)

    @property
    def has_row_bounds(self) -> bool:
        """Whether a wrapper's certificate can look inside."""
        return isinstance(self.bounds, RowBounds)

    def certify_row(self, read: int, rows: Sequence[int], radius: float) -> Certificate:
        """A certificate for ‖φ_read(X^i(Δ)) − φ_read(X)‖ alone."""
        assert isinstance(self.bounds, RowBounds)
        return certify_row(self.layer, self.bounds, read, rows, radius)

    def certify_mean(self, rows: Sequence[int], radius: float, residual: bool) -> Certificate:
        """A certificate for n times the change of the rows' mean."""
        assert isinstance(self.bounds, RowBounds)
        return certify_mean(self.layer, self.bounds, rows, radius, residual)

    @property
    def row_errors(self) -> torch.Tensor:
        return self.layer.errors.rows

    def allow_text_error(self, error: float) -> None:
        super().allow_text_error(error)
        self.layer.text_error += error

    def rows_attending_to(self, i: int) -> torch.Tensor:
        seen = self.layer.seers(i)
        seen[i] = True
        return seen

    def readout(self, thetas: torch.Tensor) -> Readout:
        return AttentionReadout(self.layer, thetas)

    def moving(self, bases: torch.Tensor) -> Moving:
        return AttentionMoving(self.layer, bases)

    @property
    def bytes_per_point(self) -> int:
        n, d = self.X.shape
        return bytes_per_point(n, d, self.X.itemsize)


#: Derivatives of Σ_j ‖t_j y_j + p_jΔ‖² by a_j, by y_j·Δ and twice by ‖Δ‖², (B, n) each.
Slopes = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def square_of_rows(
    layer: Layer,
    rows: torch.Tensor,
    delta: torch.Tensor,
    moved: Others,
    gradient: bool,
) -> tuple[torch.Tensor, Slopes | None]:
    """Σ_{j≠i} ‖t_j y_j + p_jΔ‖² (B,), and its slopes where the gradient is wanted."""
    t, p, yd, lost = moved.t, moved.p, moved.yd, moved.lost
    y2 = layer.y2[rows]
    d2 = (delta * delta).sum(1, keepdim=True)
    squares = t * t * y2 + 2 * t * p * yd + p * p * d2
    if lost is not None:
        squares = torch.where(lost, layer.phi2, squares)
    squares[moved.own] = 0
    if not gradient:
        return squares.sum(1), None
    slope = 2 * ((t * y2 + p * yd) * moved.dt + (t * yd + p * d2) * moved.dp)
    slopes = (slope, 2 * t * p, 2 * p * p)
    for part in slopes:
        if lost is not None:
            part.masked_fill_(lost, 0)
        part[moved.own] = 0
    return squares.sum(1), slopes


def gradient_of_rows(
    layer: Layer,
    rows: torch.Tensor,
    delta: torch.Tensor,
    moved: Others,
    slopes: Slopes,
    own_slope: torch.Tensor,
) -> torch.Tensor:
    """The gradient (B, d) that the slopes make with those of row i's scores."""
    slope, tp, pp = slopes
    g = layer.gradient(slope, tp, own_slope)
    g += tp.sum(1, keepdim=True) * layer.X[rows] + pp.sum(1, keepdim=True) * delta
    if moved.sharp is not None and layer.sharp is not None:
        some = layer.sharp.rows
        g -= (tp[:, some] * moved.sharp) @ (layer.sharp.means - layer.phi[some])
    return g
