"""Sparsemax: weights (s − τ)₊ with τ such that they sum to one.

Where the others' scores are z, sorted, and key i has the score u, the c largest of them are in the
support while u < b_c = (c + 1)z_c − Σ_{l≤c} z_l + 1. With C of them,

    τ = (Σ_{l≤C} z_l + u − 1)/(C + 1),    p = u − τ,    or p = 0, τ = τ(z) where that is negative.

A moved score changes *all* weights of the support, by c_l = (z_l − τ)₊ − p⁰_l: head h of row j
changes by (p − p⁰)v_i + pδ + Σ_l c_l v_l, a sum over the K keys that can be in the support at all
(that of the row without its largest score has the most). With the Gram matrices of these keys its
norm costs (HK)² operations for each row. For scores of size one K is about 10 at n = 250. Theorem 8
of docs/statements/attention.md has the certificate with one matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.bounds import hull
from wordsway.maps.attention.heads import (
    Certify,
    FromRow,
    Group,
    HeadsLayer,
    HeadsView,
    Others,
    Setting,
)
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.base import View
from wordsway.maps.rigorous import SAFE, Certificate, U, opnorm_upper_bound, relative


@final
class SparsemaxScores(Scores):
    """(s − τ)₊; the moves of one score are those of `SparseRow`."""

    #: y_j = v_i and t = p − p⁰: what the other keys lose is counted key by key.
    normalised = False

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return torch.relu(s - threshold(s))

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        inside = (shares > 0).to(h)
        mean = (inside * h).sum(-1, keepdim=True) / inside.sum(-1, keepdim=True)
        return inside * (h - mean)

    def prepare(self, s: torch.Tensor) -> Pairs:
        return (s,)

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The projection on the simplex stretches no distance; sums of scores are rounded."""
        n = s.shape[-1]
        largest = torch.where(s > -math.inf, s.abs(), 0.0).amax(-1)
        found = (n * (error + 4 * n * U * (1 + largest))).clamp_max(2.0)
        return found, found[..., None]

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        raise NotImplementedError  # one score does not say it all; see `SparseRow`


def threshold(s: torch.Tensor) -> torch.Tensor:
    """τ with Σ_l (s_l − τ)₊ = 1 over the last axis, which is kept.

    >>> threshold(torch.tensor([1.0, 0.5, -3.0]))
    tensor([0.2500])
    """
    z = s.sort(-1, descending=True).values
    sums = torch.where(z > -math.inf, z, 0.0).cumsum(-1)
    count = torch.arange(1, s.shape[-1] + 1, device=s.device, dtype=s.dtype)
    size = (1 + count * z > sums).sum(-1, keepdim=True)
    return (sums.gather(-1, size - 1) - 1) / size


