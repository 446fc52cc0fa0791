"""What a search of sensitivity climbs: the squared relative change of a map's view."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.base import View
from wordsway.optimize import Objective
from wordsway.optimize.objective import Plane


@final
class Change(Objective):
    """S²(i, Δ) of a map's view over ‖Δ‖ ≤ radius: one problem per row i."""

    def __init__(self, view: View, radius: float) -> None:
        self.view = view
        self.reach = radius
        self.dimension = view.X.shape[1]
        self.dtype = view.X.dtype
        self.device = view.X.device
        self.bytes_per_point = view.bytes_per_point
        self.bytes_kept = view.bytes_kept
        self.together = view.together

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return torch.full((len(which),), self.reach, dtype=torch.float64, device=self.device)

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return self.view.change(which, x)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.view.change_and_gradient(which, x)

    def smoothed(self, width: float) -> Change:
        return Change(self.view.smoothed(width), self.reach)

    def plane(self, which: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Plane:
        return self.view.plane(which, a, b) or super().plane(which, a, b)

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.view.suggest(problems, count, self.reach, noise)

    def landmark(self, problem: int) -> torch.Tensor:
        """−x_i, where the row is erased and a map that does not see lengths can point anywhere."""
        return -self.view.X[problem]

    def describe(self, value: float) -> str:
        return f"best S {math.sqrt(max(0.0, value)):.4g}"
