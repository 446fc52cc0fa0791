"""Minimise over the unit ball from many points side by side, by L-BFGS.

The ball is the shadow of a sphere: δ = 2w/(1 + ‖w‖²) takes all of ℝ^d onto ‖δ‖ ≤ 1, and ‖w‖ = 1
onto its boundary, where its radial derivative is 0. So a minimum on the boundary is a stationary
point in w, and no step has to be projected.
"""

from __future__ import annotations

from copy import copy

import torch

from wordsway.vectors import into_ball

#: Steps of L-BFGS, in w: the first one, the longest one, and the share of a step below which a
#: point rests.
FIRST, LONGEST, SHORTEST = 0.2, 1.0, 1e-6
#: So many steps in a row that each gain less than this share end a descent.
PATIENCE, LITTLE = 3, 1e-6
#: Pairs that are remembered, and the decrease that is asked for.
MEMORY, ENOUGH = 8, 1e-4


def lowered(w: torch.Tensor) -> torch.Tensor:
    """δ(w)."""
    return 2 * w / (1 + (w * w).sum(-1, keepdim=True))


def lifted(delta: torch.Tensor) -> torch.Tensor:
    """The w with ‖w‖ ≤ 1 over δ, just inside the boundary so that the gradient there can point both
    ways.
    """
    delta = into_ball(delta, 0.995)
    return delta / (1 + (1 - (delta * delta).sum(-1, keepdim=True)).clamp_min(0).sqrt())


def pulled(w: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
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
        return self.only(self.value.argsort()[:count])

    def only(self, which: torch.Tensor) -> Descent:
        """These points, with all they know."""
        kept = copy(self)
        for name in ("w", "value", "gradient", "s", "y", "rho", "share", "stalled", "direction"):
            setattr(kept, name, getattr(self, name)[which])
        return kept

    def tried(self) -> torch.Tensor:
        return self.w + self.share[:, None] * self.direction

    def judge(self, w: torch.Tensor, value: torch.Tensor, gradient: torch.Tensor) -> None:
        """Take steps that go down enough, shorten the others; points at rest stay there, whatever
        the others do.
        """
        expected = self.share * (self.direction * self.gradient).sum(1)
        taken = (value < self.value + ENOUGH * expected) & self.alive
        s, y = w - self.w, gradient - self.gradient
        bent = (s * y).sum(1)
        learned = taken & (bent > 1e-10 * s.norm(dim=1) * y.norm(dim=1))
        for memory, latest in ((self.s, s), (self.y, y)):
            memory[learned] = torch.cat([memory[learned, 1:], latest[learned, None]], 1)
        self.rho[learned] = torch.cat([self.rho[learned, 1:], 1 / bent[learned, None]], 1)
        self.w = torch.where(taken[:, None], w, self.w)
        self.gradient = torch.where(taken[:, None], gradient, self.gradient)
        little = taken & (self.value - value < LITTLE * self.value.abs())
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
