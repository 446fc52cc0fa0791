"""RF and DRF seen from one row: the layers' changes forwards, their gradient backwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import torch

from wordsway.constraints import LinearBall
from wordsway.core.progress import Progress, silent
from wordsway.maps.base import Pull, Readout, View
from wordsway.maps.dense.certificate import certify
from wordsway.maps.dense.layers import DenseLayers, Trace
from wordsway.maps.rigorous import Certificate
from wordsway.optimize.objective import Plane
from wordsway.optimize.plan import Plan


@final
class FullyConnectedReadout(Readout):
    """φ(X^i(Δ))·θ = (h_L + δ_L)·θ for each row θ of ``thetas`` (T, k)."""

    def __init__(self, trace: Trace, thetas: torch.Tensor) -> None:
        self.trace = trace
        self.theta = thetas.to(trace.X.dtype)

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        change, moved = self.trace.forward(rows, delta)
        value = (self.trace.h[-1] + change) @ self.theta.T
        return value, lambda c: self.trace.backward(rows, moved, c @ self.theta)


#: Above this many weights of one row the landscape is nearly that of a quadratic: few starts,
#: conjugate steps.
WIDE = 50_000
#: Bytes of a vector per point that are worked on at once.
CACHE = 2**20


def plan_for(k: int, d: int, *, on_demand: bool) -> Plan:
    """How to search a map with k features of rows in d dimensions."""
    if on_demand:
        return Plan(
            solver="conjugate", starts=1, explore=0, keep=1, steps=16, rounds=0, tolerance=1e-3
        )
    if k * d > WIDE:
        return Plan("conjugate", groups=2, starts=2, explore=0, keep=2, steps=40, rounds=0)
    return Plan(groups=2, starts=24, keep=8, rounds=1, children=16)


def bytes_per_point(k: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return 8 * k * itemsize


def bytes_retained_per_eval(k: int, d: int, later: int, itemsize: int) -> int:
    """Memory that one new Δ (value and gradient) leaves behind in matrices drawn on demand."""
    return (2 * (k + d) + later * 3 * 2 * k) * itemsize


@final
class FullyConnectedView(View):
    """S²(i, Δ) = ‖δ_L‖²/‖φ(X)‖² with δ_L the last layer's change; see `Trace`."""

    def __init__(self, layers: DenseLayers, X: torch.Tensor, name: str) -> None:
        super().__init__(X, plan_for(layers.k, layers.d, on_demand=layers.on_demand))
        self.small = layers.on_demand
        self.trace = Trace(layers, X, name, self.plan.steps)
        self.bytes_per_point = bytes_per_point(max(len(z) for z in self.trace.z), X.itemsize)
        if layers.on_demand:
            k, d = layers.k, layers.d
            self.max_batch = max(1, CACHE // (k * X.itemsize))
            self.bytes_retained_per_eval = bytes_retained_per_eval(
                k, d, len(layers.later), X.itemsize
            )

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self._value(self.trace.forward(which, x)[0])

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self._gradient(which, *self.trace.forward(which, x))

    def plane(self, which: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Plane:
        if self.exceeded_by(which):
            return super().plane(which, a, b)
        return DensePlane(self, which, self.trace.steps(which, a), self.trace.steps(which, b))

    def landmark(self, problem: int) -> torch.Tensor:
        return -self.trace.layers.first.part(self.X, problem)

    def _value(self, change: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vecdot(change, change) / self.trace.norm**2

    def _gradient(
        self, rows: torch.Tensor, change: torch.Tensor, moved: list[torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        value = self._value(change)
        return value, self.trace.backward(rows, moved, change).mul_(2 / self.trace.norm**2)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        ball = self.constraint if isinstance(self.constraint, LinearBall) else None
        return certify(self.trace, rows, radius, progress, ball)

    @property
    def rounding(self) -> float:
        return self.trace.errors[1]

    def readout(self, thetas: torch.Tensor) -> Readout:
        return FullyConnectedReadout(self.trace, thetas)


@final
class DensePlane:
    """Points c·a + s·b of a plane: the first layer moves by c·V_ia + s·V_ib, and no further product
    with it is needed. A few points at a time, so that what is made of them stays in the cache.
    """

    def __init__(
        self, view: FullyConnectedView, rows: torch.Tensor, a: torch.Tensor, b: torch.Tensor
    ) -> None:
        self.view, self.rows, self.a, self.b = view, rows, a, b
        self._seen: dict[tuple[float, float], tuple[torch.Tensor, list[torch.Tensor]]] = {}
        self.size = max(1, CACHE // (a.shape[1] * a.itemsize))

    def value(self, c: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        found = [self.view._value(self._after(*part)[0]) for part in self._points(c, s)]
        return torch.cat(found)

    def value_and_gradient(
        self, c: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        found = [self.view._gradient(part[0], *self._after(*part)) for part in self._points(c, s)]
        return torch.cat([value for value, _ in found]), torch.cat([slope for _, slope in found])

    def _points(self, c: torch.Tensor, s: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
        every = (self.rows, self.a, self.b, c[:, None], s[:, None])
        return zip(*(part.split(self.size) for part in every), strict=True)

    def _after(
        self, rows: torch.Tensor, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The layers at these points; those of a single one are kept, as a step returns to one."""
        trace = self.view.trace
        if len(self.rows) > 1:
            return trace.onwards((c * a).addcmul_(s, b).add_(trace.z[0]))
        at = (float(c), float(s))
        if at not in self._seen:
            first = torch.add(trace.z[0], a, alpha=at[0]).add_(b, alpha=at[1])
            self._seen[at] = trace.onwards(first)
        return self._seen[at]
