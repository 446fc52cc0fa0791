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

from wordsway.core.errors import InputError
from wordsway.core.vectors import unit
from wordsway.maps.base import Readout, View
from wordsway.optimize import Objective, Plan

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
#: search in single precision, twice side by side, since a row that is alone is summed in another
#: order than one of many: both go on while there is anything to gain.
DRAWN = Plan(
    solver="lbfgs", starts=2, explore=0, keep=2, steps=40, rounds=0, tolerance=1e-6, scatter=False
)
POLISH = replace(DRAWN, tolerance=1e-9)
#: How far from zero a search begins where every direction is drawn, as a share of the radius.
NEAR = 0.01


def check_loss(loss: str, penalty: float) -> None:
    """Refuse an unknown loss, and a penalty that it does not use."""
    if loss not in LOSSES:
        raise InputError(f"a loss among {', '.join(LOSSES)}", repr(loss), "choose one of them")
    if (penalty > 0) != (loss == "penalised"):
        raise InputError(
            "a penalty > 0 with the penalised loss, and only there",
            penalty,
            "the paper uses 1, 0.1 and 0.01",
        )


@dataclass(frozen=True)
class Loss:
    """A loss of (u, a), a being readout number ``column``: e² + penalty·(u − u₀)² with
    e = αu + ρa + c, where α, ρ, c = 0, 1, 1 for the alignment and 1, r, y otherwise.

    >>> Loss("align", y=1.0, residual=0.5, before=0.5).coefficients
    (0.0, 1.0, 1.0, 0.0, 0.5)
    """

    name: str
    y: float
    residual: float
    before: float
    penalty: float = 0.0
    column: int = 1

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            known = f"a loss among {', '.join(LOSSES)}"
            raise InputError(known, repr(self.name), "choose one of them")
        if not (self.penalty >= 0 and math.isfinite(self.penalty)):
            raise InputError("a penalty ≥ 0", self.penalty, "the paper uses 1, 0.1 and 0.01")

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """α, ρ, c, the penalty and u₀."""
        if self.name == "align":
            return 0.0, 1.0, 1.0, 0.0, self.before
        penalty = self.penalty if self.name == "penalised" else 0.0
        return 1.0, self.residual, self.y, penalty, self.before


@final
class NegativeLosses(Objective):
    """−loss over ‖Δ‖ ≤ radius at one row i, one problem per loss: the driver maximises."""

    enough = -ZERO
    ceiling = 0.0

    def __init__(
        self, readout: Readout, view: View, row: int, losses: Sequence[Loss], radius: float
    ) -> None:
        self.readout = readout
        self.view = view
        self.row = row
        self.reach = radius
        self.dimension = view.X.shape[1]
        self.dtype = view.X.dtype
        self.device = view.X.device
        self.bytes_per_point = view.bytes_per_point
        self.bytes_kept = view.bytes_kept
        self._coefficients = torch.tensor(
            [loss.coefficients for loss in losses], dtype=self.dtype, device=self.device
        )
        self._columns = torch.tensor([[loss.column] for loss in losses], device=self.device)

    @property
    def plan(self) -> Plan:
        """How hard to search."""
        if self.bytes_kept:
            return DRAWN
        plan = self.view.plan
        return replace(CHEAP, starts=min(CHEAP.starts, plan.groups * plan.starts))

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.full((len(which),), self.reach, dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        readings, pull = self.readout.at(torch.full_like(which, self.row), x)
        alpha, rho, c, penalty, before = self._coefficients[which].unbind(1)
        column = self._columns[which]
        u, a = readings[:, 0], readings.gather(1, column)[:, 0]
        off = alpha * u + a * rho + c
        past = u - before
        slopes = torch.zeros_like(readings)
        slopes[:, 0] = -2 * (alpha * off + penalty * past)
        slopes.scatter_(1, column, (-2 * off * rho)[:, None])
        return -(off**2 + penalty * past**2), pull(slopes)

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        rows = [self.row] * len(problems)
        return self.view.suggest(rows, count, self.reach, noise).to(self.dtype)

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
