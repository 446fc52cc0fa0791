"""L-BFGS in the ball: for smooth functions.

The ball is the shadow of a sphere: δ = 2w/(1 + ‖w‖²) takes all of ℝ^p onto ‖δ‖ ≤ 1, and ‖w‖ = 1
onto its boundary, where its radial derivative is 0. So a maximum on the boundary is a stationary
point in w, and no step has to be projected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.core.vectors import into_ball
from wordsway.optimize.objective import Objective
from wordsway.optimize.solver import PointStates, Solver

#: Steps in w: the first one, the longest one, and the share of a step below which a point has
#: stalled.
FIRST, LONGEST, SHORTEST = 0.2, 1.0, 1e-6
#: This many consecutive steps that each gain less than this share of the value are a stall.
PATIENCE, LITTLE = 3, 1e-6
#: Number of stored pairs.
MEMORY = 8
#: Share of the expected gain that a step must attain, and the factor of a step that failed.
ENOUGH, SHRINK = 1e-4, 0.3
#: How far inside the ball a start is moved, so that the gradient in w can point both ways.
INSIDE = 0.995


def lower(w: torch.Tensor) -> torch.Tensor:
    """δ(w) in the unit ball.

    >>> lower(torch.tensor([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    return 2 * w / (1 + (w * w).sum(-1, keepdim=True))


def lift(delta: torch.Tensor) -> torch.Tensor:
    """The w with ‖w‖ ≤ 1 over δ, just inside the boundary."""
    delta = into_ball(delta, INSIDE)
    return delta / (1 + (1 - (delta * delta).sum(-1, keepdim=True)).clamp_min(0).sqrt())


def pull_back(w: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """∂/∂w of a function of δ(w), from its gradient in δ."""
    size = 1 + (w * w).sum(1, keepdim=True)
    return 2 * gradient / size - 4 * w * (w * gradient).sum(1, keepdim=True) / size**2


@dataclass(frozen=True)
class LBFGSState(PointStates):
    """``w`` over x/r and the gradient there (B, p); the last moves ``s`` and how the gradient fell
    along them, ``y`` (B, MEMORY, p), with ``rho`` = 1/s·y, 0 where no pair is stored; ``share`` of
    the next step that is tried; ``idle`` steps in a row.
    """

    w: torch.Tensor
    gradient: torch.Tensor
    s: torch.Tensor
    y: torch.Tensor
    rho: torch.Tensor
    share: torch.Tensor
    idle: torch.Tensor


@final
class LBFGS(Solver[LBFGSState]):
    """Limited-memory BFGS in lifted coordinates, each point with its own step and memory."""

    drops_stalled = False

    def init(self, objective: Objective, which: torch.Tensor, x: torch.Tensor) -> LBFGSState:
        return self._begin(objective, which, lift(x / _radius(objective, which, x)))

    def follow(self, objective: Objective, state: LBFGSState) -> LBFGSState:
        """Without a move off the boundary, which only a start needs, and with the last pair, which
        tells how long a step is.
        """
        found = self._begin(objective, state.which, state.w)
        for part, before in ((found.s, state.s), (found.y, state.y), (found.rho, state.rho)):
            part[:, -1] = before[:, -1]
        return found

    def _begin(self, objective: Objective, which: torch.Tensor, w: torch.Tensor) -> LBFGSState:
        x, value, gradient = _evaluate(objective, which, w, _radius(objective, which, w))
        B, p = w.shape
        return LBFGSState(
            which=which,
            x=x,
            value=value,
            w=w,
            gradient=gradient,
            s=w.new_zeros(B, MEMORY, p),
            y=w.new_zeros(B, MEMORY, p),
            rho=w.new_zeros(B, MEMORY),
            share=w.new_ones(B),
            idle=w.new_zeros(B),
        )

    def step(self, objective: Objective, state: LBFGSState) -> LBFGSState:
        """Take steps that rise enough, shorten the others; points that have stalled stay."""
        radius = _radius(objective, state.which, state.x)
        direction = _direction(state, objective.ceiling)
        w = state.w + state.share[:, None] * direction
        x, value, gradient = _evaluate(objective, state.which, w, radius)
        expected = state.share * (direction * state.gradient).sum(1)
        taken = (value > state.value + ENOUGH * expected) & ~self.stalled(state)
        moved = taken[:, None]
        s = w - state.w
        y = state.gradient - gradient
        curvature = (s * y).sum(1)
        learned = taken & (curvature > 1e-10 * s.norm(dim=1) * y.norm(dim=1))
        little = taken & (value - state.value < LITTLE * state.value.abs())
        idle = torch.where(taken, torch.zeros_like(state.idle), state.idle)
        return LBFGSState(
            which=state.which,
            x=torch.where(moved, x, state.x),
            value=torch.where(taken, value, state.value),
            w=torch.where(moved, w, state.w),
            gradient=torch.where(moved, gradient, state.gradient),
            s=_remember(state.s, s, learned),
            y=_remember(state.y, y, learned),
            rho=_remember(state.rho, 1 / curvature, learned),
            share=torch.where(taken, torch.ones_like(state.share), state.share * SHRINK),
            idle=torch.where(little, state.idle + 1, idle),
        )

    def stalled(self, state: LBFGSState) -> torch.Tensor:
        return (state.share <= SHORTEST) | (state.idle >= PATIENCE)


def _radius(objective: Objective, which: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return objective.radius(which).to(like.dtype)[:, None]


def _evaluate(
    objective: Objective, which: torch.Tensor, w: torch.Tensor, radius: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x = r·δ(w), the value there and its gradient in w."""
    x = radius * lower(w)
    value, gradient = objective.evaluate(which, x)
    return x, value, radius * pull_back(w, gradient)


def _remember(memory: torch.Tensor, latest: torch.Tensor, learned: torch.Tensor) -> torch.Tensor:
    """The memory (B, MEMORY, …) with the oldest entry replaced by the latest, where learned."""
    shifted = torch.cat([memory[:, 1:], latest[:, None]], 1)
    others = (~learned).nonzero().squeeze(1)
    shifted[others] = memory[others]
    return shifted


def _direction(state: LBFGSState, ceiling: float) -> torch.Tensor:
    """H·gradient by the two loops; without a memory, a step of length `FIRST` uphill, or less where
    a square that falls like the gradient would be 0 before: 2(ceiling − value)/‖gradient‖.
    """
    tiny = torch.finfo(state.w.dtype).tiny
    q = state.gradient.clone()
    remembered = (state.rho > 0).any(0).tolist()
    pairs = zip(state.s.unbind(1), state.y.unbind(1), state.rho.unbind(1), strict=True)
    used = [pair for pair, known in zip(pairs, remembered, strict=True) if known]
    alphas = []
    for s, y, rho in reversed(used):
        alpha = rho * (s * q).sum(1)
        q -= alpha[:, None] * y
        alphas.append(alpha)
    known = state.rho[:, -1] > 0
    scale = 1 / (state.rho[:, -1] * (state.y[:, -1] ** 2).sum(1)).clamp_min(tiny)
    slope = state.gradient.norm(dim=1).clamp_min(tiny)
    plain = (2 * (ceiling - state.value) / slope).clamp_max(FIRST) / slope
    r = torch.where(known, scale, plain)[:, None] * q
    for (s, y, rho), alpha in zip(used, reversed(alphas), strict=True):
        beta = rho * (y * r).sum(1)
        r += (alpha - beta)[:, None] * s
    size = r.norm(dim=1, keepdim=True)
    return r * (LONGEST / size).clamp_max(1.0)
