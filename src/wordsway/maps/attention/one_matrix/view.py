"""Attention seen from one row: exact change and gradient at incremental cost.

With the moved rows of `attention.one_matrix.layer`, inner products replace the n×d changes
themselves:

    ‖t y + pΔ‖² = t²‖y‖² + 2tp y·Δ + p²‖Δ‖².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import certify
from wordsway.maps.attention.certificates.small_moves import small_move_bound
from wordsway.maps.attention.layer import LayerView, Starts
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.readout import AttentionReadout
from wordsway.maps.attention.one_matrix.rows import AttentionMoving
from wordsway.maps.base import Readout
from wordsway.maps.rigorous import Certificate
from wordsway.maps.rows import Moving

#: Up to this share of √d the bound for small moves may be the smaller one.
SMALL = 0.5
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
        if not self.layer.scores.plain_softmax or radius > SMALL * self.X.shape[1] ** 0.5:
            return found
        small = [small_move_bound(self.layer, row, radius) for row in rows]
        return found.replaced([min(ends) for ends in zip(found.upper.tolist(), small, strict=True)])

    def readout(self, thetas: torch.Tensor) -> Readout:
        return AttentionReadout(self.layer, thetas)

    def moving(self, bases: torch.Tensor) -> Moving:
        return AttentionMoving(self.layer, bases)
