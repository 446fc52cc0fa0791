"""Minimise a loss of two readouts over the ball ‖Δ‖ ≤ radius: many starts, one look per step,
L-BFGS.

With u = f(X^i(Δ), θ*) and the alignment a = A(Δ), after an update f = u + a·(y − f(X, θ*)), and the
changed text's label is −y:

    align      (a + 1)²
    direct     Err = (u + a·r + y)²,      r = y − f(X, θ*)
    penalised  Err + penalty·(u − u₀)²,   u₀ = f(X, θ*)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from wordsway.errors import InputError
from wordsway.maps.base import Readout, View
from wordsway.optimize.lbfgs import Descent, lifted, lowered, pulled
from wordsway.seeds import generator

LOSSES = ("align", "direct", "penalised")
#: A loss below this is zero, and nothing is better.
ZERO = 1e-18
#: How many points go on after so many steps.
KEEP, EXPLORE = 12, 40


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
            raise InputError(
                f"a loss among {', '.join(LOSSES)}", repr(self.name), "choose one of them"
            )

    def error(self, u: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
        return (u + a * self.residual + self.y) ** 2

    def __call__(
        self, u: torch.Tensor, a: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Value, ∂/∂u, ∂/∂a."""
        if self.name == "align":
            return (a + 1) ** 2, torch.zeros_like(u), 2 * (a + 1)
        off = u + a * self.residual + self.y
        value, du, da = off**2, 2 * off, 2 * off * self.residual
        if self.name == "penalised":
            value, du = (
                value + self.penalty * (u - self.before) ** 2,
                du + 2 * self.penalty * (u - self.before),
            )
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
    """From Δ = 0, from what the view suggests, and from random points in the ball; after a while
    only the best go on.
    """
    w = lifted(_starts(view, word, radius, starts, seed) / radius)

    def slope(w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        value, gradient = _look(look, torch.full((len(w),), word), radius * lowered(w), loss)
        return value, radius * pulled(w, gradient)

    points = Descent(w, *slope(w))
    for step in range(steps):
        if step == EXPLORE and len(points.w) > KEEP:
            points = points.best(KEEP)
        if not bool(points.alive.any()) or float(points.value.min()) < ZERO:
            break
        tried = points.tried()
        points.judge(tried, *slope(tried))
    best = int(points.value.argmin())
    return Reached(radius * lowered(points.w[best]), float(points.value[best]))


def _look(
    look: Readout,
    words: torch.Tensor,
    delta: torch.Tensor,
    loss: Callable[..., tuple[torch.Tensor, ...]],
) -> tuple[torch.Tensor, torch.Tensor]:
    readings, gradients = look(words, delta)
    value, du, da = loss(readings[:, 0], readings[:, 1])
    return value, du[:, None] * gradients[:, 0] + da[:, None] * gradients[:, 1]


def _starts(view: View, word: int, radius: float, count: int, seed: int) -> torch.Tensor:
    """Zero first (and alone where every direction has its price), then suggestions and their
    halves, then random points.
    """
    d, noise = view.X.shape[1], generator(seed, "descent", word)
    zero = torch.zeros(1, d, dtype=view.X.dtype)
    if view.bytes_per_look:
        return torch.cat(
            [
                zero,
                0.01
                * radius
                * torch.nn.functional.normalize(
                    torch.randn(max(0, count - 1), d, dtype=view.X.dtype, generator=noise)
                ),
            ]
        )
    hints = view.suggest(word, max(0, count // 2), radius, noise).to(view.X.dtype)
    wild = torch.nn.functional.normalize(
        torch.randn(max(0, count - 1 - len(hints)), d, dtype=view.X.dtype, generator=noise)
    )
    scale = torch.rand(len(hints) + len(wild), 1, dtype=view.X.dtype, generator=noise) ** 0.5
    return torch.cat([zero, torch.cat([hints, radius * wild]) * scale])[:count]
