"""What all wrappers share: a map around a map with rows, and its view around the inner view."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.maps.base import FeatureMap, View, nonzero_norm
from wordsway.maps.rows import RowView, TracedView

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
        return self.around(rows_of_view(self.inner.view(sample, dtype), self.inner))

    def search_view(self, sample: Sample) -> View:
        return self.around(rows_of_view(self.inner.search_view(sample), self.inner))

    @abstractmethod
    def around(self, inner: RowView) -> View:
        """This map's view, made of the inner map's."""

    def describe(self) -> dict[str, Any]:
        return {"map": self.name, "inner": self.inner.describe()}


class WrappedView(TracedView):
    """A view computed from the moved rows of the inner one."""

    def __init__(self, inner: RowView, before: torch.Tensor, name: str) -> None:
        self.inner = inner
        self.X, self.plan, self.small = inner.X, inner.plan, inner.small
        self.rows_before = before
        self.norm = nonzero_norm(float(before.norm()), name)

    def smoothed(self, width: float) -> View:
        view: View = around_smoothed(self, width)
        return view

    def suggest(
        self, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.inner.suggest(rows, count, radius, noise)

    def allow_text_error(self, error: float) -> None:
        super().allow_text_error(error)
        self.inner.allow_text_error(error)

    def rows_attending_to(self, i: int) -> torch.Tensor:
        return self.inner.rows_attending_to(i)

    @property
    def bytes_per_point(self) -> int:
        n, width = self.rows_before.shape
        return self.inner.bytes_per_point + HELD * (4 * n + width) * self.X.itemsize


def around_smoothed(view: Any, width: float) -> Any:
    """The same wrapper around the inner view with its kinks rounded."""
    inner = view.inner.smoothed(width)
    if inner is view.inner:
        return view
    smoothed = copy.copy(view)
    smoothed.inner = inner
    smoothed.__dict__.pop("_moving", None)
    return smoothed


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
