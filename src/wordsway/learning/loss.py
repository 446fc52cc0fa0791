"""What a Δ minimises: a loss of two readouts over the ball ‖Δ‖ ≤ radius.

With u = f(X^i(Δ), θ*) and the alignment a = A(Δ), after an update f = u + a·(y − f(X, θ*)), and the
changed text's label is −y:

    align      (a + 1)²
    direct     Err = (u + a·r + y)²,      r = y − f(X, θ*)
    penalised  Err + penalty·(u − u₀)²,   u₀ = f(X, θ*)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch

from wordsway.errors import InputError
from wordsway.maps.base import Readout, View
from wordsway.optimize import Objective, Plan
from wordsway.vectors import unit

LOSSES = ("align", "direct", "penalised")
#: A loss below this is zero, and nothing is better.
ZERO = 1e-18
#: The search over Δ where an evaluation is cheap; its last steps, which gain less than 1e-4 of a
#: loss together, change that by 2e-5 at most.
CHEAP = Plan(
    solver="lbfgs",
    starts=48,
    explore=20,
    keep=16,
    steps=100,
    rounds=0,
    tolerance=1e-4,
    scatter=False,
)
#: The same where every direction is drawn, and what follows in double precision on the best of a
#: search in single precision: both go on while there is anything to gain.
DRAWN = Plan(
    solver="lbfgs", starts=2, explore=0, keep=2, steps=40, rounds=0, tolerance=1e-6, scatter=False
)
POLISH = replace(DRAWN, starts=1, keep=1, tolerance=1e-9)
#: How far from zero a search begins where every direction is drawn, as a share of the radius.
NEAR = 0.01


@dataclass(frozen=True)
class Loss:
    """A loss of (u, a) with its derivatives.

    >>> Loss("align", y=1.0, residual=0.5, before=0.5)(torch.tensor(0.0), torch.tensor(-0.5))
    (tensor(0.2500), tensor(0.), tensor(1.))
    """

    name: str
    y: float
    residual: float
    before: float
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            known = f"a loss among {', '.join(LOSSES)}"
            raise InputError(known, repr(self.name), "choose one of them")
        if not (self.penalty >= 0 and math.isfinite(self.penalty)):
            raise InputError("a penalty ≥ 0", self.penalty, "the paper uses 1, 0.1 and 0.01")

    def __call__(
        self, u: torch.Tensor, a: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Value, ∂/∂u, ∂/∂a."""
        if self.name == "align":
            return (a + 1) ** 2, torch.zeros_like(u), 2 * (a + 1)
        off = u + a * self.residual + self.y
        value = off**2
        du = 2 * off
        da = 2 * off * self.residual
        if self.name == "penalised":
            value = value + self.penalty * (u - self.before) ** 2
            du = du + 2 * self.penalty * (u - self.before)
        return value, du, da


@final
class NegativeLoss(Objective):
    """−loss over ‖Δ‖ ≤ radius, one problem per row i: the driver maximises."""

    enough = -ZERO
    ceiling = 0.0

    def __init__(self, readout: Readout, view: View, loss: Loss, radius: float) -> None:
        self.readout = readout
        self.view = view
        self.loss = loss
        self.reach = radius
        self.dimension = view.X.shape[1]
        self.dtype = view.X.dtype
        self.device = view.X.device
        self.bytes_per_point = view.bytes_per_point
        self.bytes_kept = view.bytes_kept

    @property
    def plan(self) -> Plan:
        """How hard to search."""
        if self.bytes_kept:
            return DRAWN
        return replace(CHEAP, starts=min(CHEAP.starts, self.view.plan.starts))

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.full((len(which),), self.reach, dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        readings, pull = self.readout.at(which, x)
        value, du, da = self.loss(readings[:, 0], readings[:, 1])
        return -value, pull(-torch.stack([du, da], 1))

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        readings = self.readout.values(which, x)
        return -self.loss(readings[:, 0], readings[:, 1])[0]

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.view.suggest(problems, count, self.reach, noise).to(self.dtype)

    def describe(self, value: float) -> str:
        return f"least loss {-value:.4g}"


def starts_at_zero(
    objective: Objective,
    problems: Sequence[int],
    count: int,
    noise: Sequence[torch.Generator],
) -> torch.Tensor:
    """Zero first (the others near it where every direction is drawn), then suggestions and random
    directions, each shortened at random.
    """
    d = objective.dimension
    radii = objective.radius(torch.tensor(problems)).tolist()
    zero = torch.zeros(1, d, dtype=objective.dtype)
    kept = bool(objective.bytes_kept)
    ideas = objective.suggest(problems, 0 if kept else count // 2, noise)
    points = []
    for radius, known, own in zip(radii, ideas, noise, strict=True):
        size = max(0, count - 1 - len(known))
        random = unit(torch.randn(size, d, dtype=objective.dtype, generator=own))
        if kept:
            points.append(torch.cat([zero, NEAR * radius * random]))
            continue
        others = torch.cat([known, radius * random])
        share = torch.rand(len(others), 1, dtype=objective.dtype, generator=own) ** 0.5
        points.append(torch.cat([zero, others * share])[:count])
    return torch.stack(points)
