"""Gradient ascent with momentum: for functions that are cheap to evaluate, and not smooth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.core.vectors import unit
from wordsway.optimize.objective import Objective
from wordsway.optimize.solver import PointStates, Solver

#: The first step, as a share of the radius, and the longest.
FIRST, LONGEST = 0.5, 1e3
#: A step shorter than this share of the radius cannot improve anything worth having.
SHORTEST = 1e-5
#: Factors of the step after an improvement and after a failure, and of the last move.
GROWTH, SHRINK, MOMENTUM = 1.3, 0.5, 0.5


@dataclass(frozen=True)
class AscentState(PointStates):
    """``step`` (B,) is a share of the radius; ``move`` (B, p) the last one, 0 after a failure."""

    gradient: torch.Tensor
    step: torch.Tensor
    move: torch.Tensor


@final
class Ascent(Solver[AscentState]):
    """Normalised gradient ascent in the ball or another set: x⁺ = Proj(x + η·r·∇/‖∇‖ + μ(x − x⁻)).

    η grows by 1.3 after an improvement and halves after a failure, where the momentum is dropped.
    """

    def init(self, objective: Objective, which: torch.Tensor, x: torch.Tensor) -> AscentState:
        value, gradient = objective.evaluate(which, x)
        first = torch.full_like(value, FIRST)
        return AscentState(which, x, value, gradient, first, torch.zeros_like(x))

    def step(self, objective: Objective, state: AscentState) -> AscentState:
        radius = objective.radius(state.which).to(state.x.dtype)
        move = (state.step * radius)[:, None] * unit(state.gradient) + MOMENTUM * state.move
        x = objective.step(state.which, state.x, move)
        value, gradient = objective.evaluate(state.which, x)
        better = value > state.value
        moved = better[:, None]
        step = torch.where(better, state.step * GROWTH, state.step * SHRINK)
        return AscentState(
            which=state.which,
            x=torch.where(moved, x, state.x),
            value=torch.where(better, value, state.value),
            gradient=torch.where(moved, gradient, state.gradient),
            step=step.clamp_max(LONGEST),
            move=torch.where(moved, x - state.x, 0.0),
        )

    def stalled(self, state: AscentState) -> torch.Tensor:
        return state.step < SHORTEST
