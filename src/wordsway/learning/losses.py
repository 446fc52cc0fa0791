"""The losses that a Δ minimises over the ball ‖Δ‖ ≤ radius.

With u = f(X^i(Δ), θ*), u₀ = f(X, θ*), the residual r = y − u₀ and the alignment a = A(Δ), the
updated model predicts u + a·r for the changed text, whose label is −y:

    align      (a + 1)²
    direct     Err = (u + a·r + y)²
    penalised  Err + penalty·(u − u₀)²
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, final

import torch

from wordsway.constraints import Constraint
from wordsway.core.errors import InputError
from wordsway.core.vectors import unit
from wordsway.maps.base import Readout, View
from wordsway.optimize import Objective, Plan

UPDATES = ("fine-tune", "retrain")
LOSSES = ("align", "direct", "penalised")
#: A loss below this counts as zero, and the search ends.
ZERO = 1e-18
#: The search over Δ where an evaluation is cheap; the last steps, which gain less than 1e-4 of a
#: loss together, change it by 2e-5 at most.
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
#: The search where weights are drawn for every new Δ.
DRAWN = Plan(
    solver="lbfgs", starts=2, explore=0, keep=2, steps=40, rounds=0, tolerance=1e-6, scatter=False
)
#: The search in double precision from the best Δ of a search in single precision.
POLISH = replace(DRAWN, starts=1, keep=1, tolerance=1e-9)
#: Distance of the starts from zero where weights are drawn, as a share of the radius.
NEAR = 0.01


class FlipSetting(NamedTuple):
    """An update of the interpolator, and the loss that Δ minimises after it."""

    update: str
    loss: str
    penalty: float


def check_setting(update: str, loss: str, penalty: float | None) -> FlipSetting:
    """Refuse an unknown update or loss, and a penalty that the loss does not use.

    The penalty is 1 by default with the penalised loss, and 0 with others.
    """
    if update not in UPDATES:
        raise InputError(
            f"an update among {', '.join(UPDATES)}", repr(update), "choose one of them"
        )
    if loss not in LOSSES:
        raise InputError(f"a loss among {', '.join(LOSSES)}", repr(loss), "choose one of them")
    if penalty is None:
        penalty = float(loss == "penalised")
    if penalty <= 0 and loss == "penalised":
        raise InputError("a penalty > 0", penalty, "the paper uses 1, 0.1 and 0.01")
    if penalty > 0 and loss != "penalised":
        raise InputError("a penalty with the penalised loss alone", loss, "use the loss penalised")
    return FlipSetting(update, loss, float(penalty))


@final
class NegativeLosses(Objective):
    """−loss at one row i over ‖Δ‖ ≤ radius or a set in that ball, one problem per setting.

    Every loss is a quadratic function of u and of the alignment a after the setting's update,

        (αu + ρa + c)² + penalty·(u − u₀)²,

    with (α, ρ, c) = (0, 1, 1) for the alignment loss and (1, r, y) for the others. The readout
    returns u in column 0 and the alignment after each of `UPDATES` in the columns behind it.
    """

    enough = -ZERO
    ceiling = 0.0

    def __init__(
        self,
        readout: Readout,
        view: View,
        row: int,
        radius: float,
        settings: Sequence[FlipSetting],
        *,
        y: float,
        residual: float,
        constraint: Constraint | None = None,
    ) -> None:
        self.readout = readout
        self.view = view
        self.row = row
        self.reach, self.constraint = radius, constraint
        self.dimension, self.rows_moved = view.dimension, view.rows_moved
        self.dtype = view.X.dtype
        self.device = view.X.device
        self.bytes_per_point = view.bytes_per_point
        self.bytes_retained_per_eval = view.bytes_retained_per_eval
        self._before = y - residual
        coefficients = [
            (0.0, 1.0, 1.0, 0.0) if one.loss == "align" else (1.0, residual, y, one.penalty)
            for one in settings
        ]
        self._coefficients = view.X.new_tensor(coefficients)
        columns = [[UPDATES.index(one.update) + 1] for one in settings]
        self._columns = torch.tensor(columns, device=self.device)

    @property
    def plan(self) -> Plan:
        """The effort of the search."""
        if self.bytes_retained_per_eval:
            return DRAWN
        plan = self.view.plan
        return replace(CHEAP, starts=min(CHEAP.starts, plan.groups * plan.starts))

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.full((len(which),), self.reach, dtype=torch.float64, device=self.device)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        readings, pull = self.readout.at(torch.full_like(which, self.row), x)
        alpha, rho, c, penalty = self._coefficients[which].unbind(1)
        column = self._columns[which]
        u, a = readings[:, 0], readings.gather(1, column)[:, 0]
        error = alpha * u + a * rho + c
        moved = u - self._before
        slopes = torch.zeros_like(readings)
        slopes[:, 0] = -2 * (alpha * error + penalty * moved)
        slopes.scatter_(1, column, (-2 * error * rho)[:, None])
        return -(error**2 + penalty * moved**2), pull(slopes)

    def starts(self, count: int, noise: torch.Generator) -> torch.Tensor:
        """Zero, the view's suggestions and random directions, each shortened at random: (count, d).

        Where weights are drawn for every Δ, zero and points near it.
        """
        d = self.dimension
        zero = torch.zeros(1, d, dtype=self.dtype)
        wanted = 0 if self.bytes_retained_per_eval else count // 2
        view = self.view.within(self.reach)
        ideas = view.suggest([self.row], wanted, [noise])[0].to(self.dtype)
        size = max(0, count - 1 - len(ideas))
        random = unit(torch.randn(size, d, dtype=self.dtype, generator=noise))
        if self.bytes_retained_per_eval:
            points = torch.cat([zero, NEAR * self.reach * random])
        else:
            others = torch.cat([ideas, self.reach * random])
            share = torch.rand(len(others), 1, dtype=self.dtype, generator=noise) ** 0.5
            points = torch.cat([zero, others * share])[:count]
        if self.constraint is None:
            return points
        return self.project(torch.full((len(points),), self.row), points)

    def describe(self, value: float) -> str:
        return f"least loss {-value:.4g}"
