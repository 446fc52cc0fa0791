"""Sigmoid attention: weights σ(s_jl − log n) without a normaliser.

Row j gives row l the weight p = σ(s_jl − log n), whatever it gives to the others, so that a moved
key changes φ_j by (p − p⁰)x_i + pΔ: y_j = x_i and t = p − p⁰ in `wordsway.maps.attention.scores`.

**Certificate.** The rows j ≠ i are those of `wordsway.maps.attention.certificate` with y_j = x_i:
there, nothing is used of y_j but its norm and its component along e = x_i/‖x_i‖, and Y⊥ = 0. Row i
is no mean of the text's rows here, so the hull says nothing; it moves by

    o = Σ_{l≠i} u_l x_l + v,   u_l = σ(ℓ_l + b_l) − σ(ℓ_l),   b_l = q_l·Δ,   q_l = Wx_l/√d,

with ℓ_l = s_il − log n and v = p(x_i + Δ) − p⁰x_i for the share p of its own key. As a function of
p, ‖v‖ is convex, so ‖v‖ ≤ B = max(p⁰‖x_i‖, (1 − p⁰)‖x_i‖ + r), its bounds at p = 0 and p = 1. For
every ε > 0, (a + b)² ≤ (1 + ε)a² + (1 + 1/ε)b² gives

    ‖o‖² ≤ (1 + ε)‖X_{−i}‖² Σ_l u_l² + (1 + 1/ε)B²,

and the sum is separable in the moves b = QΔ, as the other rows are in a = AΔ. So the keys l ≠ i
join the dual as n − 1 rows more, with value (1 + ε)‖X_{−i}‖²(p − p⁰)² and the vectors q_l below the
A_j: the price λ‖Δ⊥‖²‖(A; Q)⊥‖² is paid once for both. Each ε (``splits``) gives a valid bound.

Certified ÷ attained at d = 256, first row, three draws each, n = 2 … 256: 1.47 in the median (1.3
up to n = 16, 1.5 at 64, 2.2 at 256, where ‖X_{−i}‖ is no longer that of a few rows).
"""

from __future__ import annotations

import math
from typing import final

import torch

from wordsway.maps.attention.bounds import OwnRow, RowBounds
from wordsway.maps.attention.curves import Curve, Tail, logistic_curve, low_shares, neighbour
from wordsway.maps.attention.definition import RandomAttention, attention_kind
from wordsway.maps.attention.layer import Layer
from wordsway.maps.attention.problem import Problem
from wordsway.maps.attention.scores import Pairs, Scores, Shares
from wordsway.maps.attention.starts import attracting
from wordsway.maps.certificate import norm_above
from wordsway.maps.kind import Style, constant


@final
class SigmoidScores(Scores):
    """p = σ(ℓ + a) with ℓ = s_ji − log n."""

    normalised = False

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(s - math.log(s.shape[-1]))

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return h * shares * torch.sigmoid(math.log(s.shape[-1]) - s)

    def prepare(self, s: torch.Tensor) -> Pairs:
        return (s - math.log(s.shape[-1]),)

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        (logit,) = pairs
        moved = logit + a
        p = torch.sigmoid(moved)
        slope = p * torch.sigmoid(-moved)
        return Shares(p - torch.sigmoid(logit), p, slope, slope, None)


@final
class SigmoidBounds(RowBounds):
    """Rows without a normaliser; see the module's proof."""

    tilts = (0.0, 1.0)
    splits = (0.1, 0.3, 1.0)

    def curve(self, layer: Layer, others: torch.Tensor, i: int, radius: float) -> Curve:
        return logistic_curve(layer.pairs[0][i, others][:, None], layer.keys[others], radius)

    def below(self, curve: Curve, p0: torch.Tensor, y2: torch.Tensor, most: torch.Tensor) -> Tail:
        return low_shares(curve, p0, most)

    def own_row(self, layer: Layer, i: int, radius: float, split: float) -> OwnRow:
        length = float(layer.X[i].norm())
        p0 = float(layer.P[i, i])
        reach = max(p0 * length, (1 - p0) * length + radius)
        return OwnRow(hull=(1 + 1 / split) * reach**2, share=1 + 1 / split)

    def own_keys(
        self, layer: Layer, i: int, radius: float, e: torch.Tensor, split: float
    ) -> Problem:
        others = layer.heard(i)
        worth = (1 + split) * norm_above(layer.X[others]) ** 2
        Q = layer.queries[others]
        curve = logistic_curve((layer.s[i, others] - math.log(len(layer.X)))[:, None], Q, radius)
        p, p0 = curve.p, layer.P[i, others][:, None]
        largest = torch.maximum(curve.p[:, :1], p0)
        full, none = torch.full_like(p0, worth), torch.zeros_like(p0)
        qe = Q @ e
        across = Q - torch.outer(qe, e)
        return Problem(
            radius=radius,
            p=p,
            a=curve.a,
            y2=full,
            most=full,
            ae=qe[:, None],
            across=across,
            square=worth * (p - p0) ** 2,
            linear=torch.zeros_like(p),
            quartic=torch.zeros_like(p),
            width2=curve.step**2 / 8,
            price_width2=curve.step**2 / 8,
            slope=2 * worth * torch.maximum(torch.maximum(p, neighbour(p, -1)), p0),
            bend=curve.bend,
            kappa_bend=torch.zeros_like(p),
            low=Tail.where(curve.below, worth * largest**2, none),
            high=Tail.where(curve.beyond, full, none),
            norm_a=norm_above(across),
            norm_y=0.0,
            own_far=(0.0, 0.0, 0.0),
            own_hull=0.0,
            own_cap=math.inf,
        )

    def at_most(self, layer: Layer, i: int, radius: float) -> float:
        lengths = layer.X.norm(dim=1)
        each = float(lengths[i]) + radius
        own = float(lengths.sum()) + radius
        return math.hypot(math.sqrt(len(layer.X) - 1) * each, own)


@final
class SigmoidRAF(RandomAttention):
    """Sigmoid attention φ(X)_j = Σ_l σ(s_jl − log n) x_l, s = XWXᵀ/√d, W_ab ~ N(0, 1/d).

    >>> from wordsway import Sample
    >>> SigmoidRAF(d=4, seed=0)(Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([3, 4])
    """

    name = "sigmoid"
    scores = SigmoidScores()
    bounds = SigmoidBounds()
    suggest = staticmethod(attracting)
    smooth = True


SIGMOID_KIND = attention_kind(
    SigmoidRAF,
    title="sigmoid attention",
    about="Attention without a normaliser, φ(X)_j = Σ_l σ(s_jl − log n)x_l, s = XWXᵀ/√d.",
    style=Style("#56B4E9", "v"),
    reference=constant,
)
