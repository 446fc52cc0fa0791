"""Conjugate gradients on the sphere: for functions where every new direction has its price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.optimize.objective import Objective
from wordsway.optimize.solver import Points, Solver
from wordsway.vectors import into_ball, unit

#: The first trial angle; the shortest and the longest.
FIRST, LEAST, MOST = 0.3, 1e-6, 1.0
#: An angle below this cannot improve anything worth having.
SHORTEST = 1e-5
_TINY = 1e-300


@dataclass(frozen=True)
class ConjugateState(Points):
    """``angle`` (B,) is the next one to try; ``direction`` (B, p) is the last direction, carried
    along and scaled by the norm of the tangent gradient.
    """

    gradient: torch.Tensor
    angle: torch.Tensor
    direction: torch.Tensor


@final
class Conjugate(Solver[ConjugateState]):
    """Conjugate gradients along great circles of the sphere ‖x‖ = r.

    From x = r·y the point moves to r(y cos θ + u sin θ) with u the conjugate direction
    (Polak–Ribière, restarted when it points downhill). A trial angle and the parabola through it
    choose θ. On a quadratic this converges like Lanczos, quadratically faster than power steps, and
    each step asks for a single new direction: what counts where every direction must be drawn.
    """

    def init(self, objective: Objective, which: torch.Tensor, x: torch.Tensor) -> ConjugateState:
        value, gradient = objective.value_and_gradient(which, x)
        first = torch.full_like(value, FIRST)
        return ConjugateState(which, x, value, gradient, first, torch.zeros_like(x))

    def step(self, objective: Objective, state: ConjugateState) -> ConjugateState:
        radius = objective.radius(state.which).to(state.x.dtype)[:, None]
        y = unit(state.x)
        slope = _tangent(state.gradient, y) * radius
        direction = slope + state.direction
        downhill = (direction * slope).sum(1) <= 0
        direction = torch.where(downhill[:, None], slope, direction)
        size = direction.norm(dim=1)
        u = unit(direction)
        rise = (slope * u).sum(1)

        def along(angle: torch.Tensor) -> torch.Tensor:
            circle = torch.cos(angle)[:, None] * y + torch.sin(angle)[:, None] * u
            return into_ball(radius * circle, radius)

        plane = objective.plane(state.which, radius * y, radius * u)
        trial = state.angle
        reached = plane.value(torch.cos(trial), torch.sin(trial))
        bend = (reached - state.value - rise * trial) / trial**2
        best = torch.where(bend < 0, -rise / (2 * bend.clamp_max(-_TINY)), 3 * trial)
        best = torch.maximum(torch.minimum(best, 4 * trial), 0.1 * trial).clamp_max(1.2)
        value = plane.value(torch.cos(best), torch.sin(best))
        angle = torch.where(value >= reached, best, trial)
        angle = torch.where(torch.maximum(value, reached) > state.value, angle, 0.0)
        x = along(angle)
        value, gradient = plane.value_and_gradient(torch.cos(angle), torch.sin(angle))
        better = (angle > 0) & (value >= state.value)
        moved = better[:, None]

        y_new = unit(x)
        slope_new = _tangent(gradient, y_new) * radius
        slope_old = _tangent(slope, y_new)
        change = (slope_new * (slope_new - slope_old)).sum(1)
        beta = (change / (slope * slope).sum(1).clamp_min(_TINY)).clamp_min(0)
        carried = torch.cos(angle)[:, None] * u - torch.sin(angle)[:, None] * y
        carried = (beta * size)[:, None] * _tangent(carried, y_new)
        return ConjugateState(
            which=state.which,
            x=torch.where(moved, x, state.x),
            value=torch.where(better, value, state.value),
            gradient=torch.where(moved, gradient, state.gradient),
            angle=torch.where(better, angle, 0.2 * trial).clamp(LEAST, MOST),
            direction=torch.where(moved, carried, 0.0),
        )

    def stalled(self, state: ConjugateState) -> torch.Tensor:
        return state.angle < SHORTEST


def _tangent(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The part of v orthogonal to the unit vector y."""
    return v - (v * y).sum(1, keepdim=True) * y
