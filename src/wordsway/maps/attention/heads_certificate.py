"""Certificates for attention with projections and heads.

Fix row i. With m_jh the mean of head h of row j over the *other* keys, p_jh its share on key i,
Y_jh = O_hᵀ(v_ih − m_jh) and C_h = V_hO_h, row j ≠ i moves by

    w_j = Σ_h (p_jh − p⁰_jh)Y_jh + p_jh C_hᵀΔ,      p_jh = p_jh(a_jh),  a_jh = A_jh·Δ.

**Boxes.** Whatever the price, p_jh lies where |a_jh| ≤ r‖A_jh‖ lets it: in a box within [0, 1]^H.
So ‖w_j‖ ≤ η_j + rκ, with η_j the largest ‖Σ_h (p_h − p⁰_h)Y_jh‖ over the corners of the box, and κ
that of `wordsway.maps.attention.gain`, which knows how heads add up. Trained layers are so easily
attracted that this is nearly all there is to say.

**Prices.** Where rows are hard to win over (random weights), a joint price for all heads helps. Let
t = Σ_h ‖C_hᵀΔ‖² = ‖CᵀΔ‖² for C = (C_1, …, C_H), and η_j the operator norm of the matrix of rows
Y_jh. By Cauchy's inequality ‖w_j‖ ≤ η_j‖p_j − p⁰_j‖ + √t‖p_j‖, hence, with (a + b)² ≤ (1 + ε)a² +
(1 + 1/ε)b² and ε = √t/η_j,

    ‖w_j‖² ≤ Σ_h f_jh(p_jh, t),     f = (p − p⁰)²(η² + η√t) + p²(t + η√t),

which is separable in rows and heads. For positive weights c_jh and μ ≥ 0, Σ_jh (c a)² + μt ≤
r²‖AᵀA + μCCᵀ‖ with the rows c_jhA_jh of A, so that t ≥ t₁ leaves E = min_μ r²‖AᵀA + μCCᵀ‖ − μt₁ for
the moves of all scores, and for t in a cell [t₁, t₂] and every λ

    Σ_{j≠i} ‖w_j‖² ≤ λE + Σ_jh max_a [f_jh(p(a), t₂) − λ(c a)²].

The maximum over a is taken over intervals, with the largest share and the smallest |a| of each:
nothing between grid points is left out.

**Row i**, whose queries move, too, is Σ_h O_hᵀ(mean of values) before and after. With x_lh =
O_hᵀ(v_lh − φ_ih) for the keys l that it hears, it moves by Σ_lh (r_lh − r⁰_lh)x_lh +
Σ_h r_ih C_hᵀΔ. The shares of a head change by no more than tanh(B/2) in total variation if no score
moves by more than B; so the first sum is at most √(Σ_hk θ_hθ_k max_ll′|x_lh·x_l′k|), θ_h = min(1,
2tanh(B_h/2)), and the second at most rκ.

The smaller of both bounds is reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, final

import torch

from wordsway.maps.attention.gain import gain_above, parts_of
from wordsway.maps.attention.heads import HeadsLayer
from wordsway.maps.attention.projections import Projections
from wordsway.maps.certificate import SAFE, Certificate, norm_above
from wordsway.progress import Progress, silent

#: Corners of a box are tried one by one up to this many heads.
CORNERS = 12
#: Intervals of a share's logit from −REACH to REACH, cells of t, values of μ and of λ.
INTERVALS, REACH, CELLS, PRICES, LAMBDAS = 96, 9.0, 16, 13, 24
#: How strongly rows that are hard to win over are discounted; every choice gives a valid bound.
TILTS = (0.0, 1.0)
#: Numbers per block of a temporary table.
BLOCK = 2**22


class Row(NamedTuple):
    """What the certificate needs of row i: N rows j ≠ i that see it, H heads."""

    logit: torch.Tensor  # of p⁰ (N, H)
    p0: torch.Tensor  # (N, H)
    keys: torch.Tensor  # A_jh (N, H, d)
    gram: torch.Tensor  # Y_jh·Y_jk (N, H, H)


@final
class HeadsCertificate:
    """certify(layer, rows, radius, progress) for one set of projections."""

    def __init__(self, weights: Projections) -> None:
        self.weights = weights

    @cached_property
    def gain(self) -> float:
        """κ of the projections."""
        return gain_above(self.weights)

    @cached_property
    def values(self) -> torch.Tensor:
        """C Cᵀ = Σ_h C_hC_hᵀ (d, d)."""
        V, O = parts_of(self.weights)
        return torch.einsum("hdx,hxy,hey->de", V, O @ O.mT, V)

    def __call__(
        self, layer: HeadsLayer, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate:
        """An exact certificate for each row; the layer must be in float64."""
        upper = []
        for i in rows:
            row = row_of(layer, i)
            others = float(((_box(layer, row, radius) + radius * self.gain) ** 2).sum())
            if layer.setting.lift.plain and len(row.logit):
                others = min(others, self._priced(row, radius, others))
            own = (_own(layer, i, radius) + radius * self.gain) ** 2
            upper.append(math.sqrt((others + own) * SAFE) / layer.norm)
            progress("certifying", len(upper), len(rows))
        return Certificate.exact(torch.tensor(upper, dtype=torch.float64))

    def _priced(self, row: Row, r: float, known: float) -> float:
        """The smallest bound of Σ_{j≠i} ‖w_j‖² by prices; +∞ where it cannot beat ``known``."""
        found = math.inf
        for tilt in TILTS:
            need = (3 - row.logit).clamp(1, 60)
            weight = (need.mean() / need) ** tilt
            value = self._tilted(row, weight, r, min(found, known))
            found = min(found, value) if math.isfinite(value) else found
        return found

    def _tilted(self, row: Row, weight: torch.Tensor, r: float, known: float) -> float:
        A = (weight[..., None] * row.keys).flatten(0, 1)
        steps = A.T @ A
        prices = torch.logspace(-1.3, 2.2, PRICES, dtype=torch.float64)
        prices = prices * float(steps.trace() / self.values.trace().clamp_min(1e-300))
        table = Table(row, weight)
        most = r * r * _largest(self.values)
        # Where all energy, at half the largest t, is already too much, nothing is to be gained.
        if table.least(most / 2, r * r * _largest(steps) / 2) > known:
            return math.inf
        tops = torch.tensor([_largest(steps + mu * self.values) for mu in prices.tolist()])
        edges = torch.linspace(0, 1, CELLS + 1, dtype=torch.float64) * most
        worst = 0.0
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            energy = float((r * r * tops - prices * low).min())
            if energy >= 0:
                worst = max(worst, table.least(high, energy))
            if not worst < known:
                return math.inf
        return worst


@final
class Table:
    """Σ_jh max_a […] for any t and λ: values and smallest moves on intervals of shares."""

    def __init__(self, row: Row, weight: torch.Tensor) -> None:
        u = torch.linspace(-REACH, REACH, INTERVALS + 1, dtype=torch.float64)
        ends = u.new_tensor([math.inf])
        below, above = torch.cat([-ends, u]), torch.cat([u, ends])
        logit, p0 = row.logit[..., None], row.p0[..., None]
        apart = torch.maximum(below - logit, logit - above).clamp_min(0)
        self.price = (weight[..., None] * apart) ** 2  # (N, H, intervals)
        self.share = torch.sigmoid(above) ** 2
        self.gained = torch.maximum(
            (torch.sigmoid(below) - p0).abs(), (torch.sigmoid(above) - p0).abs()
        ).square()
        self.eta = torch.linalg.eigvalsh(row.gram)[:, -1].clamp_min(0).sqrt()[:, None, None]
        self.eta = self.eta * SAFE

    def least(self, t: float, energy: float) -> float:
        """min over λ of λ·energy + Σ_jh max_a […]."""
        root = math.sqrt(t)
        value = self.gained * (self.eta**2 + self.eta * root) + self.share * (t + self.eta * root)
        start = float(value.amax()) / 20
        found = math.inf
        for step in range(LAMBDAS):
            lam = start * math.exp(-5 + 7 * step / (LAMBDAS - 1))
            total = float((value - lam * self.price).amax(-1).sum()) + lam * energy
            if total > found:  # convex in λ
                break
            found = total
        return found


def _largest(M: torch.Tensor) -> float:
    """The largest eigenvalue of a positive matrix, rounding errors added."""
    error = 32 * len(M) * torch.finfo(M.dtype).eps * float(M.diagonal().sum())
    return float(torch.linalg.eigvalsh(M)[-1]) + error


def row_of(layer: HeadsLayer, i: int) -> Row:
    """Row i of a layer with normalised shares."""
    seen, setting = layer.row(i), layer.setting
    weights, rows = setting.weights, seen.rows
    s = layer.s[:, rows].clone()
    s[..., i] = -math.inf
    # A row that sees no other key goes on giving all to this one: its mean does not matter.
    means = setting.scores.attention(s).nan_to_num(0.0) @ layer.v.transpose(0, 1)  # (H, N, m′)
    Y = weights.each_out((layer.v[i][:, None] - means).transpose(0, 1))  # (N, H, d or m′)
    gram = Y @ Y.mT if weights.O is not None or weights.heads == 1 else _apart(Y)
    logit = seen.pairs[0].T
    f = layer.f[rows]  # (N, H, m)
    if not setting.lift.plain:
        return Row(logit, torch.sigmoid(logit), f[..., :0], gram)
    f = f if setting.rotation is None else setting.rotation.turn_as(i, f, back=True)
    if weights.K is None:
        keys = f
    else:
        K = weights.K.unflatten(1, (weights.key_heads, -1))
        K = K.repeat_interleave(weights.heads // weights.key_heads, 1)
        keys = torch.einsum("nhm,dhm->nhd", f, K)
    return Row(logit, torch.sigmoid(logit), keys, gram)


def _apart(Y: torch.Tensor) -> torch.Tensor:
    """The Gram matrices of heads that stay side by side."""
    return torch.diag_embed((Y * Y).sum(-1))


def _box(layer: HeadsLayer, row: Row, r: float) -> torch.Tensor:
    """η_j for boxes of shares (N,)."""
    if layer.setting.lift.plain:
        reach = r * row.keys.norm(dim=-1) * SAFE
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
        found.append(((p @ row.gram[some]) * p).sum(-1).amax(-1))
    return torch.cat(found).clamp_min(0).sqrt() * SAFE if found else row.p0.new_zeros(0)


def _own(layer: HeadsLayer, i: int, r: float) -> float:
    """What row i moves by at most, the move of its own value apart."""
    setting, weights = layer.setting, layer.setting.weights
    heard = (layer.s[:, i] > -math.inf).any(0)
    v = layer.v[heard]
    if setting.scores.sink:
        v = torch.cat([v, torch.zeros_like(v[:1])])
    x = weights.each_out(v - layer.heads[i]).transpose(0, 1)  # (H, keys, ·)
    H = len(x)
    theta = x.new_ones(H)
    if setting.lift.plain:
        theta = torch.minimum(theta, 2 * torch.tanh(_most_moved(layer, i, heard, r) / 2))
    square = 0.0
    for h in range(H):
        for k in range(H if weights.O is not None else 0):
            if k != h:
                square += float(theta[h] * theta[k] * (x[h] @ x[k].T).abs().max())
        square += float(theta[h] ** 2 * (x[h] * x[h]).sum(1).max())
    return math.sqrt(square * SAFE)


def _most_moved(layer: HeadsLayer, i: int, heard: torch.Tensor, r: float) -> torch.Tensor:
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
        q, k = norm_above(Q[h]), norm_above(K[h])
        longest = float(layer.k[heard, h].norm(dim=-1).max())
        by_query = r * q * longest
        by_both = by_query + r * k * float(layer.q[i, h].norm()) + r * r * q * k
        found.append(abs(c) * max(by_query, by_both))
    return torch.tensor(found, dtype=torch.float64)
