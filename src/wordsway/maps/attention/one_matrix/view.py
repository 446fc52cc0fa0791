"""Attention seen from one row: exact change and gradient at incremental cost.

With `attention.one_matrix.layer`, w_j = t_j y_j + p_jΔ for j ≠ i, so that for any fixed b_j

    ‖w_j‖² = t²‖y_j‖² + 2tp y_j·Δ + p²‖Δ‖²,      b_j·w_j = t b_j·y_j + p b_j·Δ,
    Σ_j c_j w_j = (Σ c_j t_j) x_i − Σ_j c_j t_j φ_j + (Σ_j c_j p_j)Δ,

(without φ_j where shares have no normaliser): inner products replace the n×d changes themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import certify
from wordsway.maps.attention.certificates.small_moves import small_move_bound
from wordsway.maps.attention.layer import LayerView, Starts
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.base import Pull, Readout
from wordsway.maps.rigorous import Certificate
from wordsway.maps.rows import Derived, Moving, RowChanges, at_rows, by_row, gathered


@final
class AttentionMoving:
    """The rows of a layer after any move, with their products with ``bases`` (m, n, d)."""

    def __init__(self, layer: Layer, bases: torch.Tensor) -> None:
        self.layer, self.bases = layer, bases
        self.base_x = torch.einsum("id,mjd->mij", layer.X, bases)  # b_j·x_i
        self.base_phi = torch.einsum("jd,mjd->mj", layer.phi, bases)
        if layer.sharp is not None:
            pairs = bases[:, layer.sharp.rows]
            self.base_means = torch.einsum("sd,msd->ms", layer.sharp.means, pairs)

    def __call__(self, rows: torch.Tensor, delta: torch.Tensor) -> AttentionRows:
        return AttentionRows(self, rows, delta)


@final
class AttentionRows(RowChanges):
    """B moves of a layer; see the module's formulas."""

    def __init__(self, moving: AttentionMoving, rows: torch.Tensor, delta: torch.Tensor) -> None:
        self._moving, self._layer, self._rows, self._delta = moving, moving.layer, rows, delta
        self._mine = at_rows(rows, len(moving.layer.X))
        found: Any = Derived.apply(delta, self._coefficients)  # type: ignore[no-untyped-call]
        self._t, self._p, self._yd, self.own, self._pair = found

    def _coefficients(self, delta: torch.Tensor) -> Any:
        """t, p and y·Δ of every row, the change of row i and which sharp pairs moved."""
        layer, rows, own = self._layer, self._rows, self._mine
        moved = layer.moved(rows, delta)
        t, p = (part.masked_fill(own, 0) for part in moved.shares[:2])
        pair = own.new_zeros(len(rows), 0) if moved.sharp is None else moved.sharp

        def pull(by_t: Any, by_p: Any, by_yd: Any, by_own: Any, _: Any) -> torch.Tensor:
            by_yd = by_yd.masked_fill(own, 0)
            slope = (by_t * moved.shares.dt + by_p * moved.shares.dp).masked_fill(own, 0)
            along = by_yd.sum(1, keepdim=True) * layer.X[rows]
            return layer.pulled(moved, rows, delta, slope, by_yd, along, by_own)

        return (t, p, moved.yd, moved.own_change, pair), pull

    @cached_property
    def squares(self) -> torch.Tensor:  # type: ignore[override]
        layer, t, p = self._layer, self._t, self._p
        d2 = (self._delta * self._delta).sum(1, keepdim=True)
        others = t * t * layer.y2[self._rows] + 2 * t * p * self._yd + p * p * d2
        return torch.where(self._mine, (self.own * self.own).sum(1, keepdim=True), others)

    @cached_property
    def products(self) -> torch.Tensor:  # type: ignore[override]
        moving, rows, bases = self._moving, self._rows, self._moving.bases
        along = torch.einsum("bd,mjd->bmj", self._delta, bases)
        y = moving.base_x[:, rows].transpose(0, 1)
        sharp = self._layer.sharp
        if self._layer.scores.normalised:
            y = y - moving.base_phi
        if sharp is not None:
            some = sharp.rows
            apart = moving.base_x[:, rows][:, :, some].transpose(0, 1) - moving.base_means
            y[:, :, some] = torch.where(self._pair[:, None], apart, y[:, :, some])
        others = self._t[:, None] * y + self._p[:, None] * along
        own = torch.einsum("bd,mbd->bm", self.own, bases[:, rows])
        return torch.where(self._mine[:, None], own[:, :, None], others)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        layer, t = self._layer, weights * self._t
        found = t.sum(1, keepdim=True) * layer.X[self._rows]
        found = found + (weights * self._p).sum(1, keepdim=True) * self._delta
        if layer.sharp is not None:
            some = layer.sharp.rows
            steep = t[:, some] * self._pair
            found = found - steep @ (layer.sharp.means - layer.phi[some])
        if layer.scores.normalised:
            found = found - t @ layer.phi
        return found + (weights * self._mine).sum(1, keepdim=True) * self.own

    def dense(self) -> torch.Tensor:
        layer = self._layer
        y = layer.X[self._rows][:, None].expand(-1, len(layer.X), -1)
        if layer.scores.normalised:
            y = y - layer.phi
        if layer.sharp is not None:
            some = layer.sharp.rows
            apart = layer.X[self._rows][:, None] - layer.sharp.means
            y[:, some] = torch.where(self._pair[..., None], apart, y[:, some])
        others = self._t[..., None] * y + self._p[..., None] * self._delta[:, None]
        return torch.where(self._mine[..., None], self.own[:, None], others)


