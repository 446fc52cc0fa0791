"""The solver interface: move a batch of points uphill, and report which of them have stalled.

Every solver has its own state, a dataclass that extends `PointStates` with the fields it needs;
each of its tensors has one entry per point, so that points can be picked and put back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, Self, TypeVar

import torch

from wordsway.optimize.objective import Objective


@dataclass(frozen=True)
class PointStates:
    """B points at once: the problem each belongs to, x (B, p), and the value there (B,).

    >>> x = torch.tensor([[0.0], [1.0], [2.0]])
    >>> points = PointStates(torch.tensor([0, 0, 1]), x, x[:, 0])
    >>> points.select(torch.tensor([1])).value.item()
    1.0
    """

    which: torch.Tensor
    x: torch.Tensor
    value: torch.Tensor

    def select(self, index: torch.Tensor) -> Self:
        """The points at ``index``, with their solver state."""
        return replace(self, **{name: part[index] for name, part in self._parts()})

    def put(self, index: torch.Tensor, points: Self) -> Self:
        """This state with the points at ``index`` replaced."""
        new = {
            name: part.index_copy(0, index, getattr(points, name)) for name, part in self._parts()
        }
        return replace(self, **new)

    @classmethod
    def joined(cls, states: Sequence[Self]) -> Self:
        """The points of several states, one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: torch.cat([getattr(part, name) for part in states]) for name in names})

    def joined_with(self, other: Self, problems: int) -> Self:
        """The points of each problem, those of this state before those of the other."""
        parts = [len(part.value) // problems for part in (self, other)]
        own = torch.arange(problems * parts[0]).reshape(problems, -1)
        more = torch.arange(problems * parts[1]).reshape(problems, -1) + problems * parts[0]
        index = torch.cat([own, more], 1).flatten().to(self.value.device)
        return type(self).joined([self, other]).select(index)

    def best(self, problems: int, keep: int) -> Self:
        """The best ``keep`` points of each problem; those of a problem stand together."""
        count = len(self.value) // problems
        if keep >= count:
            return self
        index = self.value.reshape(problems, count).topk(keep, dim=1).indices
        first = count * torch.arange(problems, device=index.device)[:, None]
        return self.select((index + first).flatten())

    def _parts(self) -> list[tuple[str, torch.Tensor]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


S = TypeVar("S", bound=PointStates)


class Solver(ABC, Generic[S]):
    """One way to climb; a point never goes down."""

    #: Whether points that have stalled leave the batch. A solver whose steps magnify the last bit
    #: keeps them, since the shape of a batch decides how its products are rounded.
    drops_stalled: bool = True

    @abstractmethod
    def init(self, objective: Objective, which: torch.Tensor, x: torch.Tensor) -> S:
        """Evaluate the starting points."""

    @abstractmethod
    def step(self, objective: Objective, state: S) -> S:
        """One move of every point; a point that cannot improve stays where it is."""

    def last_step(self, objective: Objective, state: S) -> S:
        """A move of every point after which only x and value are read."""
        return self.step(objective, state)

    def follow(self, objective: Objective, state: S) -> S:
        """The same points, ready to climb another function."""
        return self.init(objective, state.which, state.x)

    @abstractmethod
    def stalled(self, state: S) -> torch.Tensor:
        """Which points (B,) cannot improve any further."""


AnySolver = Solver[Any]
