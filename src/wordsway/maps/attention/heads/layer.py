"""Attention with projections and heads at one text, and its rows after one row has moved.

Head h of row j gives Σ_l P^h_jl v_l with scores s_jl = c f_j·g_l + bias_jl of lifted queries and
keys (`attention.ingredients.lifts`). Moving row i by Δ moves one score of every other row and
head, by a = c f_j·(g(k_i + KᵀΔ) − g(k_i)), and v_i by δ = VᵀΔ, so that with the t and p of
`attention.scores.base`, head by head,

    φ^h_j(X^i(Δ)) − φ^h_j(X) = t y_j + p δ,     y_j = v_i − φ_j (normalised) or v_i.

The rows of the map are those of the heads times O. Only their norms are needed, hence only the
Gram matrices between heads: with G = OOᵀ in blocks G_hk,

    ‖row j‖² = Σ_hk t_h t_k y_hᵀG_hk y_k + 2 t_h p_k y_hᵀG_hk δ_k + p_h p_k δ_hᵀG_hk δ_k,

of which the first products are known before Δ is, and the second cost n·H·m for each head: (n·H +
d)·d operations for each Δ in all, against O(n²d + nd²) for a forward pass. Row i is recomputed.
Where row j already gives nearly everything to row i (the "sharp" pairs), y_j = v_i − m_j with the
mean m_j of its other keys, and t = p − p⁰.

`FromRow.moved` is the one place where this is derived; change, gradient and readout use it.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from typing import NamedTuple

import torch

from wordsway.maps.attention.certificates.rounding import HeadsErrors, heads_errors
from wordsway.maps.attention.ingredients.encodings import Rotation
from wordsway.maps.attention.ingredients.lifts import Lift
from wordsway.maps.attention.ingredients.projections import Projections
from wordsway.maps.attention.layer import AttentionLayer
from wordsway.maps.attention.scores.base import SHARP, Scores, Shares
from wordsway.maps.base import nonzero_norm

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
        self._rows: OrderedDict[int, FromRow] = OrderedDict()

    @cached_property
    def errors(self) -> HeadsErrors:
        return heads_errors(self, self.text_error)

    def row(self, i: int) -> FromRow:
        """The layer seen from row i; the latest ones are kept."""
        found = self._rows.pop(i, None) or self._from_row(i)
        self._rows[i] = found
        most = max(1, KEPT_BYTES // max(1, found.bytes))
        while len(self._rows) > most:
            self._rows.popitem(last=False)
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
