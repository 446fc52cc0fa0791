"""What all wrappers share: a map around a map with rows, and its view around the inner view."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.maps.base import FeatureMap, View, nonzero_norm
from wordsway.maps.rows import RowView

#: Tensors of one row's size that a wrapper holds for each point of a batch.
HELD = 6


class Wrapper(FeatureMap):
    """A map made of ``inner``, which has one row of features for each row of the text."""

    has_rows = True

    def __init__(self, inner: FeatureMap) -> None:
        self.inner = with_rows(inner, self.name)
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
        return self.around(rows_of_view(inner, self.inner), sample)

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


def with_rows(inner: Any, wrapper: str) -> FeatureMap:
    """The inner map of a wrapper, refused where it has no rows."""
    if not isinstance(inner, FeatureMap):
        raise InputError(
            f"a map inside {wrapper}", type(inner).__name__, "wrap a callable by FeatureMap.of"
        )
    if not inner.has_rows:
        raise InputError(
            f"a map with one row of features per row of the text inside {wrapper}",
            f"{inner.name}, which has none",
            "use attention, a wrapper of it, or FeatureMap.of a callable to (…, n, D)",
        )
    return inner


def rows_of_view(view: View, phi: FeatureMap) -> RowView:
    """The view of a map with rows."""
    shape = view.rows_before.shape if isinstance(view, RowView) else ()
    if not isinstance(view, RowView) or len(shape) != 2 or shape[0] != len(view.X):
        raise InputError(
            f"features of shape (…, {len(view.X)}, D), one row per row of the text",
            f"shape {tuple(shape)} of {phi.name}",
            "leave the wrapper out, or let the callable keep the rows",
        )
    return view
