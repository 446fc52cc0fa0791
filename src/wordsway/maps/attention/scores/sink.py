"""Softmax with a sink: weights e^s/(1 + Σe^s). The sink is a key of score 0 whose value is 0."""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.attention.certificates.bounds import OwnRow, RowBounds, farthest_row, hull
from wordsway.maps.attention.certificates.curves import Curve, Tail, logistic_curve, low_shares
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.softmax import SoftmaxScores, log_shares


@final
class SinkScores(Scores):
    """p = σ(ℓ + a) with ℓ = s_ji − log(1 + Σ_{l≠i} exp s_jl): shares of one with the sink."""

    sink = True
    softmax = SoftmaxScores()

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return torch.softmax(_with_sink(s), -1)[..., :-1]

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return self.softmax.pull(s, shares, h)

    def prepare(self, s: torch.Tensor) -> Pairs:
        logit, log_q = log_shares(_with_sink(s))
        return logit[..., :-1], log_q[..., :-1]

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        return self.softmax.move(pairs, a)

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self.softmax.share_error(s, shares, error)

    def gain(self, pairs: Pairs, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.softmax.gain(pairs, a)


@final
class SinkBounds(RowBounds):
    """Every row is a mean of the text's rows and zero."""

    tilts = (0.0, 0.5, 1.0, 1.5)

    def curve(
        self, layer: Layer, others: torch.Tensor, i: int, radius: float, blur: torch.Tensor
    ) -> Curve:
        return logistic_curve(layer.pairs[0][i, others][:, None], layer.keys[others], radius, blur)

    def below(self, curve: Curve, p0: torch.Tensor, y2: torch.Tensor, most: torch.Tensor) -> Tail:
        return low_shares(curve, p0, most)

    def own_row(self, layer: Layer, i: int, radius: float, split: float) -> OwnRow:
        return OwnRow(farthest_row(layer, i, or_zero=True), layer.X[i] - layer.phi[i])

    def at_most(self, layer: Layer, i: int, radius: float) -> float:
        return hull(layer, i, radius)


def _with_sink(s: torch.Tensor) -> torch.Tensor:
    return torch.cat([s, torch.zeros_like(s[..., :1])], -1)
