"""Layer norm and RMS norm of a map's rows.

With C = I − 11ᵀ/D for layer norm and C = I for RMS norm, N(u) = √D·Cu/√(‖Cu‖² + Dε). Where a row
u moves by w, with α² = ‖C(u + w)‖² + Dε and β² = ‖Cu‖² + Dε,

    N(u + w) − N(u) = √D (Cw/α − g Cu),      g = (2Cu·Cw + ‖Cw‖²)/(αβ(α + β)),

which loses no accuracy where w is small, and whose products with any base follow from those of w.
Row j moves by at most min(2√D, 2√D‖w_j‖/β_j) (Theorem 13 of docs/statements/wrappers.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, final

import torch

from wordsway.core.checks import NonNegative, OneOf, validated
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, certify
from wordsway.maps.base import FeatureMap, Map
from wordsway.maps.rigorous import SAFE, Certificate, U, relative
from wordsway.maps.rows import DenseRows, Moving, RowChanges, RowView, at_rows
from wordsway.maps.wrappers.residual import WrappedView, Wrapper, attention_inside

NORMS = ("layer", "rms")
EPSILON = 1e-5
#: Up to this many numbers, the rows after a move are computed in full.
FEW = 1024


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
        if self.centred.numel() <= FEW:
            return self._in_full(bases)
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

    def _in_full(self, bases: torch.Tensor) -> Moving:
        """Small rows are computed in full: w may be parallel to u there, where products cancel."""
        inner = self.inner.moving_alone

        def moved(rows: torch.Tensor, delta: torch.Tensor) -> DenseRows:
            after = self.kind(self.inner.rows_before + inner(rows, delta).dense())
            return DenseRows(rows, after - self.rows_before, bases)

        return moved


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
