"""The rows of attention after one row of the text moved, without writing them down.

With `attention.one_matrix.layer`, w_j = t_j y_j + p_jΔ for j ≠ i, so that for any fixed b_j

    ‖w_j‖² = t²‖y_j‖² + 2tp y_j·Δ + p²‖Δ‖²,      b_j·w_j = t b_j·y_j + p b_j·Δ,
    Σ_j c_j w_j = (Σ c_j t_j) x_i − Σ_j c_j t_j φ_j + (Σ_j c_j p_j)Δ,

(without φ_j where shares have no normaliser), and b_j·y_j is known before Δ is.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import torch

from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rows import MovedRows, at_rows


class _Coefficients(torch.autograd.Function):
    """Δ → t, p and y·Δ of every row, and the change of row i; its derivative is the layer's."""

    @staticmethod
    def forward(ctx: Any, delta: torch.Tensor, layer: Layer, rows: torch.Tensor) -> Any:
        moved = layer.moved(rows, delta)
        ctx.layer, ctx.rows, ctx.moved, ctx.delta = layer, rows, moved, delta
        own = at_rows(rows, len(layer.X))
        gone = own if moved.lost is None else own | moved.lost
        ctx.gone = gone
        t, p = moved.t.masked_fill(gone, 0), moved.p.masked_fill(gone, 0)
        lost = torch.zeros_like(gone) if moved.lost is None else moved.lost & ~own
        pair = own.new_zeros(len(rows), 0) if moved.sharp is None else moved.sharp
        ctx.mark_non_differentiable(lost, pair)
        return t, p, moved.yd, moved.own_change, lost, pair

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        by_t, by_p, by_yd, by_own = slopes[:4]
        layer, rows, moved, delta = ctx.layer, ctx.rows, ctx.moved, ctx.delta
        by_yd = by_yd.masked_fill(ctx.gone, 0)
        slope = (by_t * moved.dt + by_p * moved.dp).masked_fill(ctx.gone, 0)
        h = by_own @ layer.X.T
        h[moved.own] += (by_own * delta).sum(1)
        own_slope = layer.scores.pull(moved.s, moved.r, h)
        gradient = layer.gradient(slope, by_yd, own_slope)
        gradient += by_yd.sum(1, keepdim=True) * layer.X[rows]
        own_score = layer.keys[rows] + 2 * moved.turned
        gradient += moved.r[moved.own][:, None] * by_own
        gradient += own_slope[moved.own][:, None] * own_score
        if moved.sharp is not None and layer.sharp is not None:
            some = layer.sharp.rows
            across = layer.sharp.means - layer.phi[some]
            gradient -= (by_yd[:, some] * moved.sharp) @ across
        return gradient, None, None


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
class AttentionRows(MovedRows):
    """B moves of a layer; see the module's formulas. Rows that fell silent (``lost``) move by
    −φ_j.
    """

    def __init__(self, moving: AttentionMoving, rows: torch.Tensor, delta: torch.Tensor) -> None:
        self._moving, self._layer, self._rows, self._delta = moving, moving.layer, rows, delta
        found: Any = _Coefficients.apply(delta, moving.layer, rows)  # type: ignore[no-untyped-call]
        self._t, self._p, self._yd, self.own, self._lost, self._pair = found
        self._mine = at_rows(rows, len(moving.layer.X))

    @cached_property
    def squares(self) -> torch.Tensor:  # type: ignore[override]
        layer, t, p = self._layer, self._t, self._p
        d2 = (self._delta * self._delta).sum(1, keepdim=True)
        others = t * t * layer.y2[self._rows] + 2 * t * p * self._yd + p * p * d2
        others = torch.where(self._lost, layer.phi2, others)
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
        others = torch.where(self._lost[:, None], -moving.base_phi, others)
        own = torch.einsum("bd,mbd->bm", self.own, bases[:, rows])
        return torch.where(self._mine[:, None], own[:, :, None], others)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        layer, t = self._layer, weights * self._t
        apart = t if layer.scores.normalised else torch.zeros_like(t)
        found = t.sum(1, keepdim=True) * layer.X[self._rows]
        found = found + (weights * self._p).sum(1, keepdim=True) * self._delta
        if layer.sharp is not None:
            some = layer.sharp.rows
            steep = t[:, some] * self._pair
            found = found - steep @ (layer.sharp.means - layer.phi[some])
        found = found - (apart + weights * self._lost) @ layer.phi
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
        others = torch.where(self._lost[..., None], -layer.phi, others)
        return torch.where(self._mine[..., None], self.own[:, None], others)
