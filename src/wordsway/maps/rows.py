"""Maps that keep the rows of a text: what happened to each row of φ after one row of X moved.

A wrapper (a residual stream, a norm, a read-out) acts on rows one by one. With
w_j = φ_j(X^i(Δ)) − φ_j(X) it needs of its inner map ‖w_j‖², the products b_j·w_j with a few fixed
vectors, row i itself and weighted sums of rows: numbers that attention has without ever writing
down the n×d changes. `RowView.moving` is that contract. Everything it returns is differentiable in
Δ by autograd, so a wrapper only defines its forward pass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import final

import torch

from wordsway.maps.base import Readout, View
from wordsway.maps.rigorous import norm_lower_bound


class RowChanges(ABC):
    """The changes w_j (D numbers each, n rows) for B pairs (i, Δ), seen with m fixed bases b."""

    #: w_i, (B, D): the row whose word moved.
    own: torch.Tensor
    #: ‖w_j‖², (B, n), and b_j·w_j for every base, (B, m, n).
    squares: torch.Tensor
    products: torch.Tensor

    @abstractmethod
    def total(self, weights: torch.Tensor) -> torch.Tensor:
        """Σ_j weights_j w_j: (B, n) → (B, D)."""

    @abstractmethod
    def dense(self) -> torch.Tensor:
        """All the w_j, (B, n, D)."""


#: moving(rows (B,), delta (B, d)) → the rows of φ after each move.
Moving = Callable[[torch.Tensor, torch.Tensor], RowChanges]


class RowView(View):
    """A view of a map whose features have one row for each row of the text."""

    #: φ(X), (n, D).
    rows_before: torch.Tensor
    #: How far each row of ``X`` may be from the text that is meant.
    text_error: float = 0.0

    @property
    def row_errors(self) -> torch.Tensor:
        """How far the rows of ``rows_before`` may be from φ(X) in exact arithmetic, (n,); +∞ where
        that is unknown.
        """
        return torch.full((len(self.X),), math.inf, dtype=torch.float64)

    @property
    def rounding(self) -> float:
        return float(self.row_errors.norm())

    @property
    def norm_below(self) -> float:
        """A lower bound of ‖φ(X)‖ in exact arithmetic, 0 where none is known."""
        return norm_lower_bound(self.rows_before, self.rounding)

    def allow_text_error(self, error: float) -> None:
        """Let certificates hold for every text whose rows are within ``error`` of ``X``."""
        self.text_error += error

    def rows_attending_to(self, i: int) -> torch.Tensor:
        """The rows of φ that can change when row i of the text moves, as a mask (n,)."""
        return torch.ones(len(self.X), dtype=torch.bool, device=self.X.device)

    @abstractmethod
    def moving(self, bases: torch.Tensor) -> Moving:
        """The rows after any move, with their products with ``bases`` (m, n, D)."""


class TracedView(RowView):
    """A view that computes its moved rows, and differentiates them by autograd."""

    #: ‖φ(X)‖.
    norm: float

    def change(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return self.square(rows, delta)

    def change_and_gradient(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            delta = delta.detach().requires_grad_(True)
            value = self.square(rows, delta)
            (gradient,) = torch.autograd.grad(value.sum(), delta)
        return value.detach(), gradient

    def square(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """S²(i, Δ), differentiable in Δ."""
        return self._without_bases(rows, delta).squares.sum(1) / self.norm**2

    @property
    def _without_bases(self) -> Moving:
        if not hasattr(self, "_moving"):
            self._moving = self.moving(self.rows_before.new_zeros(0, *self.rows_before.shape))
        return self._moving

    def readout(self, thetas: torch.Tensor) -> Readout:
        return RowReadout(self, thetas)


@final
class RowReadout(Readout):
    """φ(X^i(Δ))·θ = φ(X)·θ + Σ_j θ_j·w_j for each row θ of ``thetas`` (T, n·D); one backward pass
    per θ.
    """

    def __init__(self, view: RowView, thetas: torch.Tensor) -> None:
        theta = thetas.to(view.rows_before).reshape(-1, *view.rows_before.shape)
        self._moving = view.moving(theta)
        self._before = torch.einsum("tjd,jd->t", theta, view.rows_before)

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            delta = delta.detach().requires_grad_(True)
            value = self._before + self._moving(rows, delta).products.sum(2)
            slopes = [
                torch.autograd.grad(one.sum(), delta, retain_graph=True)[0]
                for one in value.unbind(1)
            ]
        return value.detach(), torch.stack(slopes, 1)


@final
class DenseRows(RowChanges):
    """Changes stored in full.

    >>> w = torch.ones(1, 2, 3)
    >>> moved = DenseRows(torch.tensor([1]), w, torch.zeros(0, 2, 3))
    >>> moved.squares.tolist(), moved.total(torch.tensor([[1.0, 2.0]])).tolist()
    ([[3.0, 3.0]], [[3.0, 3.0, 3.0]])
    """

    def __init__(self, rows: torch.Tensor, changes: torch.Tensor, bases: torch.Tensor) -> None:
        self._rows, self._changes, self._bases = rows, changes, bases

    @cached_property
    def own(self) -> torch.Tensor:  # type: ignore[override]
        return self._changes[torch.arange(len(self._rows), device=self._rows.device), self._rows]

    @cached_property
    def squares(self) -> torch.Tensor:  # type: ignore[override]
        return (self._changes * self._changes).sum(-1)

    @cached_property
    def products(self) -> torch.Tensor:  # type: ignore[override]
        return torch.einsum("bjd,mjd->bmj", self._changes, self._bases)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bj,bjd->bd", weights, self._changes)

    def dense(self) -> torch.Tensor:
        return self._changes


def at_rows(rows: torch.Tensor, n: int) -> torch.Tensor:
    """A mask (B, n) of each point's own row."""
    return rows[:, None] == torch.arange(n, device=rows.device)
