"""Sigmoid attention: weights σ(s_jl − log n) without a normaliser.

Row j gives row l the weight p = σ(s_jl − log n), whatever it gives to the others, so that a moved
key changes φ_j by (p − p⁰)x_i + pΔ: y_j = x_i and t = p − p⁰ in `attention.scores.base`. Row i
moves by

    Σ_{l≠i} u_l x_l + v,   u_l = σ(ℓ_l + b_l) − σ(ℓ_l),   b_l = q_l·Δ,   q_l = Wx_l/√d,

with ℓ_l = s_il − log n and v = p(x_i + Δ) − p⁰x_i for the share p of its own key. Its keys join the
dual as n − 1 rows more, with a Young parameter ε or without (0): Theorem 7 of
docs/statements/attention.md.
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import torch

from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.problem import (
    GridRows,
    OwnRow,
    Prices,
    Problem,
    Tail,
    across_error,
    logistic_curve,
    neighbour,
)
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.rigorous import ELEMENTARY, SAFE, U, opnorm_upper_bound


@final
class SigmoidScores(Scores):
    """p = σ(ℓ + a) with ℓ = s_ji − log n."""

    normalised = False
    limit = "cube"

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
        return Shares(p - torch.sigmoid(logit), p, slope, slope)

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Each share is off by a factor of e^E at most; all are at most 1."""
        rounding = 4 * U * math.log(len(s)) + 4 * ELEMENTARY
        ratio = torch.expm1(error + rounding).nan_to_num(math.inf)
        found = torch.minimum(ratio * shares.sum(1), (s > -math.inf).sum(1).to(s))
        return found, found[:, None]


class _Cross(NamedTuple):
    """2u_l x_l·v at most: |u_l|(middle + 2β slope) + square u_l²/κ + κ(x_l·Δ⊥)², where |β| ≤ r; and
    how the moves b_l are weighted.
    """

    middle: torch.Tensor  # (keys, 1)
    slope: torch.Tensor
    most: torch.Tensor  # middle + 2β slope
    longest: torch.Tensor  # 2(x_l·Δ⊥), as often as Δ counts
    square: float
    beside: torch.Tensor | None  # x_l without its e-component (keys, d)
    weight: float

    @classmethod
    def none(cls, like: torch.Tensor) -> _Cross:
        zero = torch.zeros_like(like)
        return cls(zero, zero, zero, zero, 0.0, None, 1.0)

    @classmethod
    def of(
        cls,
        layer: Layer,
        i: int,
        others: torch.Tensor,
        r: float,
        e: torch.Tensor,
        times: float,
        worth: float,
    ) -> _Cross:
        X, x, p0 = layer.X[others], layer.X[i], float(layer.P[i, i])
        length, xe = max(float(x.norm()), 1e-300), X @ e
        # |p − p⁰ + (p + times − 1)β/‖x_i‖| is convex in β and p: at most a chord over β.
        step = r / length
        high = max(1 - p0 + times * step, abs((times - 1) * step - p0))
        low = max(abs(1 - p0 - times * step), (times - 1) * step + p0)
        rounding = 2 * (X.shape[1] + 8) * U * length * X.norm(dim=1)
        known = 2 * SAFE * ((X @ x).abs() + rounding)[:, None]
        return cls(
            middle=known * (high + low) / 2,
            slope=known * (high - low) / (4 * r),
            most=known * max(high, low),
            longest=2 * times * r * X.norm(dim=1, keepdim=True),
            square=times**2,
            beside=X - torch.outer(xe, e),
            # Keys that are worth more than a row that is won get a larger weight.
            weight=max(1.0, (worth / (1.5 * (length**2 + r * r))) ** 0.25),
        )


@final
class SigmoidBounds(RowBounds):
    """Rows without a normaliser; see the module's proof."""

    reweightings = (0.0, 1.0)
    young_parameters: tuple[float, ...] = (0.0, 0.1, 0.3, 1.0)

    def __init__(self, young_parameters: tuple[float, ...] | None = None) -> None:
        if young_parameters is not None:
            self.young_parameters = young_parameters

    def own_row(self, layer: Layer, i: int, radius: float, young: float) -> OwnRow:
        length = float(layer.X[i].norm())
        p0 = float(layer.P[i, i])
        if not young:
            return OwnRow(hull=(p0 * length) ** 2, far=(1 - p0) * layer.X[i])
        reach = max(p0 * length, (1 - p0) * length + radius)
        return OwnRow(hull=(1 + 1 / young) * reach**2, share=1 + 1 / young)

    def own_keys(
        self, layer: Layer, i: int, radius: float, e: torch.Tensor, young: float, times: float
    ) -> Problem:
        others = layer.keys_visible_to(i)
        X, Q = layer.X[others], layer.queries[others]
        worth = (1 + young) * opnorm_upper_bound(X) ** 2
        logit = layer.s[i, others] - math.log(len(layer.X))
        blur = layer.errors.blur(others, logit, Q, radius, own=i)[:, None]
        curve = logistic_curve(logit[:, None], Q, radius, blur)
        p, p0 = curve.p, layer.P[i, others][:, None]
        gain, largest = (p - p0).abs(), torch.maximum(curve.p[:, :1], p0)
        top = torch.maximum(torch.maximum(p, neighbour(p, -1)), p0)
        cross = _Cross.none(p0) if young else _Cross.of(layer, i, others, radius, e, times, worth)
        full, most = torch.full_like(p0, worth), worth + cross.most
        weight = cross.weight
        qe = Q @ e
        across, error = weight * (Q - torch.outer(qe, e)), weight * across_error(Q)
        rows = GridRows(
            p=p,
            a=weight * curve.a,
            square=worth * gain**2 + cross.middle * gain,
            linear=cross.slope * gain,
            quartic=cross.square * gain**2,
            width2=curve.step**2 / 8,
            price_width2=(weight * curve.step) ** 2 / 8,
            slope=2 * worth * top + cross.most,
            bend=curve.bend,
            kappa_bend=2 * cross.square * top * curve.bend,
            y2=full,
            trivial_bound=most + cross.longest,
            ae=weight * qe[:, None],
            blur=weight * blur,
            low=Tail.where(
                curve.below, worth * largest**2 + cross.most * largest, cross.square * largest**2
            ),
            high=Tail.where(curve.beyond, most, torch.full_like(p0, cross.square)),
        )
        norm_y = 0.0
        if cross.beside is not None:
            norm_y = opnorm_upper_bound(cross.beside, across_error(X))
        norm_a = opnorm_upper_bound(across, error)
        prices = Prices(across, error, norm_a, norm_y, beside=cross.beside)
        return Problem(radius, rows, prices, OwnRow())

    def at_most(self, layer: Layer, i: int, radius: float) -> float:
        lengths = layer.X.norm(dim=1)
        each = float(lengths[i]) + radius
        own = float(lengths.sum()) + radius
        return math.hypot(math.sqrt(len(layer.X) - 1) * each, own)


SIGMOID = ScoreFunction(SigmoidScores(), bounds=SigmoidBounds())
