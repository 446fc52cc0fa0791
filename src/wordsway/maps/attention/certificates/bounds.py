"""The bounds of one score function: its curve of shares, and how far row i itself moves."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch

from wordsway.maps.attention.certificates.problem import (
    OwnRow,
    Problem,
    ShareCurve,
    Tail,
    logistic_curve,
)
from wordsway.maps.attention.layer import AttentionLayer
from wordsway.maps.attention.one_matrix.layer import Layer


class RowBounds(ABC):
    """The bounds of one kind of attention."""

    #: How strongly rows that are hard to win over are discounted; every choice gives a valid bound.
    reweightings: tuple[float, ...] = (0.0,)
    #: Ways to share the own row's bound with `own_keys`, 0 for one that shares nothing; every
    #: choice gives a valid bound.
    young_parameters: tuple[float, ...] = (1.0,)

    def curve(
        self, layer: Layer, others: torch.Tensor, i: int, radius: float, blur: torch.Tensor
    ) -> ShareCurve:
        """Shares of rows j ≠ i (``others``, a mask) on key i; ``blur`` (m, 1) of their logits."""
        return logistic_curve(layer.pairs[0][i, others][:, None], layer.keys[others], radius, blur)

    def below(
        self, curve: ShareCurve, p0: torch.Tensor, y2: torch.Tensor, most: torch.Tensor
    ) -> Tail:
        """‖row j‖² at most below the grid; the share is at most that at its end, or p⁰."""
        small = torch.maximum(curve.p[:, :1], p0)
        return Tail.where(curve.below, small**2 * most, small**4)

    @abstractmethod
    def own_row(self, layer: Layer, i: int, radius: float, young: float) -> OwnRow:
        """How far row i, whose query moved too, can move, `own_keys` apart."""

    def own_keys(
        self, layer: Layer, i: int, radius: float, e: torch.Tensor, young: float, times: float
    ) -> Problem | None:
        """What row i's shares of other keys add, as rows of the dual, where Δ counts ``times`` in
        row i; None where `own_row` bounds all of row i.
        """
        return None

    def at_most(self, layer: Layer, i: int, radius: float) -> float:
        """A bound of ‖φ(X^i(Δ)) − φ(X)‖ however large or small the numbers are."""
        return hull(layer, i, radius)


def hull(layer: AttentionLayer, i: int, radius: float) -> float:
    """Rows that are means of the text's rows, or zero, stay in the hull of the moved text."""
    longest = max(float(layer.X.norm(dim=1).max()), float(layer.X[i].norm()) + radius)
    return float((layer.phi.norm(dim=1) + longest).norm())


def farthest_row(layer: Layer, i: int, *, or_zero: bool = False) -> float:
    """max_l ‖x_l − φ_i‖² over the other rows of the text, and zero where a row may become zero."""
    others = layer.X[layer.keys_visible_to(i)]
    if or_zero:
        others = torch.cat([others, torch.zeros_like(layer.X[:1])])
    return float((others - layer.phi[i]).norm(dim=1).max()) ** 2 if len(others) else 0.0
