"""Attention with projections and heads at one text, and its rows after one row has moved.

Head h of row j gives Σ_l P^h_jl v_l with scores s_jl = c f_j·g_l + bias_jl of lifted queries and
keys (`attention.ingredients`). Moving row i by Δ moves one score of every other row and head, by
a = c f_j·(g(k_i + KᵀΔ) − g(k_i)), and v_i by δ = VᵀΔ, so that with the t and p of
`attention.scores.base`, head by head,

    φ^h_j(X^i(Δ)) − φ^h_j(X) = t y_j + p δ,     y_j = v_i − φ_j (normalised) or v_i.

The rows of the map are those of the heads times O. With G = OOᵀ in blocks G_hk, and any fixed b_j
with heads b_h = O_h b_j,

    ‖w_j‖² = Σ_hk t_h t_k y_hᵀG_hk y_k + 2 t_h p_k y_hᵀG_hk δ_k + p_h p_k δ_hᵀG_hk δ_k,
    b_j·w_j = Σ_h t_h b_h·y_h + p_h b_h·δ_h,      Σ_j c_j w_j = Oᵀ(Σ_j c_j (t_j y_j + p_j δ)):

(n·H + d)·d operations for each Δ, against O(n²d + nd²) for a forward pass. Row i is recomputed;
rows that do not see it do not move. "Sharp" pairs are those of `attention.one_matrix.layer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.core.vectors import unit
from wordsway.maps.attention.certificates.rounding import HeadsErrors, heads_errors
from wordsway.maps.attention.ingredients import Lift, Projections, Rotation
from wordsway.maps.attention.layer import AttentionLayer, LayerView
from wordsway.maps.attention.scores.base import SHARP, Scores, Shares
from wordsway.maps.base import nonzero_norm
from wordsway.maps.rigorous import Certificate
from wordsway.maps.rows import Derived, Moving, RowChanges, by_row, gathered

#: Memory for rows prepared before they move (`FromRow`).
KEPT_BYTES = 2**28


class Setting(NamedTuple):
    """The ingredients of a layer with heads, for texts of n rows."""

    scores: Scores
    lift: Lift
    weights: Projections
    factor: float  # c, of f_j·g_l
    bias: torch.Tensor | None  # (n, n) or (H, n, n)
    rotation: Rotation | None
    name: str

    def to(self, like: torch.Tensor) -> Setting:
        """The same in another precision or place."""
        return self._replace(
            weights=self.weights.to(like),
            bias=None if self.bias is None else self.bias.to(like),
            rotation=None if self.rotation is None else self.rotation.to(like),
        )

    def queries(self, X: torch.Tensor) -> torch.Tensor:
        """q of every row, turned: (…, n, H, m)."""
        q = self.weights.queries(X)
        return q if self.rotation is None else self.rotation.turn(q)

    def keys(self, X: torch.Tensor) -> torch.Tensor:
        """k of every row, turned: (…, n, H, m)."""
        k = self.weights.keys(X)
        return k if self.rotation is None else self.rotation.turn(k)

    def score(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        """(…, n, H, m) twice → (…, H, n, n)."""
        f, g = self.factor * self.lift.query(q), self.lift.key(k)
        s = f.transpose(-3, -2) @ g.transpose(-3, -2).mT
        return s if self.bias is None else s + self.bias

    def features(self, X: torch.Tensor) -> torch.Tensor:
        """The definition: (…, n, d) → (…, n, d)."""
        return self.attend(X, self.score(self.queries(X), self.keys(X)))

    def attend(self, X: torch.Tensor, s: torch.Tensor) -> torch.Tensor:
        """The features of given scores (…, H, n, n)."""
        heads = self.scores.attention(s) @ self.weights.values(X).transpose(-3, -2)
        return self.weights.out(heads.transpose(-3, -2))


class Moved(NamedTuple):
    """Rows and heads after row i moved by Δ, for B points: m rows that see key i, H heads."""

    shares: Shares  # (B, H, m) each
    delta_v: torch.Tensor  # δ (B, H, m′)
    k: torch.Tensor  # the turned k_i + KᵀΔ (B, H, m)
    g: torch.Tensor  # g of it (B, H, ·)
    q: torch.Tensor  # the turned q_i + QᵀΔ (B, H, m)
    f: torch.Tensor  # c f of it (B, H, ·)
    s: torch.Tensor  # row i's scores (B, H, n)
    r: torch.Tensor  # and shares (B, H, n)
    own_heads: torch.Tensor  # what row i's heads change by (B, H, m′)
    others: Others | None = None  # beside t y + p δ, in `attention.scores.sparsemax`


class Others(NamedTuple):
    """How the weights of K other keys move, (B, H, m, K), and their derivatives in a."""

    change: torch.Tensor
    slope: torch.Tensor


class HeadsLayer(AttentionLayer):
    """φ(X) at one text X (n×d)."""

    def __init__(self, setting: Setting, X: torch.Tensor) -> None:
        self.setting = setting
        self.X = X
        self.q, self.k = setting.queries(X), setting.keys(X)  # (n, H, m)
        self.f, self.g = setting.factor * setting.lift.query(self.q), setting.lift.key(self.k)
        self.s = setting.score(self.q, self.k)  # (H, n, n)
        self.P = setting.scores.attention(self.s)
        self.v = setting.weights.values(X)  # (n, H, m′)
        self.heads = (self.P @ self.v.transpose(0, 1)).transpose(0, 1)  # (n, H, m′)
        self.phi = setting.weights.out(self.heads)  # (n, d)
        self.norm = nonzero_norm(float(self.phi.norm()), setting.name)
        # Entry i is about key i: pairs (key i, head h, row j).
        prepared = setting.scores.prepare(self.s)
        self.pairs = tuple(part.permute(2, 0, 1).contiguous() for part in prepared)
        O, H = setting.weights.O, setting.weights.heads
        #: G_·k for every head k, (H, m′, H·m′); None for the identity.
        self._gram = None if O is None else (O @ O.T).unflatten(0, (H, -1))
        self._rows: dict[int, FromRow] = {}

    @cached_property
    def errors(self) -> HeadsErrors:
        return heads_errors(self)

    def row(self, i: int) -> FromRow:
        """The layer seen from row i; the latest ones are kept."""
        found = self._rows.pop(i, None) or self._from_row(i)
        self._rows[i] = found
        while len(self._rows) > max(1, KEPT_BYTES // max(1, found.bytes)):
            del self._rows[next(iter(self._rows))]
        return found

    def _from_row(self, i: int) -> FromRow:
        return FromRow(self, i)

    def gram_with(self, delta: torch.Tensor) -> torch.Tensor:
        """G_hk δ_k: (B, H, m′) → (B, H, H, m′)."""
        if self._gram is None:
            return delta[:, None]
        each = torch.bmm(delta.transpose(0, 1), self._gram)  # (k, B, H·m′)
        return each.unflatten(2, (len(self._gram), -1)).permute(1, 2, 0, 3)

    def gram_all(self, heads: torch.Tensor) -> torch.Tensor:
        """Σ_h G_kh u_h: (B, H, m′) → (B, k, m′)."""
        if self._gram is None:
            return heads
        return (heads.flatten(1) @ self._gram.flatten(0, 1)).view_as(heads)

    def gram_rows(self, drawn: torch.Tensor) -> torch.Tensor:
        """Σ_h G_kh u_kh: (B, k, H, m′) → (B, k, m′)."""
        if self._gram is None:
            return drawn.sum(2)
        flat = drawn.flatten(2).transpose(0, 1)  # (k, B, H·m′)
        return torch.bmm(flat, self._gram.mT).transpose(0, 1)


class FromRow:
    """Row i before it moves: the m rows j ≠ i that attend to it, and their y_j."""

    def __init__(self, layer: HeadsLayer, i: int) -> None:
        self.layer, self.i = layer, i
        self.rows = layer.rows_attending_to(i).nonzero().squeeze(1)
        self.f = layer.f[self.rows].transpose(0, 1)  # (H, m, ·)
        self.pairs = tuple(part[i][:, self.rows] for part in layer.pairs)  # (H, m)
        v = layer.v[i]
        self.sharp: torch.Tensor | None = None
        y = v.expand(len(self.rows), *v.shape)
        if layer.setting.scores.normalised:
            y = v - layer.heads[self.rows]
            self._sharpen(y)
        self.y = y.transpose(0, 1).contiguous()  # (H, m, m′)
        out = layer.setting.weights.each_out(y)
        self.gram = out @ out.mT  # y_hᵀG_hk y_k, (m, H, H)

    def _sharpen(self, y: torch.Tensor) -> None:
        layer = self.layer
        sharp = layer.P[:, self.rows, self.i] > SHARP
        if not bool(sharp.any()):
            return
        head, place = sharp.nonzero(as_tuple=True)
        shares = layer.setting.scores.without(layer.s[head, self.rows[place]], self.i)
        means = torch.einsum("sl,lsx->sx", shares, layer.v[:, head])
        y[place, head] = layer.v[self.i, head] - means
        self.sharp = sharp

    @property
    def bytes(self) -> int:
        """Memory of this object."""
        return sum(t.nbytes for t in (self.f, self.y, self.gram, *self.pairs))

    def moved(self, delta: torch.Tensor) -> Moved:
        """The rows after row i moved by each ``delta`` (B, d)."""
        layer, i = self.layer, self.i
        setting, weights, turn = layer.setting, layer.setting.weights, layer.setting.rotation
        delta_k, delta_q = weights.keys(delta, bias=False), weights.queries(delta, bias=False)
        if turn is not None:
            delta_k, delta_q = turn.turn_as(i, delta_k), turn.turn_as(i, delta_q)
        k, q = layer.k[i] + delta_k, layer.q[i] + delta_q
        f, g = setting.factor * setting.lift.query(q), setting.lift.key(k)
        step = delta_k if setting.lift.plain else g - layer.g[i]
        a = torch.bmm(step.transpose(0, 1), self.f.mT).transpose(0, 1)  # (B, H, m)
        shares, others = self._shares(a)
        delta_v = weights.values(delta, bias=False)

        s = torch.bmm(f.transpose(0, 1), layer.g.permute(1, 2, 0)).transpose(0, 1)
        s[..., i] = (f * g).sum(-1)
        s = s if setting.bias is None else s + setting.bias[..., i, :]
        r = setting.scores.attention(s)
        heads = torch.bmm(r.transpose(0, 1), layer.v.transpose(0, 1)).transpose(0, 1)
        change = heads + r[..., i, None] * delta_v - layer.heads[i]
        return Moved(shares, delta_v, k, g, q, f, s, r, change, others)

    def _shares(self, a: torch.Tensor) -> tuple[Shares, Others | None]:
        """What becomes of the weights where the scores of key i move by a, (B, H, m)."""
        scores = self.layer.setting.scores
        shares = scores.move(self.pairs, a)
        if self.sharp is not None:
            gain, slope = scores.gain(self.pairs, a)
            shares = shares.sharpened(self.sharp, gain, slope)
        return shares, None

    def pulled(
        self, moved: Moved, slope: torch.Tensor, along: torch.Tensor, own_heads: torch.Tensor
    ) -> torch.Tensor:
        """The gradient in Δ (B, d), given those in the moves a (B, H, m), in δ (B, H, m′) by way of
        the other rows, and in row i's heads (B, H, m′).
        """
        layer, i = self.layer, self.i
        setting, weights, turn = layer.setting, layer.setting.weights, layer.setting.rotation
        h = torch.bmm(own_heads.transpose(0, 1), layer.v.permute(1, 2, 0)).transpose(0, 1)
        h[..., i] += (own_heads * moved.delta_v).sum(-1)
        pull = setting.scores.pull(moved.s, moved.r, h)
        g_f = torch.bmm(pull.transpose(0, 1), layer.g.transpose(0, 1)).transpose(0, 1)
        own = pull[..., i, None]
        by_f = setting.factor * (g_f + own * (moved.g - layer.g[i]))
        by_g = torch.bmm(slope.transpose(0, 1), self.f).transpose(0, 1) + own * moved.f
        by_q, by_k = setting.lift.query_pull(moved.q, by_f), setting.lift.key_pull(moved.k, by_g)
        if turn is not None:
            by_q, by_k = turn.turn_as(i, by_q, back=True), turn.turn_as(i, by_k, back=True)
        gradient = weights.queries_back(by_q) + weights.keys_back(by_k)
        return gradient + weights.values_back(along + moved.r[..., i, None] * own_heads)


class Group:
    """B moves of one row i: m rows see it. Shapes as in `attention.heads`."""

    def __init__(self, layer: HeadsLayer, row: FromRow, delta: torch.Tensor) -> None:
        self.layer, self.row = layer, row
        found: Any = Derived.apply(delta, self._coefficients)  # type: ignore[no-untyped-call]
        self.t, self.p, self.delta_v, self.own_heads, self.others = found
        self.z = layer.gram_with(self.delta_v)  # G_hk δ_k (B, H, H, m′)

    def _coefficients(self, delta: torch.Tensor) -> Any:
        """t, p and δ of all rows and heads, the change of row i's heads, moves of other weights."""
        row, moved = self.row, self.row.moved(delta)
        others = delta.new_zeros(0) if moved.others is None else moved.others.change

        def pull(by_t: Any, by_p: Any, along: Any, by_own: Any, by_others: Any) -> torch.Tensor:
            slope = by_t * moved.shares.dt + by_p * moved.shares.dp
            if moved.others is not None:
                slope = slope + (by_others * moved.others.slope).sum(-1)
            return row.pulled(moved, slope, along, by_own)

        return (moved.shares.t, moved.shares.p, moved.delta_v, moved.own_heads, others), pull

    @property
    def own(self) -> torch.Tensor:
        """The change of row i, (B, d)."""
        return self.layer.setting.weights.out(self.own_heads, bias=False)

    def squares(self) -> torch.Tensor:
        """‖w_j‖², (B, m)."""
        t, p, row, z = self.t, self.p, self.row, self.z
        B, H, m = t.shape
        across = torch.bmm(row.y, z.permute(1, 3, 0, 2).reshape(H, -1, B * H))
        across = across.view(H, m, B, H).permute(2, 0, 3, 1)  # y_hᵀG_hk δ_k (B, h, k, m)
        D = (self.delta_v[:, :, None] * z).sum(-1)
        ty = torch.bmm(t.permute(2, 0, 1), row.gram).permute(1, 2, 0)
        td = (t[:, :, None] * across).sum(1)
        return (t * ty + p * (2 * td + torch.bmm(D.mT, p))).sum(1)

    def products(self, bases: torch.Tensor) -> torch.Tensor:
        """b_j·w_j for the heads (M, H, m, m′) of the bases at the rows that move, (B, M, m)."""
        y = (bases * self.row.y).sum(-1)  # (M, H, m)
        along = torch.einsum("bhx,nhmx->bnhm", self.delta_v, bases)
        return (self.t[:, None] * y + self.p[:, None] * along).sum(2)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        """Σ_j c_j w_j before O: (B, m) → (B, H, m′)."""
        t, p = weights[:, None] * self.t, weights[:, None] * self.p
        y = torch.bmm(t.transpose(0, 1), self.row.y).transpose(0, 1)
        return y + p.sum(2, keepdim=True) * self.delta_v

    def dense(self) -> torch.Tensor:
        """All the w_j before O, (B, H, m, m′)."""
        return self.t[..., None] * self.row.y + self.p[..., None] * self.delta_v[:, :, None]


