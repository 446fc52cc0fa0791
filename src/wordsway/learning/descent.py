"""Minimise a loss of two readouts over the ball ‖Δ‖ ≤ radius: many starts, one look per step, L-BFGS.

With u = f(X^i(Δ), θ*) and the alignment a = A(Δ), after an update f = u + a·(y − f(X, θ*)), and the changed text's label is −y:

    align      (a + 1)²
    direct     Err = (u + a·r + y)²,      r = y − f(X, θ*)
    penalised  Err + penalty·(u − u₀)²,   u₀ = f(X, θ*)
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass

import torch

from wordsway.errors import InputError
from wordsway.learning.readout import Readout
from wordsway.maps.base import View
from wordsway.seeds import generator
from wordsway.vectors import into_ball

LOSSES = ("align", "direct", "penalised")
#: Steps of L-BFGS, in w (below): the first one, the longest one, and the share of a step below which a point rests.
FIRST, LONGEST, SHORTEST = 0.2, 1.0, 1e-6
#: So many steps in a row that each gain less than this share end a descent.
PATIENCE, LITTLE = 3, 1e-6
#: A loss below this is zero, and nothing is better.
ZERO = 1e-18
#: Pairs that are remembered, the decrease that is asked for, and how many points go on after so many steps.
MEMORY, ENOUGH, EXPLORE, KEEP = 8, 1e-4, 40, 12


@dataclass(frozen=True)
class Loss:
    """A loss of (u, a) with its derivatives."""

    name: str
    y: float
    residual: float
    before: float
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise InputError(f"a loss among {', '.join(LOSSES)}", repr(self.name), "choose one of them")

    def error(self, u: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return (u + a * self.residual + self.y) ** 2

    def __call__(self, u: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Value, ∂/∂u, ∂/∂a."""
        if self.name == "align":
            return (a + 1) ** 2, torch.zeros_like(u), 2 * (a + 1)
        off = u + a * self.residual + self.y
        value, du, da = off**2, 2 * off, 2 * off * self.residual
        if self.name == "penalised":
            value, du = value + self.penalty * (u - self.before) ** 2, du + 2 * self.penalty * (u - self.before)
        return value, du, da


@dataclass(frozen=True)
class Reached:
    """The best Δ of one word and the loss there."""

    delta: torch.Tensor
    value: float


