"""What is maximised: a function of points in balls, one ball per problem."""

from __future__ import annotations

from typing import Protocol

import torch

from wordsway.optimize.plan import Plan


class View(Protocol):
    """A map seen from one sample, as far as a search asks it."""

    X: torch.Tensor
    plan: Plan

    def change(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor: ...

    def change_and_gradient(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]: ...

    def suggest(
        self, row: int, count: int, radius: float, noise: torch.Generator
    ) -> torch.Tensor: ...

    @property
    def bytes_per_row(self) -> int: ...

    @property
    def bytes_per_look(self) -> int: ...
