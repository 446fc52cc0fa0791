"""Softmax attention (the paper's RAF), with or without a sink.

The sink is one more key, of score 0 and value 0: shares e^s/(1 + Σe^s).
"""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.attention.certificates.bounds import RowBounds, farthest_row
from wordsway.maps.attention.certificates.problem import OwnRow
from wordsway.maps.attention.ingredients import Distance, Unit
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.rigorous import ELEMENTARY, U


@final
class SoftmaxScores(Scores):
    """p = σ(ℓ + a) with

        ℓ = logit p⁰ = s_ji − log Σ_{l≠i} exp s_jl,

    where the sum has the further term 1 with a ``sink``.
    """

    logistic = True

    def __init__(self, *, sink: bool = False) -> None:
        self.sink = sink
        self.plain_softmax = not sink

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return torch.softmax(_with_sink(s), -1)[..., :-1] if self.sink else torch.softmax(s, -1)

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return shares * (h - (shares * h).sum(-1, keepdim=True))

    def prepare(self, s: torch.Tensor) -> Pairs:
        if not self.sink:
            return log_shares(s)
        logit, log_q = log_shares(_with_sink(s))
        return logit[..., :-1], log_q[..., :-1]

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        logit, log_q = pairs
        moved = logit + a
        p = torch.sigmoid(moved)
        # (1 − p)/(1 − p⁰) = exp(log σ(−ℓ−a) − log(1 − p⁰)), and t is one minus that.
        t = -torch.expm1(torch.nn.functional.logsigmoid(-moved) - log_q)
        return Shares(t, p, (1 - t) * p, p * (1 - p))

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Each share is off by a factor of e^{2E} at most, and by its sum's rounding."""
        ratio = torch.expm1(2 * error) + 2 * len(s) * U + 4 * ELEMENTARY
        ratio = ratio.nan_to_num(2.0).clamp_max(2.0)
        return ratio, ratio[:, None]

    def gain(self, pairs: Pairs, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logit, log_q = pairs
        p, rest = torch.sigmoid(logit + a), torch.sigmoid(-logit - a)
        return log_q.exp() - rest, p * rest


@final
class SoftmaxBounds(RowBounds):
    """Every row is a mean of the text's rows, and of zero with a ``sink``."""

    reweightings = (0.0, 0.5, 1.0, 1.5)

    def __init__(self, *, sink: bool = False) -> None:
        self.sink = sink

    def own_row(self, layer: Layer, i: int, radius: float, young: float) -> OwnRow:
        return OwnRow(farthest_row(layer, i, or_zero=self.sink), layer.X[i] - layer.phi[i])


def log_shares(s: torch.Tensor) -> Pairs:
    """logit p⁰ and log(1 − p⁰) of every share of softmax(s)."""
    log_p = torch.log_softmax(s, -1)
    # log(1 − p⁰) from 1 − p⁰ loses everything where p⁰ ≈ 1; at the row's largest score, sum the
    # others instead. If there are no others, a large number stands for infinity.
    log_q = torch.log1p(-log_p.exp().clamp_max(0.75))
    top = log_p.argmax(-1, keepdim=True)
    others = log_p.scatter(-1, top, float("-inf")).logsumexp(-1, keepdim=True)
    log_q = log_q.scatter(-1, top, others.clamp_min(-torch.finfo(s.dtype).max / 4))
    return log_p - log_q, log_q


def _with_sink(s: torch.Tensor) -> torch.Tensor:
    return torch.cat([s, torch.zeros_like(s[..., :1])], -1)


_SCORES, _BOUNDS = SoftmaxScores(), SoftmaxBounds()

SOFTMAX = ScoreFunction(_SCORES, bounds=_BOUNDS)
#: Scores are divided by d instead of √d.
SOFTMAX_OVER_D = ScoreFunction(_SCORES, power=1.0, bounds=_BOUNDS, falling=True)
SOFTMAX_LOG_N = ScoreFunction(_SCORES, log_n=True, bounds=_BOUNDS)
SINK = ScoreFunction(SoftmaxScores(sink=True), bounds=SoftmaxBounds(sink=True))
#: softmax(−‖q − k‖²/√m).
L2 = ScoreFunction(_SCORES, lift=Distance(), shape="tied", falling=True)
#: softmax(√m q̂·k̂).
QK_NORM = ScoreFunction(_SCORES, lift=Unit(), power=-0.5, falling=True)
#: softmax₁ − λ softmax₂, of two pairs of queries and keys.
DIFFERENTIAL = ScoreFunction(_SCORES, shape="twice")
