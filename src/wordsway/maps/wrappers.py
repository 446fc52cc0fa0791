"""What stands around a map: a residual stream, a norm, a read-out.

A **residual stream** X + φ(X) changes row i alone: w_i becomes w_i + Δ. Around attention the dual
of `attention.certificates.one_matrix` counts Δ in row i alone; around any other certified map, with
Σ_j ‖w_j‖² ≤ Q, the change is at most √Q + r (Theorem 12 of docs/statements/wrappers.md).

**Norms**: with C = I − 11ᵀ/D for layer norm and C = I for RMS norm, N(u) = √D·Cu/√(‖Cu‖² + Dε).
Where a row u moves by w, with α² = ‖C(u + w)‖² + Dε and β² = ‖Cu‖² + Dε,

    N(u + w) − N(u) = √D (Cw/α − g Cu),      g = (2Cu·Cw + ‖Cw‖²)/(αβ(α + β)),

which loses no accuracy where w is small, and whose products with any base follow from those of w.
Row j moves by at most min(2√D, 2√D‖w_j‖/β_j) (Theorem 13).

**Read-outs** are the mean of the rows, or one of them (CLS, the last). With Σ_j ‖w_j‖² ≤ Q, one row
moves by at most √Q, the mean by √(Q/n); `attention.certificates.reading` has tighter bounds for
attention.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, final

import torch

from wordsway.core.checks import NonNegative, OneOf, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, certify
from wordsway.maps.attention.certificates.reading import certify_mean, certify_row
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.base import FeatureMap, Map, Readout, TracedReadout, View, nonzero_norm
from wordsway.maps.rigorous import SAFE, Certificate, U, norm_lower_bound, relative
from wordsway.maps.rows import DenseRows, Moving, RowChanges, RowView, at_rows

#: Tensors of one row's size that a wrapper holds for each point of a batch.
HELD = 6
NORMS = ("layer", "rms")
EPSILON = 1e-5
#: Up to this many numbers, the rows after a move of a normalised map are computed in full.
FEW = 1024


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

    def moving_in_full(
        self, function: Callable[[torch.Tensor], torch.Tensor], bases: torch.Tensor
    ) -> Moving:
        """The rows after any move, each computed in full as ``function`` of the inner one."""
        inner = self.inner.moving_alone

        def moved(rows: torch.Tensor, delta: torch.Tensor) -> DenseRows:
            after = function(self.inner.rows_before + inner(rows, delta).dense())
            return DenseRows(rows, after - self.rows_before, bases)

        return moved


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


@final
class Norm:
    """N(u) = √D·Cu/√(‖Cu‖² + Dε) of each row.

    >>> [round(x, 4) for x in Norm("rms", 0.0)(torch.tensor([[3.0, 4.0]]))[0].tolist()]
    [0.8485, 1.1314]
    """

    @validated
    def __init__(
        self, kind: Annotated[str, OneOf(NORMS)] = "layer", epsilon: NonNegative = EPSILON
    ) -> None:
        self.kind, self.epsilon = kind, float(epsilon)

    def centre(self, u: torch.Tensor) -> torch.Tensor:
        """Cu."""
        return u - u.mean(-1, keepdim=True) if self.kind == "layer" else u

    def size(self, centred: torch.Tensor) -> torch.Tensor:
        """√(‖Cu‖² + Dε), never zero."""
        square = (centred * centred).sum(-1, keepdim=True) + centred.shape[-1] * self.epsilon
        return square.clamp_min(torch.finfo(centred.dtype).tiny).sqrt()

    def __call__(self, u: torch.Tensor) -> torch.Tensor:
        centred = self.centre(u)
        return math.sqrt(u.shape[-1]) * centred / self.size(centred)


@final
class NormedMap(Wrapper):
    """φ′(X)_j = N(φ(X)_j)."""

    name = "normed"

    def __init__(self, inner: FeatureMap, norm: Norm) -> None:
        super().__init__(inner)
        self.norm = norm

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.norm(self.inner.features(X, dtype))

    def around(self, inner: RowView, sample: Sample) -> NormedView:
        return NormedView(inner, self.norm, self.name)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"norm": self.norm.kind, "epsilon": self.norm.epsilon}


@final
class NormedView(WrappedView):
    """The inner view with normalised rows."""

    def __init__(self, inner: RowView, kind: Norm, name: str) -> None:
        super().__init__(inner, kind(inner.rows_before), name)
        self.kind = kind
        self.centred = kind.centre(inner.rows_before)
        self.size = kind.size(self.centred).squeeze(1)  # β, (n,)

    def moving(self, bases: torch.Tensor) -> Moving:
        if self.centred.numel() <= FEW:  # where w may be parallel to u, and products cancel
            return self.moving_in_full(self.kind, bases)
        ones = torch.full_like(self.centred, 1 / math.sqrt(self.centred.shape[1]))
        seen = torch.cat([torch.stack([self.centred, ones]), self.kind.centre(bases)])
        inner = self.inner.moving(seen)
        known = torch.einsum("mjd,jd->mj", seen[2:], self.centred)
        return lambda rows, delta: NormedRows(self, inner(rows, delta), rows, known)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        norm, sizes = self.norm_below, self._size_below
        inside = attention_inside(self.inner)
        if inside is not None:
            around = WrapperContext(
                norm, inside.residual, self.centred, sizes, self._centred_errors
            )
            return certify(inside.layer, inside.bounds, rows, radius, progress, around)
        found = self.inner.certify(rows, radius, progress)
        if found is None:
            return None
        room = sizes.new_tensor(self.inner.certified_moves(found)) ** 2
        each = sizes.sort().values ** 2  # ‖w_j‖² = β_j² takes row j to its ceiling
        taken = torch.cat([each.new_zeros(1), each.cumsum(0)])
        spent = (room[:, None] * SAFE - taken[:-1]).clamp_min(0) / each
        ceiling = 4.0 * self.centred.shape[1]
        moves = (ceiling * spent.clamp_max(1).sum(1)).sqrt() * SAFE
        return found.replaced([relative(move, norm) for move in moves.tolist()])

    @property
    def _centred_errors(self) -> torch.Tensor:
        """How far the Cφ_j may be off: centring does not stretch, but rounds."""
        rounding = 2 * (self.centred.shape[1] + 8) * U * self.inner.rows_before.norm(dim=1)
        return self.inner.row_errors + rounding

    @property
    def _size_below(self) -> torch.Tensor:
        """β from below, (n,); tiny where it may be 0."""
        below = self.size * (1 - 2 * (self.centred.shape[1] + 8) * U) - self._centred_errors
        least = math.sqrt(self.centred.shape[1] * self.kind.epsilon) * (1 - 8 * U)
        return below.clamp_min(max(least, torch.finfo(torch.float64).tiny))

    @property
    def row_errors(self) -> torch.Tensor:
        """‖N(u) − N(v)‖ ≤ 2√D‖C(u − v)‖/β, and 2√D at most."""
        root = math.sqrt(self.centred.shape[1])
        off = (2 * root * self._centred_errors / self._size_below).clamp_max(2 * root)
        return off + 2 * (self.centred.shape[1] + 16) * U * root


@final
class NormedRows(RowChanges):
    """√D(Cw/α − g Cu); ``known`` (m, n) are the bases' products with Cu."""

    def __init__(
        self, view: NormedView, inner: RowChanges, rows: torch.Tensor, known: torch.Tensor
    ) -> None:
        self._view, self._inner = view, inner
        self._root = math.sqrt(view.centred.shape[1])
        along, mean = inner.products[:, 0], inner.products[:, 1]
        w2 = inner.squares
        if view.kind.kind == "layer":
            w2 = (w2 - mean * mean).clamp_min(0)
        beta = view.size
        tiny = torch.finfo(beta.dtype).tiny
        alpha = (beta * beta + 2 * along + w2).clamp_min(tiny).sqrt()
        # Row i may be erased, u + w ≈ 0, where that sum cancels: use its own vector.
        moved = view.kind.size(view.centred[rows] + view.kind.centre(inner.own))
        alpha = torch.where(at_rows(rows, len(beta)), moved, alpha)
        self._inverse = 1 / alpha
        self._g = (2 * along + w2) / (alpha * beta * (alpha + beta))
        g, inverse = self._g, self._inverse
        u2 = (view.centred * view.centred).sum(1)
        square = w2 * inverse**2 - 2 * along * g * inverse + u2 * g * g
        self.squares = self._root**2 * square.clamp_min(0)
        others = inner.products[:, 2:] * inverse[:, None] - g[:, None] * known
        self.products = self._root * others
        point = torch.arange(len(rows), device=rows.device)
        own = view.kind.centre(inner.own) * inverse[point, rows][:, None]
        self.own = self._root * (own - g[point, rows][:, None] * view.centred[rows])

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        moved = self._view.kind.centre(self._inner.total(weights * self._inverse))
        return self._root * (moved - (weights * self._g) @ self._view.centred)

    def dense(self) -> torch.Tensor:
        moved = self._view.kind.centre(self._inner.dense()) * self._inverse[..., None]
        return self._root * (moved - self._g[..., None] * self._view.centred)


@validated
def layer_norm(phi: Map, epsilon: NonNegative = EPSILON) -> NormedMap:
    """Each row of φ centred and rescaled to √D, u ↦ √D·Cu/√(‖Cu‖² + Dε).

    >>> import wordsway as ws
    >>> rows = layer_norm(ws.RAF(d=8, seed=0))(ws.Sample.gaussian(n=3, d=8, seed=0))
    >>> [round(value, 2) for value in rows.var(1, correction=0).tolist()]
    [1.0, 1.0, 1.0]
    """
    return NormedMap(phi, Norm("layer", epsilon))


@validated
def rms_norm(phi: Map, epsilon: NonNegative = EPSILON) -> NormedMap:
    """Each row of φ rescaled to √D, u ↦ √D·u/√(‖u‖² + Dε).

    >>> import wordsway as ws
    >>> rows = rms_norm(ws.RAF(d=4, seed=0))(ws.Sample.gaussian(n=3, d=4, seed=0))
    >>> [round(value, 2) for value in rows.norm(dim=1).tolist()]
    [2.0, 2.0, 2.0]
    """
    return NormedMap(phi, Norm("rms", epsilon))


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
