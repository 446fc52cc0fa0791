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
from wordsway.maps.rows import Derived, RowChanges, at_rows


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
