"""Conjugate gradients on the sphere: for functions where every new direction is costly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.core.vectors import into_ball, unit
from wordsway.optimize.objective import Objective
from wordsway.optimize.solver import PointStates, Solver

#: The first trial angle; the shortest and the longest.
FIRST, LEAST, MOST = 0.3, 1e-6, 1.0
#: An angle below this gives no useful improvement.
SHORTEST = 1e-5
#: The parabola through a trial angle proposes the next one. It is trusted between a tenth of the
#: trial, below which it would be rounding that proposes, and four times the trial, beyond which it
#: is extrapolated too far; never beyond 1.2, since f on a great circle is periodic and a parabola
#: is not. Where it bends upwards it has no maximum: three times the trial is tried.
NEAREST, FARTHEST, LARGEST, UPWARDS = 0.1, 4.0, 1.2, 3.0
#: The factor of the trial angle after a step that failed.
SHRINK = 0.2
_TINY = 1e-300


@dataclass(frozen=True)
class ConjugateState(PointStates):
    """``angle`` (B,) is the next one to try; ``slope`` (B, p) the tangent gradient at the last
    point and ``carried`` the direction taken from there, as it arrives here: 0 before the first
    step, and after one that failed.
    """

    gradient: torch.Tensor
    angle: torch.Tensor
    slope: torch.Tensor
    carried: torch.Tensor


@final
class Conjugate(Solver[ConjugateState]):
    """Conjugate gradients along great circles of the sphere ‖x‖ = r.

    From x = r·y the point moves to r(y cos θ + u sin θ) with u the conjugate direction
    (Polak–Ribière, restarted when it points downhill). A trial angle and the parabola through it
    choose θ. On a quadratic this converges like Lanczos, quadratically faster than power steps, and
    each step uses a single new direction, which matters where every direction must be drawn.
    """

    def init(self, objective: Objective, which: torch.Tensor, x: torch.Tensor) -> ConjugateState:
        value, gradient = objective.evaluate(which, x)
        first = torch.full_like(value, FIRST)
        nothing = torch.zeros_like(x)
        return ConjugateState(which, x, value, gradient, first, nothing, nothing)

    def step(self, objective: Objective, state: ConjugateState) -> ConjugateState:
        return self._step(objective, state, last=False)

    def last_step(self, objective: Objective, state: ConjugateState) -> ConjugateState:
        """No gradient at the new point: it would cost a direction that is not used."""
        return self._step(objective, state, last=True)

    def _step(self, objective: Objective, state: ConjugateState, *, last: bool) -> ConjugateState:
        radius = objective.radius(state.which).to(state.x.dtype)[:, None]
        y = unit(state.x)
        slope = _tangent(state.gradient, y) * radius
        change = (slope * (slope - _tangent(state.slope, y))).sum(1)
        beta = (change / (state.slope * state.slope).sum(1).clamp_min(_TINY)).clamp_min(0)
        direction = slope + beta[:, None] * _tangent(state.carried, y)
        downhill = (direction * slope).sum(1) <= 0
        direction = torch.where(downhill[:, None], slope, direction)
        size = direction.norm(dim=1, keepdim=True)
        u = unit(direction)
        rise = (slope * u).sum(1)

        plane = objective.plane(state.which, radius * y, radius * u)
        trial = state.angle
        reached = plane.value(torch.cos(trial), torch.sin(trial))
        bend = (reached - state.value - rise * trial) / trial**2
        best = torch.where(bend < 0, -rise / (2 * bend.clamp_max(-_TINY)), UPWARDS * trial)
        best = torch.maximum(torch.minimum(best, FARTHEST * trial), NEAREST * trial)
        best = best.clamp_max(LARGEST)
        value = plane.value(torch.cos(best), torch.sin(best))
        angle = torch.where(value >= reached, best, trial)
        value = torch.maximum(value, reached)
        angle = torch.where(value > state.value, angle, 0.0)
        c, s = torch.cos(angle), torch.sin(angle)
        gradient = state.gradient
        if not last:
            value, gradient = plane.value_and_gradient(c, s)
        better = (angle > 0) & (value >= state.value)
        moved = better[:, None]
        c, s = c[:, None], s[:, None]
        return ConjugateState(
            which=state.which,
            x=torch.where(moved, into_ball(radius * (c * y + s * u), radius), state.x),
            value=torch.where(better, value, state.value),
            gradient=torch.where(moved, gradient, state.gradient),
            angle=torch.where(better, angle, SHRINK * trial).clamp(LEAST, MOST),
            slope=slope,
            carried=torch.where(moved, size * (c * u - s * y), 0.0),
        )

    def stalled(self, state: ConjugateState) -> torch.Tensor:
        return state.angle < SHORTEST


def _tangent(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The part of v orthogonal to the unit vector y."""
    return v - (v * y).sum(1, keepdim=True) * y
