"""Solvers: they know steps, not maps.

A solver moves a batch of points (word i, Δ) uphill; each point keeps its own step length, never
goes down, and shortens its step where it failed to improve. ``init`` evaluates the starts, ``step``
makes one move of every point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import final

import torch

from wordsway.optimize.objective import View
from wordsway.vectors import into_ball, unit

_TINY = 1e-300


@dataclass(frozen=True)
class State:
    """B points at once: the word, Δ, S² and its gradient at each; ``step`` and ``momentum`` belong
    to the solver.
    """

    words: torch.Tensor
    delta: torch.Tensor
    value: torch.Tensor
    gradient: torch.Tensor
    step: torch.Tensor
    momentum: torch.Tensor

    def select(self, rows: torch.Tensor) -> State:
        return State(*(getattr(self, field.name)[rows] for field in fields(self)))

    def put(self, rows: torch.Tensor, part: State) -> State:
        """This state with ``rows`` replaced by those of ``part``."""
        return State(
            *(
                getattr(self, f.name).index_copy(0, rows, getattr(part, f.name))
                for f in fields(self)
            )
        )

    @staticmethod
    def join(states: list[State]) -> State:
        return State(
            *(
                torch.cat([getattr(state, field.name) for state in states])
                for field in fields(State)
            )
        )


class Solver(ABC):
    """One way to climb."""

    first_step: float

    def init(self, view: View, words: torch.Tensor, delta: torch.Tensor) -> State:
        value, gradient = view.change_and_gradient(words, delta)
        return State(
            words,
            delta,
            value,
            gradient,
            torch.full_like(value, self.first_step),
            torch.zeros_like(delta),
        )

    @abstractmethod
    def step(self, view: View, state: State, radius: float) -> State:
        """One move of every point; a point that cannot improve stays and shortens its step."""


@final
class Ascent(Solver):
    """Normalised gradient ascent in the ball: Δ⁺ = Proj(Δ + η·r·∇/‖∇‖ + μ(Δ − Δ⁻)).

    η grows by 1.3 after an improvement and halves after a failure; the momentum is dropped at a
    failure.
    """

    first_step = 0.5
    growth, shrink, memory = 1.3, 0.5, 0.5

    def step(self, view: View, state: State, radius: float) -> State:
        move = (state.step * radius)[:, None] * unit(state.gradient) + self.memory * state.momentum
        delta = into_ball(state.delta + move, radius)
        value, gradient = view.change_and_gradient(state.words, delta)
        better = value > state.value
        keep = better[:, None]
        return replace(
            state,
            delta=torch.where(keep, delta, state.delta),
            value=torch.where(better, value, state.value),
            gradient=torch.where(keep, gradient, state.gradient),
            step=torch.where(better, state.step * self.growth, state.step * self.shrink).clamp_max(
                1e3
            ),
            momentum=torch.where(keep, delta - state.delta, 0.0),
        )


@final
class ConjugateAscent(Solver):
    """Conjugate gradients along great circles of the sphere ‖Δ‖ = r.

    From Δ = r·y the point moves to r(y cos θ + u sin θ) with u the conjugate direction
    (Polak–Ribière, restarted when it points downhill). A trial angle and the parabola through it
    choose θ. On a quadratic this converges like Lanczos, quadratically faster than power steps, and
    each step asks for a single new direction: what counts where every direction must be drawn.
    ``momentum`` holds the last direction, scaled by the tangent gradient's norm.
    """

    first_step = 0.3

    def step(self, view: View, state: State, radius: float) -> State:
        y = unit(state.delta)
        slope = _tangent(state.gradient, y) * radius
        direction = slope + state.momentum
        downhill = (direction * slope).sum(1) <= 0
        direction = torch.where(downhill[:, None], slope, direction)
        size = direction.norm(dim=1)
        u = unit(direction)
        rise = (slope * u).sum(1)

        def at(angle: torch.Tensor) -> torch.Tensor:
            return into_ball(
                radius * (torch.cos(angle)[:, None] * y + torch.sin(angle)[:, None] * u), radius
            )

        trial = state.step
        reached = view.change(state.words, at(trial))
        bend = (reached - state.value - rise * trial) / trial**2
        best = torch.where(bend < 0, -rise / (2 * bend.clamp_max(-_TINY)), 3 * trial)
        best = torch.maximum(torch.minimum(best, 4 * trial), 0.1 * trial).clamp_max(1.2)
        value = view.change(state.words, at(best))
        angle = torch.where(value >= reached, best, trial)
        angle = torch.where(torch.maximum(value, reached) > state.value, angle, 0.0)
        delta = at(angle)
        value, gradient = view.change_and_gradient(state.words, delta)
        moved = (angle > 0) & (value >= state.value)
        keep = moved[:, None]

        y_new = unit(delta)
        slope_new = _tangent(gradient, y_new) * radius
        slope_old = _tangent(slope, y_new)
        beta = (
            (slope_new * (slope_new - slope_old)).sum(1) / (slope * slope).sum(1).clamp_min(_TINY)
        ).clamp_min(0)
        carried = torch.cos(angle)[:, None] * u - torch.sin(angle)[:, None] * y
        return replace(
            state,
            delta=torch.where(keep, delta, state.delta),
            value=torch.where(moved, value, state.value),
            gradient=torch.where(keep, gradient, state.gradient),
            step=torch.where(moved, angle, 0.2 * trial).clamp(1e-6, 1.0),
            momentum=torch.where(keep, (beta * size)[:, None] * _tangent(carried, y_new), 0.0),
        )


def _tangent(v: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The part of v orthogonal to the unit vector y."""
    return v - (v * y).sum(1, keepdim=True) * y
