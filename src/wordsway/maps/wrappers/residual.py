"""What all wrappers share, and the residual stream X + φ(X).

With a residual stream only row i is affected: w_i becomes w_i + Δ. Around attention the dual of
`attention.certificates.one_matrix` counts Δ in row i alone; around any other certified map, with
Σ_j ‖w_j‖² ≤ Q, the change is at most √Q + r (Theorem 12 of docs/statements/wrappers.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, certify
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.base import FeatureMap, Map, View, nonzero_norm
from wordsway.maps.rigorous import Certificate, U, relative
from wordsway.maps.rows import Moving, RowChanges, RowView, at_rows

#: Tensors of one row's size that a wrapper holds for each point of a batch.
HELD = 6


class Wrapper(FeatureMap):
    """A map made of ``inner``, which has one row of features for each row of the text."""

    has_rows = True

    def __init__(self, inner: FeatureMap) -> None:
        if not inner.has_rows:
            raise InputError(
                f"a map with one row of features per row of the text inside {self.name}",
                f"{inner.name}, which has none",
                "use attention, a wrapper of it, or FeatureMap.of a callable to (…, n, D)",
            )
        self.inner = inner
        self.dtype, self.device = inner.dtype, inner.device

    def check(self, n: int, d: int) -> None:
        self.inner.check(n, d)

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> View:
        self.check(sample.n, sample.d)
        return self._around(sample, self.inner.view(self.text(sample), dtype))

    def search_view(self, sample: Sample) -> View:
        self.check(sample.n, sample.d)
        return self._around(sample, self.inner.search_view(self.text(sample)))

    def text(self, sample: Sample) -> Sample:
        """The text that the inner map sees."""
        return sample

    def _around(self, sample: Sample, inner: View) -> View:
        shape = inner.rows_before.shape if isinstance(inner, RowView) else ()
        if not isinstance(inner, RowView) or len(shape) != 2 or shape[0] != len(inner.X):
            raise InputError(
                f"features of shape (…, {len(inner.X)}, D), one row per row of the text",
                f"shape {tuple(shape)} of {self.inner.name}",
                "leave the wrapper out, or let the callable keep the rows",
            )
        return self.around(inner, sample)

    @abstractmethod
    def around(self, inner: RowView, sample: Sample) -> View:
        """This map's view of the sample, made of the inner map's."""

    def describe(self) -> dict[str, Any]:
        return {"map": self.name, "inner": self.inner.describe()}


class OuterView(View):
    """A view computed from the moved rows of the inner one; φ(X) is ``before``."""

    def __init__(self, inner: RowView, before: torch.Tensor, name: str) -> None:
        super().__init__(inner.X, inner.plan)
        self.inner, self.small = inner, inner.small
        self.norm = nonzero_norm(float(before.norm()), name)

    def smoothed(self, width: float) -> View:
        inner = self.inner.smoothed(width)
        return self if inner is self.inner else self.copied(inner=inner)

    def suggest(
        self, problems: Sequence[int], count: int, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.inner.within(self.reach).suggest(problems, count, noise)


class WrappedView(OuterView, RowView):
    """A view whose rows are those of the inner one, changed."""

    def __init__(self, inner: RowView, before: torch.Tensor, name: str) -> None:
        super().__init__(inner, before, name)
        self.rows_before = before
        n, width = before.shape
        self.bytes_per_point = inner.bytes_per_point + HELD * (4 * n + width) * self.X.itemsize

    def allow_text_error(self, error: float) -> None:
        super().allow_text_error(error)
        self.inner.allow_text_error(error)

    def rows_attending_to(self, i: int) -> torch.Tensor:
        return self.inner.rows_attending_to(i)


@final
class Residual(Wrapper):
    """φ′(X) = X + φ(X)."""

    name = "residual"

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        rows = self.inner.features(X, dtype)
        if rows.shape != X.shape:
            raise InputError(
                f"features as wide as the text, (…, {X.shape[1]}, {X.shape[2]})",
                f"shape {tuple(rows.shape[1:])}",
                "add a residual stream to a map from d to d dimensions",
            )
        return X.to(dtype) + rows

    def around(self, inner: RowView, sample: Sample) -> ResidualView:
        return ResidualView(inner, inner.X + inner.rows_before, self.name)


@final
class ResidualView(WrappedView):
    """The inner view with Δ added to row i."""

    def moving(self, bases: torch.Tensor) -> Moving:
        inner = self.inner.moving(bases)
        return lambda rows, delta: ResidualRows(inner(rows, delta), bases, rows, delta)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        norm, inside = self.norm_below, attention_inside(self)
        if inside is not None:
            around = WrapperContext(norm, residual=True)
            return certify(inside.layer, inside.bounds, rows, radius, progress, around)
        found = self.inner.certify(rows, radius, progress)
        if found is None:
            return None
        moves = self.inner.certified_moves(found)
        return found.replaced([relative(move + radius, norm) for move in moves])

    @property
    def row_errors(self) -> torch.Tensor:
        rounding = 2 * U * self.rows_before.norm(dim=1)
        return self.inner.row_errors + rounding + self.text_error


@final
class ResidualRows(RowChanges):
    """w_j, and w_i + Δ."""

    def __init__(
        self, inner: RowChanges, bases: torch.Tensor, rows: torch.Tensor, delta: torch.Tensor
    ) -> None:
        self._inner, self._delta = inner, delta
        self._mine = at_rows(rows, inner.squares.shape[1])
        self.own = inner.own + delta
        own2 = (self.own * self.own).sum(1, keepdim=True)
        self.squares = torch.where(self._mine, own2, inner.squares)
        products = torch.einsum("bd,mbd->bm", self.own, bases[:, rows])
        self.products = torch.where(self._mine[:, None], products[:, :, None], inner.products)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        own = (weights * self._mine).sum(1, keepdim=True)
        return self._inner.total(weights) + own * self._delta

    def dense(self) -> torch.Tensor:
        return self._inner.dense() + self._mine[..., None] * self._delta[:, None]


@validated
def residual(phi: Map) -> Residual:
    """X + φ(X), for any map φ from d to d dimensions that keeps the rows.

    >>> import wordsway as ws
    >>> X = ws.Sample.gaussian(n=8, d=16, seed=0)
    >>> s = ws.sensitivity(residual(ws.RAF(d=16, seed=1)), X, positions=0)
    >>> s.lower < ws.sensitivity(ws.RAF(d=16, seed=1), X, positions=0).lower
    True
    """
    return Residual(phi)


class AttentionInside(NamedTuple):
    """Attention with one matrix whose rows have bounds, and whether it is φ of X + φ(X)."""

    layer: Layer
    bounds: RowBounds
    residual: bool


def attention_inside(view: RowView) -> AttentionInside | None:
    """The attention whose dual a wrapper's certificate can use: the view, or φ of X + φ(X)."""
    inner = view.inner if isinstance(view, ResidualView) else view
    if isinstance(inner, AttentionView) and isinstance(inner.bounds, RowBounds):
        return AttentionInside(inner.layer, inner.bounds, inner is not view)
    return None
