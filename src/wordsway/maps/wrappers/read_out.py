"""Read-outs of the rows of a map: their mean, or one of them (CLS, the last)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.maps.base import FeatureMap, Map, Readout, View, nonzero_norm
from wordsway.maps.certificate import Certificate
from wordsway.maps.rigorous import U, norm_lower_bound
from wordsway.maps.rows import Moving, RowView
from wordsway.maps.wrappers.certificate import certify_read_out
from wordsway.maps.wrappers.residual import stream_of
from wordsway.maps.wrappers.wrapper import HELD, Wrapper, around_smoothed


@final
class ReadOut(Wrapper):
    """φ′(X) = the mean of the rows of φ(X), or row ``which`` of them; −1 is the last row."""

    name = "read-out"
    has_rows = False

    def __init__(self, inner: FeatureMap, which: str | int) -> None:
        super().__init__(inner)
        self.which = which

    def check(self, n: int, d: int) -> None:
        super().check(n, d)
        if isinstance(self.which, int) and not -n <= self.which < n:
            raise InputError(
                f"a row to read out between 0 and {n - 1}", self.which, "or read out last or mean"
            )

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return torch.einsum("j,bjd->bd", self.weights(X), self.inner.features(X, dtype))

    def weights(self, X: torch.Tensor) -> torch.Tensor:
        """How much each row of a text (…, n, d) counts, (n,)."""
        n = X.shape[-2]
        if self.which == "mean":
            return X.new_full((n,), 1 / n)
        found = X.new_zeros(n)
        found[int(self.which)] = 1
        return found

    def around(self, inner: RowView) -> ReadOutView:
        return ReadOutView(inner, self.weights(inner.X), self.name)

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> View:
        self.check(sample.n, sample.d)
        return super().view(sample, dtype)

    def search_view(self, sample: Sample) -> View:
        self.check(sample.n, sample.d)
        return super().search_view(sample)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"read_out": "last" if self.which == -1 else self.which}


@final
class ReadOutView(View):
    """A weighted sum of the inner view's rows."""

    def __init__(self, inner: RowView, weights: torch.Tensor, name: str) -> None:
        self.inner, self.weights = inner, weights
        self.X, self.plan, self.small = inner.X, inner.plan, inner.small
        self.before = weights @ inner.rows_before
        self.norm = nonzero_norm(float(self.before.norm()), name)

    @cached_property
    def _moving(self) -> Moving:
        before = self.inner.rows_before
        return self.inner.moving(before.new_zeros(0, *before.shape))

    def smoothed(self, width: float) -> View:
        view: View = around_smoothed(self, width)
        return view

    def moved(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """The change of the read-out, (B, D), differentiable in Δ."""
        return self._moving(rows, delta).total(self.weights.expand(len(rows), -1))

    def change(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return (self.moved(rows, delta) ** 2).sum(1) / self.norm**2

    def change_and_gradient(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            delta = delta.detach().requires_grad_(True)
            value = (self.moved(rows, delta) ** 2).sum(1) / self.norm**2
            (gradient,) = torch.autograd.grad(value.sum(), delta)
        return value.detach(), gradient

    def suggest(
        self, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        return self.inner.suggest(rows, count, radius, noise)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        inner, stream = self.inner, stream_of(self.inner)
        return certify_read_out(
            inner,
            stream,
            self.weights,
            norm_lower_bound(self.before, self.rounding),
            rows,
            radius,
            progress,
        )

    @property
    def rounding(self) -> float:
        """The weighted errors of the rows, and the rounding of their sum."""
        sizes = self.inner.rows_before.norm(dim=1) * 2 * (len(self.weights) + 8) * U
        errors = self.inner.row_errors + sizes
        return float((self.weights * errors)[self.weights > 0].sum())

    def readout(self, thetas: torch.Tensor) -> Readout:
        return VectorReadout(self, thetas)

    @property
    def bytes_per_point(self) -> int:
        n, width = self.inner.rows_before.shape
        return self.inner.bytes_per_point + HELD * (n + width) * self.X.itemsize


@final
class VectorReadout(Readout):
    """φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, D)."""

    def __init__(self, view: ReadOutView, thetas: torch.Tensor) -> None:
        self._view, self._theta = view, thetas.to(view.before)
        self._before = self._theta @ view.before

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            delta = delta.detach().requires_grad_(True)
            value = self._before + self._view.moved(rows, delta) @ self._theta.T
            slopes = [
                torch.autograd.grad(one.sum(), delta, retain_graph=True)[0]
                for one in value.unbind(1)
            ]
        return value.detach(), torch.stack(slopes, 1)


@validated
def read_out(phi: Map, which: str | int = "all") -> FeatureMap:
    """A read-out of φ: "all" rows (φ itself), their "mean", the "last" one, or row ``which``.

    >>> import wordsway as ws
    >>> read_out(ws.RAF(d=4, seed=0), "mean")(ws.Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([4])
    """
    if which == "all":
        return phi
    if which == "last":
        return ReadOut(phi, -1)
    if which == "mean" or (isinstance(which, int) and not isinstance(which, bool)):
        return ReadOut(phi, which)
    if isinstance(which, str) and which.isdigit():
        return ReadOut(phi, int(which))
    raise InputError(
        "a read-out among all, mean, last, or the number of a row", repr(which), "choose one"
    )
