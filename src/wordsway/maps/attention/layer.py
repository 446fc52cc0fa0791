"""Attention with one matrix or with heads: which rows attend to which keys, and the shared view."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Generic, TypeVar

import torch

from wordsway.maps.attention.certificates.rounding import HeadsErrors, LayerErrors
from wordsway.maps.rigorous import norm_lower_bound
from wordsway.maps.rows import RowView
from wordsway.optimize.plan import Plan

#: Below this many multiplications in one product of a search, a second thread does not pay.
SMALL = 4_000_000
#: Widths over which kinks are rounded, in units of a score.
WIDTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def plan_for(n: int, d: int, *, kinks: bool = False) -> Plan:
    """How to search. Functions with ``kinks`` have their maxima on them: a maximum is followed from
    a smooth function to the function itself. Up to n = d the smoothest one has the best maxima in
    the right order; beyond, rounding that much prefers wrong places, and more points are kept.
    """
    if kinks:
        plan = Plan("lbfgs", 24, 20, keep=5, steps=40, rounds=0, groups=3, abreast=3, widths=WIDTHS)
        if n <= d:
            return plan
        return replace(plan, groups=4, abreast=4, starts=40, keep=8, widths=WIDTHS[2:])
    return Plan(groups=3, abreast=3, starts=32, keep=8, rounds=1, children=32)


class AttentionLayer(ABC):
    """An attention layer at one text X (n×d): scores ``s`` (n, n) or (H, n, n), features ``phi``
    (n×d) and their ``norm``. Certificates hold for every text whose rows are within ``text_error``
    of X.
    """

    X: torch.Tensor
    s: torch.Tensor
    phi: torch.Tensor
    norm: float
    text_error: float = 0.0

    @property
    @abstractmethod
    def errors(self) -> LayerErrors | HeadsErrors:
        """How far this float64 layer is from exact arithmetic."""

    @cached_property
    def norm_below(self) -> float:
        """A lower bound of ‖φ(X)‖ in exact arithmetic."""
        return norm_lower_bound(self.phi, float(self.errors.rows.norm()))

    @cached_property
    def _visible(self) -> torch.Tensor:
        """Whether row j attends to key l ≠ j in any head, (n, n)."""
        visible = self.s > -math.inf
        visible = visible.any(0) if visible.ndim == 3 else visible
        return visible & ~torch.eye(len(self.X), dtype=torch.bool, device=self.X.device)

    def rows_attending_to(self, i: int) -> torch.Tensor:
        """The rows j ≠ i that attend to key i, as a mask (n,)."""
        return self._visible[:, i]

    def keys_visible_to(self, i: int) -> torch.Tensor:
        """The keys l ≠ i that row i attends to, as a mask (n,)."""
        return self._visible[i]


AnyLayer = TypeVar("AnyLayer", bound=AttentionLayer)
#: starts(layer, rows, count, radius, noise): up to ``count`` promising Δ of each row, (P, m, d);
#: each row has its own noise.
Starts = Callable[[AnyLayer, Sequence[int], int, float, Sequence[torch.Generator]], torch.Tensor]


class LayerView(RowView, Generic[AnyLayer]):
    """The view of a layer; ``text`` is its text without positions, where it has some."""

    def __init__(
        self,
        layer: AnyLayer,
        starts: Starts[AnyLayer],
        text: torch.Tensor | None = None,
        *,
        kinks: bool = False,
    ) -> None:
        super().__init__(layer.X if text is None else text, plan_for(*layer.X.shape, kinks=kinks))
        self.layer, self._starts = layer, starts
        self.rows_before, self.norm = layer.phi, layer.norm
        n, d = layer.X.shape
        self.small = Plan().starts * (3 * n + d) * d < SMALL

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        if count < 1 or len(self.X) < 2:
            return super().suggest(problems, count, noise)
        return self._starts(self.layer, problems, count, self.reach, noise)

    @property
    def row_errors(self) -> torch.Tensor:
        return self.layer.errors.rows

    def allow_text_error(self, error: float) -> None:
        super().allow_text_error(error)
        self.layer.text_error += error

    def rows_attending_to(self, i: int) -> torch.Tensor:
        moved = self.layer.rows_attending_to(i).clone()
        moved[i] = True
        return moved
