"""Minimise a loss of two readouts over the ball ‖Δ‖ ≤ radius: many starts, one look per step, projected steps that adapt.

With u = f(X^i(Δ), θ*) and the alignment a = A(Δ), after an update f = u + a·(y − f(X, θ*)), and the changed text's label is −y:

    align      (a + 1)²
    direct     Err = (u + a·r + y)²,      r = y − f(X, θ*)
    penalised  Err + penalty·(u − u₀)²,   u₀ = f(X, θ*)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from wordsway.errors import InputError
from wordsway.learning.readout import Readout
from wordsway.maps.base import View
from wordsway.seeds import generator
from wordsway.vectors import into_ball

LOSSES = ("align", "direct", "penalised")
#: First step and last one, as shares of the radius.
LONGEST, SHORTEST = 0.5, 1e-4


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
    """From Δ = 0, from what the view suggests, and from random points in the ball; every point keeps its own step."""
    delta = _starts(view, word, radius, starts, seed)
    words = torch.full((len(delta),), word)
    step = torch.full((len(delta), 1), LONGEST, dtype=delta.dtype)
    value, gradient = _look(look, words, delta, loss)
    for _ in range(steps):
        alive = (step[:, 0] > SHORTEST).nonzero().squeeze(1)
        if not len(alive):
            break
        length = gradient[alive].norm(dim=1, keepdim=True).clamp_min(1e-300)
        tried = into_ball(delta[alive] - step[alive] * radius * gradient[alive] / length, radius)
        found, slope = _look(look, words[alive], tried, loss)
        better = found < value[alive]
        taken = alive[better]
        delta[taken], value[taken], gradient[taken] = tried[better], found[better], slope[better]
        step[alive] = torch.where(better[:, None], (step[alive] * 1.4).clamp_max(2.0), step[alive] * 0.4)
    best = int(value.argmin())
    return Reached(delta[best], float(value[best]))


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
