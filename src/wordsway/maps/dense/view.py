"""RF and DRF seen from one row: the layers' changes forwards, their gradient backwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.base import Readout, View
from wordsway.maps.certificate import Certificate
from wordsway.maps.dense.certificate import certify
from wordsway.maps.dense.layers import Layers, Trace
from wordsway.maps.dense.readout import FullyConnectedReadout
from wordsway.optimize.plan import Plan
from wordsway.progress import Progress, silent

#: Above this many weights of one row the landscape is nearly that of a quadratic: few starts,
#: conjugate steps.
WIDE = 50_000


def plan_for(k: int, d: int, *, on_demand: bool) -> Plan:
    """How to search a map with k features of rows in d dimensions."""
    if on_demand:
        return Plan(
            solver="conjugate", starts=1, explore=0, keep=1, steps=16, rounds=0, tolerance=1e-3
        )
    if k * d > WIDE:
        return Plan(solver="conjugate", starts=4, explore=0, keep=4, steps=40, rounds=0)
    return Plan(starts=48, keep=12, rounds=1)


def bytes_per_point(k: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return 8 * k * itemsize


def bytes_kept(k: int, d: int, later: int, itemsize: int) -> int:
    """Memory that one new Δ (value and gradient) leaves behind in matrices drawn on demand."""
    return (2 * (k + d) + later * 3 * 2 * k) * itemsize


@final
class FullyConnectedView(View):
    """S²(i, Δ) = ‖δ_L‖²/‖φ(X)‖² with δ_L the last layer's change; see `Trace`."""

    def __init__(self, layers: Layers, X: torch.Tensor, name: str) -> None:
        self.X = X
        self.small = layers.on_demand
        self.plan = plan_for(layers.k, layers.d, on_demand=layers.on_demand)
        self.trace = Trace(layers, X, name, self.plan.steps)

    def change(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        change, _ = self.trace.forward(rows, delta)
        return (change * change).sum(1) / self.trace.norm**2

    def change_and_gradient(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        change, moved = self.trace.forward(rows, delta)
        gradient = self.trace.backward(rows, moved, 2 * change)
        norm2 = self.trace.norm**2
        return (change * change).sum(1) / norm2, gradient / norm2

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        return certify(self.trace, rows, radius, progress)

    def readout(self, thetas: torch.Tensor) -> Readout:
        return FullyConnectedReadout(self.trace, thetas)

    @property
    def bytes_per_point(self) -> int:
        return bytes_per_point(max(len(z) for z in self.trace.z), self.X.itemsize)

    @property
    def bytes_kept(self) -> int:
        layers = self.trace.layers
        if not layers.on_demand:
            return 0
        return bytes_kept(layers.k, layers.d, len(layers.later), self.X.itemsize)