class ReadoutRow(NamedTuple):
    """The readouts of row i before it moves."""

    i: int
    own: torch.Tensor  # the mask of row i (n,)
    weights: torch.Tensor  # y_j·θ_j, 0 for j = i, above x_l·θ_i (2n, T)
    before: torch.Tensor  # Σ_{j≠i} φ_j·θ_j (T,)


@final
class AttentionReadout(Readout):
    """φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, n·d): O(B·T·n·d)."""

    def __init__(self, layer: Layer, thetas: torch.Tensor) -> None:
        self.layer = layer
        self.theta = thetas.to(layer.X).reshape(-1, *layer.X.shape)
        self._phi = torch.einsum("jd,tjd->jt", layer.phi, self.theta)  # φ_j·θ_j
        #: All that Δ is multiplied with, and that slopes are, but for H, on the way back.
        self._stack = torch.cat([layer.keys, layer.queries, self.theta.flatten(0, 1), layer.H])
        self._rows: dict[int, ReadoutRow] = {}

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        groups = by_row(rows)
        values, pulls = zip(
            *(self._at(self._row(i), delta[some]) for i, some in groups), strict=True
        )

        def pull(c: torch.Tensor) -> torch.Tensor:
            each = zip(groups, pulls, strict=True)
            return gathered(groups, [one(c[some]) for (_, some), one in each])

        return gathered(groups, values), pull

    def _at(self, row: ReadoutRow, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        """Values and slopes of points that all move this row."""
        layer, i = self.layer, row.i
        T, n, d = self.theta.shape
        a, query_d, delta_theta, turned = (delta @ self._stack.T).split((n, n, T * n, d), 1)
        delta_theta = delta_theta.reshape(-1, T, n)  # Δ·θ_j
        t, p, dt, dp = (part.masked_fill(row.own, 0) for part in layer.shares(i, a)[0])
        s = layer.own_scores(i, delta, query_d, turned)
        r = layer.scores.attention(s)
        p[:, i] = r[:, i]
        value = torch.cat([t, r], 1) @ row.weights + row.before
        value += (p[:, None] * delta_theta).sum(2)

        def pull(c: torch.Tensor) -> torch.Tensor:
            along = (c[:, :, None] * delta_theta).sum(1)
            slope, h = (c @ row.weights.T).split(n, 1)
            h[:, i] += along[:, i]
            own_slope = layer.scores.pull(s, r, h)
            slope = dt * slope + dp * along
            slope[:, i] = own_slope[:, i]  # row i's score of its own key moves with both
            lift = (c[:, :, None] * p[:, None]).flatten(1)
            slopes = torch.cat([slope, own_slope, lift], 1)
            gradient = slopes @ self._stack[:-d]
            return gradient.addcmul_(own_slope[:, i : i + 1], turned, value=2)

        return value, pull

    def _row(self, i: int) -> ReadoutRow:
        if i in self._rows:
            return self._rows[i]
        layer = self.layer
        y = torch.einsum("d,tjd->jt", layer.X[i], self.theta)  # x_i·θ_j
        if layer.scores.normalised:
            y = y - self._phi
        if layer.sharp is not None:
            sharp = layer.sharp.keys == i
            some = layer.sharp.rows[sharp]
            apart = layer.X[i] - layer.sharp.means[sharp]
            y[some] = torch.einsum("md,tmd->mt", apart, self.theta[:, some])
        own = torch.arange(len(layer.X), device=y.device) == i
        weights = torch.cat([y.masked_fill(own[:, None], 0), layer.X @ self.theta[:, i].T])
        before = self._phi.masked_fill(own[:, None], 0).sum(0)
        self._rows[i] = ReadoutRow(i, own, weights, before)
        return self._rows[i]


#: What S at each of the rows cannot exceed, where it is known without a dual problem:
#: certify(layer, rows, radius, progress).
Certify = Callable[[Layer, Sequence[int], float, Progress], Certificate]


def bytes_per_point(n: int, d: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return (16 * n + 8 * d) * itemsize


@final
class AttentionView(LayerView[Layer]):
    """The view of attention with one matrix. Shapes: B pairs (i, Δ), n rows, d dimensions."""

    def __init__(
        self,
        layer: Layer,
        bounds: RowBounds | Certify,
        starts: Starts[Layer],
        text: torch.Tensor | None = None,
    ) -> None:
        super().__init__(layer, starts, text, kinks=layer.scores.kinks)
        self.bounds = bounds
        n, d = layer.X.shape
        self.bytes_per_point = bytes_per_point(n, d, layer.X.itemsize)

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self._evaluate(which, x, gradient=False)[0]

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self._evaluate(which, x, gradient=True)

    def _evaluate(
        self, rows: torch.Tensor, delta: torch.Tensor, gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        layer, moved = self.layer, self.layer.moved(rows, delta)
        (t, p, dt, dp), yd, out = moved.shares, moved.yd, moved.own_change
        y2, d2 = layer.y2[rows], (delta * delta).sum(1, keepdim=True)
        squares = t * t * y2 + 2 * t * p * yd + p * p * d2
        squares[moved.own] = 0
        value = (squares.sum(1) + (out * out).sum(1)) / layer.norm**2
        if not gradient:
            return value, value
        slope = 2 * ((t * y2 + p * yd) * dt + (t * yd + p * d2) * dp)
        tp, pp = 2 * t * p, 2 * p * p
        for part in (slope, tp, pp):
            part[moved.own] = 0
        along = tp.sum(1, keepdim=True) * layer.X[rows] + pp.sum(1, keepdim=True) * delta
        g = layer.pulled(moved, rows, delta, slope, tp, along, 2 * out)
        return value, g / layer.norm**2

    def smoothed(self, width: float) -> AttentionView:
        layer = self.layer.smoothed(width)
        return self if layer is self.layer else self.copied(layer=layer)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate:
        if not isinstance(self.bounds, RowBounds):
            return self.bounds(self.layer, rows, radius, progress)
        found = certify(self.layer, self.bounds, rows, radius, progress)
        if not self.layer.scores.plain_softmax:
            return found
        small = [small_move_bound(self.layer, row, radius) for row in rows]
        return found.replaced([min(ends) for ends in zip(found.upper.tolist(), small, strict=True)])

    def readout(self, thetas: torch.Tensor) -> Readout:
        return AttentionReadout(self.layer, thetas)

    def moving(self, bases: torch.Tensor) -> Moving:
        return AttentionMoving(self.layer, bases)