@final
class SparseLayer(HeadsLayer):
    """A layer with the K keys that can be in each row's support, and their Gram matrices."""

    def __init__(self, setting: Setting, X: torch.Tensor) -> None:
        super().__init__(setting, X)
        best = self.s.argmax(-1, keepdim=True)
        without = self.s.scatter(-1, best, -math.inf)
        alone = (without > -math.inf).sum(-1, keepdim=True) == 0
        size = (without > threshold(torch.where(alone, 0.0, without))).sum(-1)
        K = min(len(X), int(size.max()) + 1)
        self.z, self.top = self.s.topk(K, -1)  # (H, n, K)
        self.p0 = self.P.gather(-1, self.top)
        out = setting.weights.each_out(self.v).transpose(0, 1)  # (H, n, d)
        heads = torch.arange(len(out), device=X.device)[:, None, None]
        grams = []
        at_once = max(1, 2**24 // out[:, :K].numel())
        for some in torch.arange(len(X), device=X.device).split(at_once):
            keys = out[heads, self.top[:, some]].permute(1, 0, 2, 3).flatten(1, 2)  # (some, HK, d)
            grams.append(keys @ keys.mT)
        self.gram_top = torch.cat(grams)  # (n, HK, HK)

    def _from_row(self, i: int) -> FromRow:
        return SparseRow(self, i)


@final
class SparseRow(FromRow):
    """Row i before it moves, with the K keys of every other row; key i is not one of them."""

    layer: SparseLayer

    def __init__(self, layer: SparseLayer, i: int) -> None:
        super().__init__(layer, i)
        self.top = layer.top[:, self.rows]  # (H, m, K)
        z = layer.z[:, self.rows]
        self.seen = (self.top != i) & (z > -math.inf)
        self.z = torch.where(self.seen, z, 0.0)
        self.p0 = torch.where(self.seen, layer.p0[:, self.rows], 0.0)
        self.own_p0 = layer.P[:, self.rows, i]
        count = self.seen.cumsum(-1)
        limit = (count + 1) * self.z - self.z.cumsum(-1) + 1
        self.limit = torch.where(self.seen, limit, -math.inf)  # b_c
        nothing = ~self.seen.any(-1, keepdim=True)
        z = torch.where(self.seen | nothing, self.z, -math.inf)
        self.silent = torch.where(nothing, -math.inf, threshold(z)).squeeze(-1)  # τ without key i
        self.y_top = self._products_with_own()

    def _products_with_own(self) -> torch.Tensor:
        """v_iᵀG v_l of every pair of heads, (m, H, HK)."""
        layer = self.layer
        each = layer.setting.weights.each_out(layer.v)  # (n, H, d)
        with_own = torch.einsum("hd,lkd->hkl", each[self.i], each)  # (h, k, n)
        found = with_own[:, torch.arange(len(self.top))[:, None, None], self.top]  # (h, k, m, K)
        return found.permute(2, 0, 1, 3).flatten(2)

    def _shares(self, a: torch.Tensor) -> tuple[Shares, Others]:
        u = self.pairs[0] + a  # (B, H, m)
        inside = (u[..., None] < self.limit).to(u)
        count = inside.sum(-1)
        p = (count * u - (inside * self.z).sum(-1) + 1) / (count + 1)
        attended = p > 0
        tau = torch.where(attended, u - p, self.silent)
        p = torch.where(attended, p, 0.0)
        dtau = torch.where(attended, 1 / (count + 1), 0.0)
        dp = torch.where(attended, count / (count + 1), 0.0)
        q = torch.where(self.seen, torch.relu(self.z - tau[..., None]), 0.0)
        others = Others(q - self.p0, -dtau[..., None] * (q > 0))
        return Shares(p - self.own_p0, p, dp, dp), others


@final
class SparseGroup(Group):
    """Changes t v_i + pδ + Σ_l c_l v_l."""

    row: SparseRow
    layer: SparseLayer

    def squares(self) -> torch.Tensor:
        row = self.row
        c = self.others.permute(2, 0, 1, 3).flatten(2)  # heads side by side, (m, B, HK)
        own = (torch.bmm(c, self.layer.gram_top[row.rows]) * c).sum(2).T
        with_y = (torch.bmm(c, row.y_top.mT) * self.t.permute(2, 0, 1)).sum(2).T
        # v_lᵀG_hk δ_k for all keys l, then at the K of each row.
        v = self.layer.v.transpose(0, 1)  # (h, n, m′)
        (B, H, m, K), n = self.others.shape, v.shape[1]
        all_keys = torch.einsum("hlx,bhkx->bkhl", v, self.z).flatten(2)
        place = torch.arange(H, device=c.device)[:, None, None] * n + row.top
        here = all_keys.index_select(2, place.flatten()).view(B, H, H, m, K)  # (B, k, h, m, K)
        with_delta = (here * self.others[:, None]).sum((2, 4))
        return super().squares() + own + 2 * (with_y + (self.p * with_delta).sum(1))

    def products(self, bases: torch.Tensor) -> torch.Tensor:
        found = torch.einsum("bhmk,nhmx,hmkx->bnm", self.others, bases, self._values())
        return super().products(bases) + found

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        c = weights[:, None, :, None] * self.others  # (B, H, m, K)
        n, v = len(self.layer.X), self.layer.v.transpose(0, 1)
        index = self.row.top.expand_as(c).flatten(2)
        each = c.new_zeros(*c.shape[:2], n).scatter_add(2, index, c.flatten(2))
        return super().total(weights) + torch.einsum("bhl,hlx->bhx", each, v)

    def dense(self) -> torch.Tensor:
        return super().dense() + torch.einsum("bhmk,hmkx->bhmx", self.others, self._values())

    def _values(self) -> torch.Tensor:
        """v of the K keys of each row, (H, m, K, m′)."""
        v = self.layer.v.transpose(0, 1)
        return v[torch.arange(len(v), device=v.device)[:, None, None], self.row.top]


def sparse_keys_bytes(n: int, heads: int, keys: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ) for the K keys that can be in a row's support."""
    return n * heads * keys * (12 + 2 * heads) * itemsize


@final
class SparseView(HeadsView):
    """The view of sparsemax attention; gradients are those of `SparseGroup` by autograd."""

    layer: SparseLayer
    group = SparseGroup
    value = View.value
    value_and_gradient = View.value_and_gradient

    def __init__(
        self, layer: SparseLayer, certify: Certify | None, text: torch.Tensor | None = None
    ) -> None:
        super().__init__(layer, certify, text)
        heads, keys = layer.setting.weights.heads, layer.top.shape[2]
        self.bytes_per_point += sparse_keys_bytes(len(self.X), heads, keys, self.X.itemsize)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        setting = self.layer.setting
        one_matrix = setting.weights.K is None and setting.rotation is None
        return certify_sparse(self.layer, rows, radius, progress) if one_matrix else None


#: Cells of the grid over a, and multipliers tried.
CELLS, MULTIPLIERS = 400, 60


def certify_sparse(
    layer: SparseLayer, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate:
    """An exact certificate for each row; the layer has one matrix, and is in float64."""
    upper = []
    for i in rows:
        row = layer.row(i)
        assert isinstance(row, SparseRow)
        square = _others(layer, row, radius) + _own(layer, i, radius) ** 2
        most = hull(layer, i, radius) * SAFE
        found = min(math.sqrt(square * SAFE), most) + _rounding(layer, row, radius)
        upper.append(relative(found * SAFE, layer.norm_below))
        progress("certifying", len(upper), len(rows))
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


def _rounding(layer: SparseLayer, row: SparseRow, radius: float) -> float:
    """How far the changes of the computed layer are from those in exact arithmetic: the weights are
    off by v before the move and after it, and by n times what the error of A adds to a.
    """
    errors, (n, d), rows = layer.errors, layer.X.shape, row.rows
    (head,) = errors.heads
    moved = 2 * n * radius * (head.keys[rows] + 2 * (d + 64) * U * row.f[0].norm(dim=1))
    each = (2 * head.shares[rows, 0] + moved) * (head.longest + radius) + 2 * head.text
    own = float(errors.rows[row.i]) + 2 * head.text
    return math.hypot(float(each.norm()), own) * SAFE


def _others(layer: SparseLayer, row: SparseRow, radius: float) -> float:
    if not len(row.rows):
        return 0.0
    A = row.f[0]  # (m, d)
    reach = radius * A.norm(dim=1) * SAFE
    steps = torch.linspace(-1, 1, CELLS + 1, dtype=A.dtype, device=A.device)
    a = steps[:, None] * reach  # (CELLS + 1, m)
    shares, others = row._shares(a[:, None])
    t, p, c = shares.t[:, 0], shares.p[:, 0], others.change[:, 0].transpose(0, 1)  # (m, B, K)
    squares = (torch.bmm(c, layer.gram_top[row.rows]) * c).sum(2).T
    squares = squares + 2 * t * torch.bmm(c, row.y_top.mT).squeeze(2).T
    squares = squares + t * t * row.gram[:, 0, 0]
    x = layer.X[row.i]
    apart = (layer.X - x).norm(dim=1)
    # A quadratic form of up to K + 1 weights of sum 4 at most, in products of length d.
    size = float(layer.X.norm(dim=1).max())
    rounding = 64 * (layer.X.shape[1] + c.shape[2] + 16) * U
    g = (squares.clamp_min(0) + rounding * size**2).sqrt()
    width = (a[1:] - a[:-1]) / 2
    most = torch.where(row.seen[0], apart[row.top[0]], 0.0).amax(1)  # D_j
    within = (g[1:] + g[:-1]) / 2 + width * most
    f2 = (within + p[1:] * radius) ** 2  # (CELLS, m)
    near = torch.where(a[1:] * a[:-1] < 0, 0.0, torch.minimum(a[1:].abs(), a[:-1].abs())) ** 2
    price = (opnorm_upper_bound(A) * radius) ** 2
    scale = float(f2.max()) / max(float((reach**2).max()), 1e-300)
    found = float(f2.amax(0).sum())
    for exponent in torch.linspace(-6, 1, MULTIPLIERS, dtype=A.dtype).tolist():
        weight = scale * 10**exponent
        found = min(found, weight * price + float((f2 - weight * near).amax(0).sum()))
    return found


def _own(layer: SparseLayer, i: int, radius: float) -> float:
    apart = (layer.X - layer.phi[i]).norm(dim=1)
    attended = layer.s[0, i] > -math.inf
    return max(float(apart[i]) + radius, float(apart[attended].max()))


SPARSEMAX = ScoreFunction(SparsemaxScores(), smooth=False, layer=SparseLayer, view=SparseView)
