"""What the views of one matrix and of heads share: the layer, its errors, and how to search it."""

from __future__ import annotations

from dataclasses import replace
from typing import Generic, Protocol, TypeVar

import torch

from wordsway.maps.rows import RowView
from wordsway.optimize.plan import Plan

#: Below this many multiplications in one product of a search, a second thread does not pay.
SMALL = 4_000_000
#: Widths over which kinks are rounded, in units of a score.
WIDTHS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)


def is_small(n: int, d: int) -> bool:
    """Whether a product of a search is too small for more than one thread."""
    return Plan().starts * (3 * n + d) * d < SMALL


def plan_for(n: int, d: int, *, kinks: bool = False) -> Plan:
    """How to search. Functions with ``kinks`` have their maxima on them, where gradients alone do
    not lead: a maximum is followed from a smooth function to the function itself. Up to n = d, a
    row can be silent to all others, and the smoothest function has the best maxima in the right
    order; beyond, rounding that much prefers wrong places, and more points are kept.
    """
    if kinks:
        plan = Plan("lbfgs", 24, 20, keep=5, steps=40, rounds=0, groups=3, widths=WIDTHS)
        return plan if n <= d else replace(plan, groups=4, starts=40, keep=8, widths=WIDTHS[2:])
    if is_small(n, d):
        return Plan("lbfgs", groups=3, starts=24, explore=20, keep=5, rounds=0)
    return Plan(groups=2, starts=16, keep=8, children=16)


class RowErrors(Protocol):
    """``rows`` (n,): how far the rows φ_j are from exact arithmetic."""

    @property
    def rows(self) -> torch.Tensor: ...


class AttentionLayer(Protocol):
    """An attention layer at one text X (n×d), with features ``phi`` (n×d).

    Certificates hold for every text whose rows are within ``text_error`` of X.
    """

    X: torch.Tensor
    phi: torch.Tensor
    text_error: float

    @property
    def errors(self) -> RowErrors: ...


AnyLayer = TypeVar("AnyLayer", bound=AttentionLayer)


class LayerView(RowView, Generic[AnyLayer]):
    """The view of an attention layer. ``text`` is its text without positions added to it; None
    where there are none.
    """

    def __init__(
        self, layer: AnyLayer, text: torch.Tensor | None = None, *, kinks: bool = False
    ) -> None:
        self.layer = layer
        self.X = layer.X if text is None else text
        self.rows_before = layer.phi
        self.small = is_small(*layer.X.shape)
        self.plan = plan_for(*layer.X.shape, kinks=kinks)

    @property
    def row_errors(self) -> torch.Tensor:
        return self.layer.errors.rows

    def allow_text_error(self, error: float) -> None:
        super().allow_text_error(error)
        self.layer.text_error += error