def descend(
    look: Readout,
    view: View,
    word: int,
    loss: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor, torch.Tensor]],
    radius: float,
    *,
    seed: int,
    starts: int,
    steps: int,
) -> Reached:
    """From Δ = 0, from what the view suggests, and from random points in the ball; after a while only the best go on."""
    w = _lifted(_starts(view, word, radius, starts, seed) / radius)

    def slope(w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value, gradient = _look(look, torch.full((len(w),), word), radius * _lowered(w), loss)
        return value, radius * _pulled(w, gradient)

    points = Descent(w, *slope(w))
    for step in range(steps):
        if step == EXPLORE and len(points.w) > KEEP:
            points = points.best(KEEP)
        if not bool(points.alive.any()) or float(points.value.min()) < ZERO:
            break
        tried = points.tried()
        points.judge(tried, *slope(tried))
    best = int(points.value.argmin())
    return Reached(radius * _lowered(points.w[best]), float(points.value[best]))


# The ball is the shadow of a sphere: δ = 2w/(1 + ‖w‖²) takes all of ℝ^d onto ‖δ‖ ≤ 1, and ‖w‖ = 1 onto its boundary, where its radial
# derivative is 0. So a minimum on the boundary is a stationary point in w, and no step has to be projected.


def _lowered(w: torch.Tensor) -> torch.Tensor:
    return 2 * w / (1 + (w * w).sum(-1, keepdim=True))


def _lifted(delta: torch.Tensor) -> torch.Tensor:
    """The w with ‖w‖ ≤ 1 over δ, just inside the boundary so that the gradient there can point both ways."""
    delta = into_ball(delta, 0.995)
    return delta / (1 + (1 - (delta * delta).sum(-1, keepdim=True)).clamp_min(0).sqrt())


def _pulled(w: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """∂/∂w of a function of δ(w), from its gradient in δ."""
    size = 1 + (w * w).sum(1, keepdim=True)
    return 2 * gradient / size - 4 * w * (w * gradient).sum(1, keepdim=True) / size**2


class Descent:
    """Many points that go downhill by L-BFGS side by side, each with its own step and memory."""

    def __init__(self, w: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> None:
        B, d = w.shape
        self.w, self.value, self.gradient = w, value, gradient
        self.s, self.y = w.new_zeros(B, MEMORY, d), w.new_zeros(B, MEMORY, d)
        self.rho = w.new_zeros(B, MEMORY)
        self.share, self.stalled = w.new_full((B,), 1.0), w.new_zeros(B)
        self._turn()

    @property
    def alive(self) -> torch.Tensor:
        """Points that have not come to rest: short neither of steps nor of progress."""
        return (self.share > SHORTEST) & (self.stalled < PATIENCE)

    def best(self, count: int) -> Descent:
        """The ``count`` lowest points, with all they know."""
        kept, order = copy(self), self.value.argsort()[:count]
        for name in ("w", "value", "gradient", "s", "y", "rho", "share", "stalled", "direction"):
            setattr(kept, name, getattr(self, name)[order])
        return kept

    def tried(self) -> torch.Tensor:
        return self.w + self.share[:, None] * self.direction

    def judge(self, w: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> None:
        """Take steps that go down enough; shorten the others."""
        expected = self.share * (self.direction * self.gradient).sum(1)
        taken = value < self.value + ENOUGH * expected
        s, y = w - self.w, gradient - self.gradient
        bent = (s * y).sum(1)
        learned = taken & (bent > 1e-10 * s.norm(dim=1) * y.norm(dim=1))
        for memory, latest in ((self.s, s), (self.y, y)):
            memory[learned] = torch.cat([memory[learned, 1:], latest[learned, None]], 1)
        self.rho[learned] = torch.cat([self.rho[learned, 1:], 1 / bent[learned, None]], 1)
        self.w = torch.where(taken[:, None], w, self.w)
        self.gradient = torch.where(taken[:, None], gradient, self.gradient)
        little = taken & (value > (1 - LITTLE) * self.value)
        self.stalled = torch.where(little, self.stalled + 1, torch.where(taken, 0.0, self.stalled))
        self.value = torch.where(taken, value, self.value)
        self.share = torch.where(taken, torch.ones_like(self.share), self.share * 0.3)
        self._turn()

    def _turn(self) -> None:
        """−H·gradient by the two loops; without a memory, a step of length `FIRST` downhill."""
        q, alphas = self.gradient.clone(), []
        for at in reversed(range(MEMORY)):
            alpha = self.rho[:, at] * (self.s[:, at] * q).sum(1)
            q -= alpha[:, None] * self.y[:, at]
            alphas.append(alpha)
        known = self.rho[:, -1] > 0
        scale = 1 / (self.rho[:, -1] * (self.y[:, -1] ** 2).sum(1)).clamp_min(1e-300)
        plain = FIRST / self.gradient.norm(dim=1).clamp_min(1e-300)
        r = torch.where(known, scale, plain)[:, None] * q
        for at in range(MEMORY):
            beta = self.rho[:, at] * (self.y[:, at] * r).sum(1)
            r += (alphas[MEMORY - 1 - at] - beta)[:, None] * self.s[:, at]
        size = r.norm(dim=1, keepdim=True)
        self.direction = -r * (LONGEST / size).clamp_max(1.0)


def _look(
    look: Readout, words: torch.Tensor, delta: torch.Tensor, loss: Callable[..., tuple[torch.Tensor, ...]]
) -> tuple[torch.Tensor, torch.Tensor]:
    readings, gradients = look(words, delta)
    value, du, da = loss(readings[:, 0], readings[:, 1])
    return value, du[:, None] * gradients[:, 0] + da[:, None] * gradients[:, 1]


def _starts(view: View, word: int, radius: float, count: int, seed: int) -> torch.Tensor:
    """Zero first (and alone where every direction has its price), then suggestions and their halves, then random points."""
    d, noise = view.X.shape[1], generator(seed, "descent", word)
    zero = torch.zeros(1, d, dtype=view.X.dtype)
    if view.bytes_per_look:
        return torch.cat(
            [zero, 0.01 * radius * torch.nn.functional.normalize(torch.randn(max(0, count - 1), d, dtype=view.X.dtype, generator=noise))]
        )
    hints = view.suggest(word, max(0, count // 2), radius, noise).to(view.X.dtype)
    wild = torch.nn.functional.normalize(torch.randn(max(0, count - 1 - len(hints)), d, dtype=view.X.dtype, generator=noise))
    scale = torch.rand(len(hints) + len(wild), 1, dtype=view.X.dtype, generator=noise) ** 0.5
    return torch.cat([zero, torch.cat([hints, radius * wild]) * scale])[:count]
