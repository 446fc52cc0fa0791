"""Linear readouts of RF and DRF: one pass forwards, one backwards."""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.base import Pull, Readout
from wordsway.maps.dense.layers import Trace


@final
class FullyConnectedReadout(Readout):
    """φ(X^i(Δ))·θ = (h_L + δ_L)·θ for each row θ of ``thetas`` (T, k)."""

    def __init__(self, trace: Trace, thetas: torch.Tensor) -> None:
        self.trace = trace
        self.theta = thetas.to(trace.X.dtype)

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        value, moved = self._forward(rows, delta)
        return value, self.trace.backward(rows, moved, self.theta.expand(len(rows), -1, -1))

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        value, moved = self._forward(rows, delta)
        return value, lambda c: self.trace.backward(rows, moved, c @ self.theta)

    def _forward(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        change, moved = self.trace.forward(rows, delta)
        return (self.trace.h[-1] + change) @ self.theta.T, moved
