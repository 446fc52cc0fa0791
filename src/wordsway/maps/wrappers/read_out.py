"""Read-outs of the rows of a map: their mean, or one of them (CLS, the last).

With Σ_j ‖w_j‖² ≤ Q, one row moves by at most √Q, the mean by √(Q/n);
`attention.certificates.reading` has tighter bounds for attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import torch

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.reading import certify_mean, certify_row
from wordsway.maps.base import FeatureMap, Map, Readout, TracedReadout
from wordsway.maps.rigorous import SAFE, Certificate, U, norm_lower_bound, relative
from wordsway.maps.rows import RowView
from wordsway.maps.wrappers.residual import HELD, OuterView, Wrapper, attention_inside


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

    def around(self, inner: RowView, sample: Sample) -> ReadOutView:
        return ReadOutView(inner, self.weights(inner.X), self.name)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"read_out": "last" if self.which == -1 else self.which}


@final
class ReadOutView(OuterView):
    """A weighted sum of the inner view's rows."""

    def __init__(self, inner: RowView, weights: torch.Tensor, name: str) -> None:
        self.weights, self.before = weights, weights @ inner.rows_before
        super().__init__(inner, self.before, name)
        n, width = inner.rows_before.shape
        self.bytes_per_point = inner.bytes_per_point + HELD * (n + width) * self.X.itemsize

    def moved(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """The change of the read-out, (B, D), differentiable in Δ."""
        return self.inner.moving_alone(rows, delta).total(self.weights.expand(len(rows), -1))

    def traced(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return (self.moved(rows, delta) ** 2).sum(1) / self.norm**2

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        inner, weights = self.inner, self.weights
        single = int(weights.argmax()) if float(weights.max()) == 1 else None
        inside = attention_inside(inner)
        if inside is not None and single is not None:
            found = certify_row(inside.layer, inside.bounds, single, rows, radius)
            added = [radius if inside.residual and row == single else 0.0 for row in rows]
            moves = [move + more for move, more in zip(found.upper.tolist(), added, strict=True)]
        elif inside is not None and inside.layer.scores.normalised:
            found = certify_mean(*inside[:2], rows, radius, inside.residual)
            moves = [move * float(weights[0]) for move in found.upper.tolist()]
        else:
            whole = inner.certify(rows, radius, progress)
            if whole is None:
                return None
            found, share = whole, float(weights.norm())
            moves = [move * share for move in inner.certified_moves(whole)]
        if single is not None:  # a row that does not see the moved word stays as it is
            seen = [bool(inner.rows_attending_to(row)[single]) for row in rows]
            moves = [move if sees else 0.0 for move, sees in zip(moves, seen, strict=True)]
        norm = norm_lower_bound(self.before, self.rounding)
        return found.replaced([relative(move * SAFE, norm) for move in moves])

    @property
    def rounding(self) -> float:
        """The weighted errors of the rows, and the rounding of their sum."""
        sizes = self.inner.rows_before.norm(dim=1) * 2 * (len(self.weights) + 8) * U
        errors = self.inner.row_errors + sizes
        return float((self.weights * errors)[self.weights > 0].sum())

    def readout(self, thetas: torch.Tensor) -> Readout:
        theta = thetas.to(self.before)
        before = theta @ self.before
        return TracedReadout(lambda *move: before + self.moved(*move) @ theta.T, before)


@validated
def read_out(phi: Map, which: str | int = "all") -> FeatureMap:
    """A read-out of φ: "all" rows (φ itself), their "mean", the "last" one, or row ``which``.

    >>> import wordsway as ws
    >>> read_out(ws.RAF(d=4, seed=0), "mean")(ws.Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([4])
    """
    if which == "all":
        return phi
    if isinstance(which, str) and which != "mean":
        if which != "last" and not which.isdigit():
            known = "a read-out among all, mean, last, or the number of a row"
            raise InputError(known, repr(which), "choose one")
        which = -1 if which == "last" else int(which)
    return ReadOut(phi, which)
