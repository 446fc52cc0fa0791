"""Certificates for attention with projections and heads (docs/statements/heads.md).

With m_jh the mean of head h of row j over the keys but i, Y_jh = O_hᵀ(v_ih − m_jh), C_h = V_hO_h,

    w_j = Σ_h (p_jh − p⁰_jh)Y_jh + p_jh C_hᵀΔ,      p_jh = p_jh(a_jh),  a_jh = A_jh·Δ.

**Boxes** (Theorem 10): p_jh lies where |a_jh| ≤ r‖A_jh‖ lets it, so that ‖w_j‖ ≤ η_j + rκ, η_j over
the corners of that box, κ that of `head_gain`. **Prices** (Theorem 11): with τ of
`Together`, η_j the norm of the matrix of rows Y_jh, and Σ_jh (c a)² + μτ ≤ r²L for some pairs μ, L,

    Σ_{j≠i} ‖w_j‖² ≤ λ(r²L − μτ₁) + Σ_jh max_a [f_jh(p(a), τ₂) − λ(c a)²]     for τ₁ ≤ τ ≤ τ₂,
    f = (p − p⁰)²(η² + η√τ) + p²(τ + η√τ).

The smaller of both bounds is reported.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.heads_gain import (
    Together,
    head_gain,
    joins,
    parts_of,
)
from wordsway.maps.attention.certificates.heads_table import FINE, GainTable, PricedRow, tuned
from wordsway.maps.attention.heads import HeadsLayer
from wordsway.maps.attention.ingredients import Projections
from wordsway.maps.rigorous import (
    SAFE,
    Certificate,
    U,
    eigenvalue_upper_bound,
    gamma,
    opnorm_upper_bound,
    relative,
)

#: Corners of a box are tried one by one up to this many heads.
CORNERS = 12
#: Cells of τ, how many of them are halved, and norms of AᵀA + μCCᵀ.
CELLS, HALVED, PRICES = 16, 14, 13
#: How strongly rows that are hard to win over are discounted before weights are tuned, and the τ
#: for which they are, as a part of the largest.
TILT, TUNED_AT = 0.8, 0.55
#: Prices are not changed beyond this, where squares overflow.
HUGE = 1e100
#: μ for all heads together, in units of ‖AᵀA‖/‖B‖.
TOGETHER = 0.9
#: Numbers per block of a temporary table.
BLOCK = 2**22


@final
class HeadsCertificate:
    """certify(layer, rows, radius, progress) for one set of projections."""

    def __init__(self, weights: Projections) -> None:
        self.weights = weights

    @cached_property
    def gain(self) -> tuple[float, torch.Tensor | None]:
        """κ of the projections, and what proves it."""
        return head_gain(self.weights)

    @cached_property
    def values(self) -> torch.Tensor:
        """C Cᵀ = Σ_h C_hC_hᵀ (d, d)."""
        V, O = parts_of(self.weights)
        return torch.einsum("hdx,hxy,hey->de", V, O @ O.mT, V)

    @cached_property
    def values_error(self) -> float:
        """The rounding of `values`: a sum over heads of three products."""
        V, O = parts_of(self.weights)
        inner = V.shape[0] * (2 * V.shape[2] + O.shape[2])
        sizes = V.flatten(1).norm(dim=1) * O.flatten(1).norm(dim=1)
        return 2 * gamma(inner) * float(sizes @ sizes)

    def __call__(
        self, layer: HeadsLayer, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate:
        """An exact certificate for each row; the layer must be in float64."""
        upper = []
        for i in rows:
            whole = self.solve(layer, i, radius).total
            off = layer.errors.omega(layer.setting.scores, i, layer.row(i).rows)
            upper.append(relative((math.sqrt(whole * SAFE) + off) * SAFE, layer.norm_below))
            progress("certifying", len(upper), len(rows))
        return Certificate.exact(torch.tensor(upper, dtype=torch.float64))

    def solve(self, layer: HeadsLayer, i: int, radius: float) -> SolvedHeads:
        """The smaller one of both bounds of one row."""
        row, own = row_of(layer, i, radius), _own(layer, i, radius)
        kappa, _ = self.gain
        others = float(((_box(layer, row, radius) + radius * kappa) ** 2).sum())
        whole = others + (own + radius * kappa) ** 2
        if layer.setting.lift.plain and len(row.logit):
            priced = self._priced(row, radius, own, whole)
            if priced is not None and priced.total < whole:
                return priced
        return SolvedHeads(whole, torch.ones_like(row.logit), [], [])

    @cached_property
    def together(self) -> Together | None:
        """All heads at once, where they are few enough."""
        heads, d = self.weights.heads, self.weights.Q.shape[0]
        return Together(self.weights) if joins(d, heads) else None

    def _priced(self, row: PricedRow, r: float, own: float, known: float) -> SolvedHeads | None:
        """The smallest bound of Σ_j ‖w_j‖² by prices, None where it cannot beat ``known``. Row i
        moves by at most ``own`` in addition to Σ_h r_ih C_hᵀΔ, which is at most √(Hτ) and rκ.
        """
        need = (3 - row.logit).clamp(1, 60)
        weight = (need.mean() / need) ** TILT
        whole = r * r * self._largest_value
        most = self.most(r)
        alone = eigenvalue_upper_bound(*_steps(row, weight))
        if not (0 < alone < HUGE and 0 < most < HUGE and bool(row.logit.isfinite().all())):
            return None
        # Where half of all energy, at half the largest τ, is already too much, nothing is gained.
        if GainTable(row, weight).least(most / 2, r * r * alone / 2)[0] > known:
            return None
        table = GainTable(row, torch.ones_like(weight))
        f = table.values(TUNED_AT * most)
        weight = tuned(row.keys, f, table.price, self.values, r, TUNED_AT * whole, weight)
        return self._weighted(row, weight, r, most, own)

    @cached_property
    def _largest_value(self) -> float:
        return eigenvalue_upper_bound(self.values, self.values_error)

    def most(self, r: float) -> float:
        """A number that τ does not exceed."""
        found = r * r * self._largest_value
        return SAFE * (found if self.together is None else min(found, r * r * self.together.most))

    def _weighted(
        self, row: PricedRow, weight: torch.Tensor, r: float, most: float, own: float
    ) -> SolvedHeads:
        """The bound for given weights: τ ≤ ``most`` in cells."""
        lines = self._lines(*_steps(row, weight), row.logit.numel())
        heads = row.p0.shape[1]

        def cell(shares: GainTable, low: float, high: float, lam: float | None) -> TauCell:
            energy = min(r * r * line.top * SAFE - line.mu * low for line in lines)
            if energy < 0:  # no Δ is here
                return TauCell(0.0, low, high, lam or 1.0)
            bound, lam = shares.least(high, energy, lam)
            bound += (own + min(r * self.gain[0], math.sqrt(heads * high))) ** 2
            return TauCell(-bound, low, high, lam)

        table, lam, cells = GainTable(row, weight), None, []
        for k in range(CELLS):
            cells.append(cell(table, most * k / CELLS, most * (k + 1) / CELLS, lam))
            lam = cells[-1].lam
        heapq.heapify(cells)
        fine = GainTable(row, weight, FINE)
        for _ in range(HALVED):
            _, low, high, lam = heapq.heappop(cells)
            middle = (low + high) / 2
            heapq.heappush(cells, cell(fine, low, middle, lam))
            heapq.heappush(cells, cell(fine, middle, high, lam))
        return SolvedHeads(-cells[0].bound, weight, cells, lines)

    def _lines(self, steps: torch.Tensor, error: float, inner: int) -> list[Line]:
        """μ and L with Σ (c a)² + μτ ≤ r²L, given AᵀA, its rounding and its inner length."""
        alone = eigenvalue_upper_bound(steps, error)
        scale = float(steps.trace() / self.values.trace().clamp_min(1e-300))
        prices = (scale * torch.logspace(-1.3, 2.2, PRICES, dtype=torch.float64)).tolist()
        lines = [Line(0.0, alone)]
        for mu in prices:
            both = steps + mu * self.values
            off = error + mu * self.values_error + 4 * U * float(both.norm())
            lines.append(Line(mu, eigenvalue_upper_bound(both, off)))
        if self.together is not None and self.together.most > 0:
            mu = TOGETHER * alone / self.together.most
            lines.append(Line(mu, self.together.above(steps, mu, inner), together=True))
        return lines


class Line(NamedTuple):
    """Σ (c a)² + μτ ≤ r²·``top``, by the matrix of all heads ``together`` or by Σ_h C_hC_hᵀ."""

    mu: float
    top: float
    together: bool = False


class TauCell(NamedTuple):
    """τ from ``low`` to ``high``: the bound there, less than zero for the heap, and its λ."""

    bound: float
    low: float
    high: float
    lam: float


class SolvedHeads(NamedTuple):
    """A bound of Σ_j ‖w_j‖² and row i's square: by boxes, or in cells of τ by prices, with the
    weights c_jh (N, H) and the lines of which the prices are.
    """

    total: float
    weight: torch.Tensor
    cells: list[TauCell]
    lines: list[Line]


def _steps(row: PricedRow, weight: torch.Tensor) -> tuple[torch.Tensor, float]:
    """AᵀA of the rows c_jhA_jh (d, d), and its rounding: of as many products as there are rows."""
    A = (weight[..., None] * row.keys).flatten(0, 1)
    steps = A.T @ A
    return steps, 2 * gamma(len(A) + 4) * float(steps.trace())


def row_of(layer: HeadsLayer, i: int, radius: float) -> PricedRow:
    """Row i of a layer with normalised shares."""
    seen, setting = layer.row(i), layer.setting
    weights, rows = setting.weights, seen.rows
    means = setting.scores.without(layer.s[:, rows], i) @ layer.v.transpose(0, 1)  # (H, N, m′)
    Y = weights.each_out((layer.v[i][:, None] - means).transpose(0, 1))  # (N, H, d or m′)
    gram = Y @ Y.mT if weights.O is not None or weights.heads == 1 else _apart(Y)
    logit = seen.pairs[0].T
    f = layer.f[rows]  # (N, H, m)
    if not setting.lift.plain:
        return PricedRow(logit, torch.sigmoid(logit), torch.zeros_like(logit), f[..., :0], gram)
    f = f if setting.rotation is None else setting.rotation.turn_as(i, f, back=True)
    if weights.K is None:
        keys = f
    else:
        K = weights.K.unflatten(1, (weights.key_heads, -1))
        K = K.repeat_interleave(weights.heads // weights.key_heads, 1)
        keys = torch.einsum("nhm,dhm->nhd", f, K)
    blur = layer.errors.blur(rows, logit, keys, radius)
    return PricedRow(logit, torch.sigmoid(logit), blur, keys, gram)


def _apart(Y: torch.Tensor) -> torch.Tensor:
    """The Gram matrices of heads that stay side by side."""
    return torch.diag_embed((Y * Y).sum(-1))


def _box(layer: HeadsLayer, row: PricedRow, r: float) -> torch.Tensor:
    """η_j for boxes of shares (N,)."""
    if layer.setting.lift.plain:
        reach = r * row.keys.norm(dim=-1) * SAFE + row.blur
        low, high = torch.sigmoid(row.logit - reach), torch.sigmoid(row.logit + reach)
    else:
        low, high = torch.zeros_like(row.p0), torch.ones_like(row.p0)
    down, up = low - row.p0, high - row.p0
    N, H = row.p0.shape
    if H > CORNERS:
        most = torch.maximum(down.abs(), up.abs())
        return torch.einsum("nh,nhk,nk->n", most, row.gram.abs(), most).sqrt() * SAFE
    corner = torch.arange(2**H)[:, None] >> torch.arange(H) & 1  # (2^H, H)
    found = []
    each = max(1, BLOCK // (2**H * H))
    for a in range(0, N, each):
        some = slice(a, a + each)
        p = torch.where(corner.bool(), up[some, None], down[some, None])  # (·, 2^H, H)
        # The form may cancel: its rounding is relative to the lengths of the Y_jh.
        size = (p.abs().amax(1) * row.gram[some].diagonal(dim1=1, dim2=2).clamp_min(0).sqrt()).sum(
            1
        )
        rounding = 8 * (layer.X.shape[1] + H + 8) * U * size**2
        found.append(((p @ row.gram[some]) * p).sum(-1).amax(-1) + rounding)
    return torch.cat(found).clamp_min(0).sqrt() * SAFE if found else row.p0.new_zeros(0)


def _own(layer: HeadsLayer, i: int, r: float) -> float:
    """An upper bound on the move of row i, without the move of its own value."""
    setting, weights = layer.setting, layer.setting.weights
    visible = (layer.s[:, i] > -math.inf).any(0)
    v = layer.v[visible]
    if setting.scores.sink:
        v = torch.cat([v, torch.zeros_like(v[:1])])
    x = weights.each_out(v - layer.heads[i]).transpose(0, 1)  # (H, keys, ·)
    H = len(x)
    theta = x.new_ones(H)
    if setting.lift.plain:
        theta = torch.minimum(theta, 2 * torch.tanh(_most_moved(layer, i, visible, r) / 2))
    square = 0.0
    for h in range(H):
        for k in range(H if weights.O is not None else 0):
            if k != h:
                square += float(theta[h] * theta[k] * (x[h] @ x[k].T).abs().max())
        square += float(theta[h] ** 2 * (x[h] * x[h]).sum(1).max())
    return math.sqrt(square * SAFE)


def _most_moved(layer: HeadsLayer, i: int, visible: torch.Tensor, r: float) -> torch.Tensor:
    """How far a score of row i moves at most, head by head (H,)."""
    weights, c = layer.setting.weights, layer.setting.factor
    Q = weights.Q.unflatten(1, (weights.heads, -1)).transpose(0, 1)  # (H, d, m)
    times = weights.heads // weights.key_heads
    K = weights.K
    if K is None:
        K = torch.eye(len(weights.Q), dtype=Q.dtype, device=Q.device)
    K = K.unflatten(1, (weights.key_heads, -1)).transpose(0, 1).repeat_interleave(times, 0)
    found = []
    for h in range(weights.heads):
        q, k = opnorm_upper_bound(Q[h]), opnorm_upper_bound(K[h])
        longest = float((layer.k[visible, h].norm(dim=-1) + layer.errors.keys[visible, h]).max())
        own = float(layer.q[i, h].norm() + layer.errors.queries[i, h])
        by_query = r * q * longest
        by_both = by_query + r * k * own + r * r * q * k
        found.append(abs(c) * max(by_query, by_both) * SAFE)
    return torch.tensor(found, dtype=torch.float64)