@final
class HeadsRows(RowChanges):
    """B moves of a layer, group by group of the moved row."""

    def __init__(
        self,
        view: HeadsView,
        bases: torch.Tensor,
        heads: torch.Tensor,
        rows: torch.Tensor,
        delta: torch.Tensor,
    ) -> None:
        self._layer, self._bases, self._heads = view.layer, bases, heads
        self._points = by_row(rows)
        each = ((view.layer.row(i), delta[some]) for i, some in self._points)
        self._groups = [view.group(view.layer, *one) for one in each]

    @cached_property
    def own(self) -> torch.Tensor:  # type: ignore[override]
        return gathered(self._points, [group.own for group in self._groups])

    @cached_property
    def squares(self) -> torch.Tensor:  # type: ignore[override]
        parts = [
            self._placed(group, group.squares(), (group.own * group.own).sum(1))
            for group in self._groups
        ]
        return gathered(self._points, parts)

    @cached_property
    def products(self) -> torch.Tensor:  # type: ignore[override]
        parts = []
        for group in self._groups:
            own = group.own @ self._bases[:, group.row.i].T
            moved = group.products(self._heads[:, :, group.row.rows])
            parts.append(self._placed(group, moved, own))
        return gathered(self._points, parts)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        out, parts = self._layer.setting.weights.out, []
        for (i, points), group in zip(self._points, self._groups, strict=True):
            some = weights[points]
            heads = group.total(some[:, group.row.rows])
            parts.append(out(heads + some[:, i, None, None] * group.own_heads, bias=False))
        return gathered(self._points, parts)

    def dense(self) -> torch.Tensor:
        out, parts = self._layer.setting.weights.out, []
        for group in self._groups:
            moved = out(group.dense().transpose(1, 2), bias=False)  # (B, m, d)
            full = moved.new_zeros(len(moved), len(self._layer.X), moved.shape[2])
            full = full.index_copy(1, group.row.rows, moved)
            parts.append(full.index_copy(1, self._place(group), group.own[:, None]))
        return gathered(self._points, parts)

    def _placed(self, group: Group, moved: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Values (…, m) of the rows that move and (…,) of row i among those of all n."""
        full = moved.new_zeros(*moved.shape[:-1], len(self._layer.X))
        full = full.index_copy(-1, group.row.rows, moved)
        return full.index_copy(-1, self._place(group), own[..., None])

    def _place(self, group: Group) -> torch.Tensor:
        return torch.tensor([group.row.i], device=self._bases.device)


Certify = Callable[[HeadsLayer, Sequence[int], float, Progress], Certificate]


def heads_bytes_per_point(n: int, d: int, heads: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return (n * (20 * heads + 3 * heads * heads) + (12 + 2 * heads) * d) * itemsize


class _Across(NamedTuple):
    """Sums over the products c_hk = y_hᵀG_hk δ_k of each row: Σ_h t_h c_hk and Σ_k c_hk p_k
    (B, H, m), and Σ_j p_k t_h y_h (B, k, h, m′), of which the gradient is made.
    """

    td: torch.Tensor
    pd: torch.Tensor
    drawn: torch.Tensor


def _across(
    y: torch.Tensor, z: torch.Tensor, t: torch.Tensor, p: torch.Tensor, gradient: bool
) -> _Across:
    """Head by head of y, so that the B·H·m products of one head stay in the processor's cache.
    Without ``gradient`` only ``td`` is computed.
    """
    B, H, m = t.shape
    t, p = t.transpose(0, 1).contiguous(), p.transpose(0, 1).contiguous()  # (H, B, m)
    z = z.permute(1, 2, 0, 3).contiguous()  # (h, k, B, m′)
    c, td, pd = torch.empty_like(p), torch.zeros_like(p), torch.empty_like(p)
    drawn = p.new_empty(H, H, B, y.shape[2])
    for h in range(H):
        torch.mm(z[h].view(H * B, -1), y[h].T, out=c.view(H * B, m))
        td.addcmul_(t[h], c)
        if gradient:
            torch.sum(c.mul_(p), 0, out=pd[h])
            torch.mul(t[h], p, out=c)
            torch.mm(c.view(H * B, m), y[h], out=drawn[h].view(H * B, -1))
    return _Across(td.transpose(0, 1), pd.transpose(0, 1), drawn.permute(2, 1, 0, 3))


class HeadsView(LayerView[HeadsLayer]):
    """The view of attention with projections. Points of a batch are evaluated row by row of i."""

    group: type[Group] = Group

    def __init__(
        self, layer: HeadsLayer, certify: Certify | None, text: torch.Tensor | None = None
    ) -> None:
        super().__init__(layer, attracting_heads, text)
        self._certify = certify
        (n, d), heads = layer.X.shape, layer.setting.weights.heads
        self.bytes_per_point = heads_bytes_per_point(n, d, heads, layer.X.itemsize)

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        groups = by_row(which)
        found = [self._evaluate(i, x[points], gradient=False)[0] for i, points in groups]
        return gathered(groups, found)

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        groups = by_row(which)
        found = [self._evaluate(i, x[points], gradient=True) for i, points in groups]
        value, gradient = (gathered(groups, part) for part in zip(*found, strict=True))
        return value, gradient

    def _evaluate(
        self, i: int, delta: torch.Tensor, gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        layer, row = self.layer, self.layer.row(i)
        moved = row.moved(delta)
        t, p = moved.shares.t, moved.shares.p
        z = layer.gram_with(moved.delta_v)  # G_hk δ_k (B, H, H, m′)
        ty = (row.gram @ t.permute(2, 1, 0).contiguous()).permute(2, 1, 0)  # Σ_h t_h y_hᵀG_hk y_k
        pd = torch.bmm((moved.delta_v[:, :, None] * z).sum(-1).mT, p)  # Σ_h p_h δ_hᵀG_hk δ_k
        across = _across(row.y, z, t, p, gradient)
        td = across.td
        own_heads = layer.gram_all(moved.own_heads)  # half the gradient of row i's square
        value = (t * ty + p * (2 * td + pd)).sum((1, 2)) + (own_heads * moved.own_heads).sum((1, 2))
        value = value / layer.norm**2
        if not gradient:
            return value, value

        slope = 2 * (ty + across.pd) * moved.shares.dt + 2 * (td + pd) * moved.shares.dp
        # In δ_k: 2 Σ_h G_kh (Σ_j p_k t_h y_h) + 2 Σ_h (Σ_j p_h p_k) G_kh δ_h.
        along = layer.gram_rows(across.drawn)
        along = along + torch.einsum("bkh,bkhx->bkx", torch.bmm(p, p.mT), z)
        g = row.pulled(moved, slope, 2 * along, 2 * own_heads)
        return value, g / layer.norm**2

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        if self._certify is None:
            return None
        return self._certify(self.layer, rows, radius, progress)

    def moving(self, bases: torch.Tensor) -> Moving:
        heads = self.layer.setting.weights.out_back(bases).transpose(1, 2)  # (M, H, n, m′)
        return lambda rows, delta: HeadsRows(self, bases, heads, rows, delta)


def attracting_heads(
    layer: HeadsLayer,
    rows: Sequence[int],
    count: int,
    radius: float,
    noise: Sequence[torch.Generator],
) -> torch.Tensor:
    """`_attracting` of each row, (P, count, d)."""
    each = zip(rows, noise, strict=True)
    return torch.stack([_attracting(layer, row, count, radius, own) for row, own in each])


def _attracting(
    layer: HeadsLayer, row: int, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Δ that raise the scores of key i in all rows and heads, in random crowds of them, and in
    single heads, each with some of the direction that lengthens what is attracted. (count, d)
    """
    seen, setting = layer.row(row), layer.setting
    H, m = seen.f.shape[:2]
    how: dict[str, Any] = {"generator": noise, "device": layer.X.device, "dtype": layer.X.dtype}
    crowd = torch.rand(count, H, m, **how).clamp_min(1e-12).log().neg()
    crowd[1::2] = (crowd[1::2] > 2 * torch.rand(len(crowd[1::2]), 1, 1, **how)).to(crowd)
    if H > 1:
        chosen = torch.rand(len(crowd[2::3]), H, 1, **how)
        crowd[2::3] *= (chosen >= chosen.amax(1, keepdim=True) * torch.rand(1, **how)).to(crowd)
    outward = 0.8 * torch.rand(count, 1, **how)
    crowd[:1], outward[:1] = 1, 0
    up = torch.bmm(crowd.transpose(0, 1), seen.f).transpose(0, 1)
    up = setting.lift.key_pull(layer.k[row].expand(count, -1, -1), up)
    up = up if setting.rotation is None else setting.rotation.turn_as(row, up, back=True)
    keys = setting.weights.keys_back(up)
    far = setting.weights.out(layer.v[row], bias=False) - layer.phi.mean(0)
    longer = setting.weights.values_back(setting.weights.out_back(far))
    return radius * unit(unit(keys) + outward * unit(longer[None]))
