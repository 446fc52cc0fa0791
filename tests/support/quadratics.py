"""Objectives with known maxima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from wordsway.optimize import Objective

F64 = torch.float64


def random_symmetric(p: int, seed: int) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    A = torch.randn(p, p, dtype=F64, generator=noise)
    return (A + A.T) / 2


class Quadratics(Objective):
    """f_i(x) = ½(x − c_i)ᵀH_i(x − c_i) over ‖x‖ ≤ r_i. Sums run over one point at a time, so that
    a point's numbers are the same in every batch, to the last bit.
    """

    dtype = F64
    device = torch.device("cpu")

    def __init__(
        self,
        H: Sequence[torch.Tensor],
        radius: Sequence[float],
        centre: Sequence[torch.Tensor] | None = None,
        bytes_per_point: int = 1,
        bytes_retained_per_eval: int = 0,
    ) -> None:
        self.H = list(H)
        self.reach = torch.tensor(radius, dtype=F64)
        self.dimension = len(self.H[0])
        zero = torch.zeros(self.dimension, dtype=F64)
        self.centre = [zero] * len(self.H) if centre is None else list(centre)
        self.bytes_per_point = bytes_per_point
        self.bytes_retained_per_eval = bytes_retained_per_eval
        self.evaluated: list[int] = []

    def radius(self, which: torch.Tensor) -> torch.Tensor:
        return self.reach[which]

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.evaluated.append(len(which))
        values, gradients = [], []
        for i, point in zip(which.tolist(), x, strict=True):
            away = point - self.centre[i]
            gradient = self.H[i] @ away
            values.append(0.5 * away @ gradient)
            gradients.append(gradient)
        return torch.stack(values), torch.stack(gradients)

    def maximum(self, i: int) -> float:
        """½λ_max r², for a quadratic around zero."""
        assert not self.centre[i].any()
        top = float(torch.linalg.eigvalsh(self.H[i])[-1])
        return 0.5 * top * float(self.reach[i]) ** 2


class Recorder:
    """A progress that keeps what it was told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, stage: str, done: float, total: float, note: str = "") -> None:
        self.calls.append((stage, done, total, note))


def sphere_points(count: int, p: int, radius: float, seed: int = 0) -> torch.Tensor:
    x = torch.randn(count, p, dtype=F64, generator=torch.Generator().manual_seed(seed))
    return radius * x / x.norm(dim=1, keepdim=True)
