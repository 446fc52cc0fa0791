"""Maps that keep the rows of a text: what happened to each row of φ after one row of X moved.

A wrapper (a residual stream, a norm, a read-out) acts on rows one by one. With
w_j = φ_j(X^i(Δ)) − φ_j(X) it needs of its inner map ‖w_j‖², the products b_j·w_j with a few fixed
vectors, row i itself and weighted sums of rows, which attention has without the n×d changes
(`RowView.moving`). All of them are differentiable in Δ by autograd.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, final

import torch

from wordsway.maps.base import Readout, TracedReadout, View
from wordsway.maps.rigorous import SAFE, Certificate, norm_lower_bound


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

    #: φ(X), (n, D), and its norm.
    rows_before: torch.Tensor
    norm: float
    #: How far each row of ``X`` may be from the text that is meant.
    text_error: float = 0.0

    @property
    def row_errors(self) -> torch.Tensor:
        """How far each row of ``rows_before`` may be off, (n,); +∞ where that is unknown."""
        return torch.full((len(self.X),), math.inf, dtype=torch.float64)

    @property
    def rounding(self) -> float:
        return float(self.row_errors.norm())

    @property
    def norm_below(self) -> float:
        """A lower bound of ‖φ(X)‖ in exact arithmetic, 0 where none is known."""
        return norm_lower_bound(self.rows_before, self.rounding)

    def certified_moves(self, found: Certificate) -> list[float]:
        """How far all rows together move at most, by a relative certificate of this view."""
        size = float(self.rows_before.norm()) + float(self.row_errors.norm())
        return [upper * size * SAFE for upper in found.upper.tolist()]

    def allow_text_error(self, error: float) -> None:
        """Let certificates hold for every text whose rows are within ``error`` of ``X``."""
        self.text_error += error

    def rows_attending_to(self, i: int) -> torch.Tensor:
        """The rows of φ that can change when row i of the text moves, as a mask (n,)."""
        return torch.ones(len(self.X), dtype=torch.bool, device=self.X.device)

    @abstractmethod
    def moving(self, bases: torch.Tensor) -> Moving:
        """The rows after any move, with their products with ``bases`` (m, n, D)."""

    @cached_property
    def moving_alone(self) -> Moving:
        """The rows after any move, without bases."""
        return self.moving(self.rows_before.new_zeros(0, *self.rows_before.shape))

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return self.moving_alone(rows, delta).squares.sum(1) / self.norm**2

    def readout(self, thetas: torch.Tensor) -> Readout:
        """φ(X^i(Δ))·θ = φ(X)·θ + Σ_j θ_j·w_j for each row θ of ``thetas`` (T, n·D)."""
        theta = thetas.to(self.rows_before).reshape(-1, *self.rows_before.shape)
        moving = self.moving(theta)
        before = torch.einsum("tjd,jd->t", theta, self.rows_before)
        return TracedReadout(lambda *move: before + moving(*move).products.sum(2), before)


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


#: The rows that the points of a batch move, each with the index of its points.
Groups = Sequence[tuple[int, Any]]


def by_row(rows: torch.Tensor) -> Groups:
    """The points of a batch by the row that they move."""
    found = [int(rows)] if len(rows) == 1 else rows.unique().tolist()
    if len(found) == 1:
        return [(found[0], slice(None))]
    return [(i, (rows == i).nonzero().squeeze(1)) for i in found]


def gathered(groups: Groups, parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """What was computed group by group, in the order of the batch."""
    if len(parts) == 1:
        return parts[0]
    order = torch.cat([points for _, points in groups])
    return torch.cat(list(parts))[order.argsort()]


class Derived(torch.autograd.Function):
    """``apply(delta, function)`` returns the tensors that function(delta) returns first, and
    differentiates them by what it returns second: from their slopes to the gradient in Δ.
    """

    @staticmethod
    def forward(ctx: Any, delta: torch.Tensor, function: Callable[[torch.Tensor], Any]) -> Any:
        found, ctx.pull = function(delta)
        return found

    @staticmethod
    def backward(ctx: Any, *slopes: Any) -> Any:
        return ctx.pull(*slopes), None
