"""Attention seen from one row: exact change and gradient at incremental cost.

With the moved rows of `attention.one_matrix.layer`, inner products replace the n×d changes
themselves:

    ‖t y + pΔ‖² = t²‖y‖² + 2tp y·Δ + p²‖Δ‖².
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, certify
from wordsway.maps.attention.certificates.reading import certify_mean, certify_row
from wordsway.maps.attention.layer import LayerView, Starts
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.readout import AttentionReadout
from wordsway.maps.attention.one_matrix.rows import AttentionMoving
from wordsway.maps.base import Readout
from wordsway.maps.certificate import Certificate
from wordsway.maps.rows import Moving

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
        layer, moved = self.layer, self.layer.moved(rows, delta)
        (t, p, dt, dp), yd, out = moved.shares, moved.yd, moved.own_change
        y2, d2 = layer.y2[rows], (delta * delta).sum(1, keepdim=True)
        squares = t * t * y2 + 2 * t * p * yd + p * p * d2
        squares[moved.own] = 0
        value = (squares.sum(1) + (out * out).sum(1)) / layer.norm**2
        if not gradient:
            return value, None
        slope = 2 * ((t * y2 + p * yd) * dt + (t * yd + p * d2) * dp)
        tp, pp = 2 * t * p, 2 * p * p
        for part in (slope, tp, pp):
            part[moved.own] = 0
        along = tp.sum(1, keepdim=True) * layer.X[rows] + pp.sum(1, keepdim=True) * delta
        g = layer.pulled(moved, rows, delta, slope, tp, along, 2 * out)
        return value, g / layer.norm**2

    def smoothed(self, width: float) -> AttentionView:
        layer = self.layer.smoothed(width)
        if layer is self.layer:
            return self
        view = copy.copy(self)
        view.layer = layer
        return view

    def certify(
        self,
        rows: Sequence[int],
        radius: float,
        progress: Progress = silent,
        around: WrapperContext | None = None,
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

    def readout(self, thetas: torch.Tensor) -> Readout:
        return AttentionReadout(self.layer, thetas)

    def moving(self, bases: torch.Tensor) -> Moving:
        return AttentionMoving(self.layer, bases)

    @property
    def bytes_per_point(self) -> int:
        n, d = self.X.shape
        return bytes_per_point(n, d, self.X.itemsize)
