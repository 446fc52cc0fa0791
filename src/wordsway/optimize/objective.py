"""The objective: a function of points in balls, one ball per problem, or in another set."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch

from wordsway.constraints import Constraint
from wordsway.core.vectors import into_ball


class Plane(Protocol):
    """f_i at points c·a + s·b of a plane for each of B points, c and s (B,)."""

    def value(self, c: torch.Tensor, s: torch.Tensor) -> torch.Tensor: ...

    def value_and_gradient(
        self, c: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]: ...


class Objective(ABC):
    """f_i(x) for x ∈ ℝ^p with ‖x‖ ≤ r_i, where i numbers the problems (rows of a text, say).

    All evaluations are batched: ``which`` (B,) is the problem that each point of x (B, p) belongs
    to; values are (B,), gradients (B, p). Points of a batch are independent. An objective defines
    `value_and_gradient`, and searches call `evaluate` and `values`, which respect ``at_once``.
    """

    #: p, and the arithmetic of points and values.
    dimension: int
    dtype: torch.dtype
    device: torch.device
    #: The set that each of ``rows_moved`` equal parts of x is taken from; None for the ball.
    constraint: Constraint | None = None
    rows_moved: int = 1
    #: Working memory of one point of a batch, so that the driver can size its batches.
    bytes_per_point: int = 0
    #: Memory that one evaluation at a new point retains permanently; 0 if it retains none.
    bytes_retained_per_eval: int = 0
    #: More points than this at a time gain nothing, where that is known.
    max_batch: int | None = None
    #: Points evaluated at a time, at most; the driver sets it as its memory allows.
    at_once: int | None = None
    #: A problem whose value exceeds this is solved: nothing is better.
    enough: float = math.inf
    #: An upper bound on all values, if one is known.
    ceiling: float = math.inf

    @abstractmethod
    def radius(self, which: torch.Tensor) -> torch.Tensor:
        """r_i for each point, (B,), in float64; x is not longer in any other set, either."""

    def project(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """A point near each x (B, …, p) that its problem allows."""
        if self.constraint is None:
            radius = self.radius(which).to(x.dtype)
            return into_ball(x, radius.reshape(-1, *[1] * (x.ndim - 1)))
        return self.constraint.project(self._split(x)).flatten(-2)

    def step(self, which: torch.Tensor, x: torch.Tensor, move: torch.Tensor) -> torch.Tensor:
        """A point (B, p) uphill of each x where ``move`` points uphill, that its problem allows."""
        if self.constraint is None:
            return self.project(which, x + move)
        return self.constraint.step(self._split(x), self._split(move)).flatten(-2)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.rows_moved, -1))

    @abstractmethod
    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """f_i(x) and its gradient with respect to x."""

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """f_i(x) alone, where that is cheaper."""
        return self.value_and_gradient(which, x)[0]

    def bounded(self, points: int | None) -> Self:
        """The same function, evaluated at no more than ``points`` points at a time, nor at more
        than ``max_batch``.
        """
        objective = copy.copy(self)
        limits = [limit for limit in (points, self.max_batch) if limit is not None]
        objective.at_once = max(1, min(limits)) if limits else None
        return objective

    def evaluate(self, which: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """`value_and_gradient`, ``at_once`` points at a time."""
        if not self.exceeded_by(which):
            return self.value_and_gradient(which, x)
        parts = zip(which.split(self.at_once or 1), x.split(self.at_once or 1), strict=True)
        found = [self.value_and_gradient(*part) for part in parts]
        return torch.cat([value for value, _ in found]), torch.cat([slope for _, slope in found])

    def values(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """`value`, ``at_once`` points at a time."""
        if not self.exceeded_by(which):
            return self.value(which, x)
        parts = zip(which.split(self.at_once or 1), x.split(self.at_once or 1), strict=True)
        return torch.cat([self.value(*part) for part in parts])

    def exceeded_by(self, which: torch.Tensor) -> bool:
        """Whether these are more points than are evaluated at a time."""
        return self.at_once is not None and len(which) > self.at_once

    def smoothed(self, width: float) -> Objective:
        """The function with its kinks rounded over ``width``; itself where it has none."""
        return self

    def plane(self, which: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Plane:
        """f_i on the planes of a and b, (B, p) each, for callers that evaluate several points."""
        return PlainPlane(self, which, a, b)

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        """Up to ``count`` points of each problem that are worth starting from, (P, m, p) with
        m ≤ count; none by default. Each problem has its own noise.
        """
        return torch.zeros(len(problems), 0, self.dimension, dtype=self.dtype, device=self.device)

    def landmark(self, problem: int) -> torch.Tensor | None:
        """A point (p,) around which random samples are worth taking; none by default."""
        return None

    def describe(self, value: float) -> str:
        """Format a value for progress messages."""
        return f"best {value:.4g}"


@dataclass(frozen=True)
class PlainPlane:
    """A plane whose points are evaluated one by one."""

    objective: Objective
    which: torch.Tensor
    a: torch.Tensor
    b: torch.Tensor

    def value(self, c: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        return self.objective.values(self.which, c[:, None] * self.a + s[:, None] * self.b)

    def value_and_gradient(
        self, c: torch.Tensor, s: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x = c[:, None] * self.a + s[:, None] * self.b
        return self.objective.evaluate(self.which, x)
