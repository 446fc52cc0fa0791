"""Attention without a normaliser or a limit: weights s/n, or (s)₊/n.

Row j gives row l the weight p = ω(s_jl)/n with ω(s) = s or (s)₊, whatever it gives to the others:
y_j = x_i and t = p − p⁰ in `attention.scores.base`. The certificate is Theorem 9 of
docs/statements/attention.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.problem import across_error
from wordsway.maps.attention.certificates.rounding import PREPARED
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.rigorous import SAFE, Certificate, U, opnorm_upper_bound, relative

#: Cells of the grid over β.
CELLS = 64


@final
class PerLength(Scores):
    """p = ω(s)/n, ω(s) = s, or (s)₊ with ``relu``; hidden keys (s = −∞) have no weight."""

    normalised = False
    limit = None

    def __init__(self, *, relu: bool) -> None:
        self.relu = relu

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return self._weight(s) / s.shape[-1]

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return h * self._slope(s) / s.shape[-1]

    def prepare(self, s: torch.Tensor) -> Pairs:
        return s, torch.full_like(s, 1 / s.shape[-1])

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        s, share = pairs
        p = self._weight(s + a) * share
        slope = self._slope(s + a) * share
        # p − p⁰ without cancellation where both weights are those of a line.
        straight = self._slope(s) * self._slope(s + a) > 0
        gain = torch.where(straight, a * share, p - self._weight(s) * share)
        return Shares(gain, p, slope, slope)

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """|ω(ŝ) − ω(s)| ≤ |ŝ − s|."""
        visible = (s > -math.inf).sum(1) / len(s)
        found = visible * error + 4 * U * shares.abs().sum(1)
        return found, found[:, None]

    def _weight(self, s: torch.Tensor) -> torch.Tensor:
        return torch.relu(s) if self.relu else torch.where(s == -math.inf, 0.0, s)

    def _slope(self, s: torch.Tensor) -> torch.Tensor:
        return (s > (0.0 if self.relu else -math.inf)).to(s.dtype)


def certify_per_length(
    layer: Layer, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate:
    """An exact certificate for each row, for scores of slope ≤ 1 divided by n, in float64."""
    linear = isinstance(layer.scores, PerLength) and not layer.scores.relu
    n = len(layer.X)
    errors, u, d = layer.errors, U, layer.X.shape[1]
    H = opnorm_upper_bound(layer.H, 2 * PREPARED * u * float(layer.W.norm()))
    upper = []
    for i in rows:
        x, length = layer.X[i], float(layer.X[i].norm()) * (1 + 2 * (d + 8) * u)
        length = length + layer.text_error
        unit = x / max(length, 1e-300)
        attending = layer.rows_attending_to(i)
        A = layer.keys[attending]
        along = A @ unit
        off = across_error(A) + float(errors.keys[attending].norm())
        across = opnorm_upper_bound(A - torch.outer(along, unit), off)
        edges = torch.linspace(-radius, radius, CELLS + 1, dtype=torch.float64, device=x.device)
        lo, hi = edges[:-1], edges[1:]
        near = torch.where(lo * hi < 0, 0.0, torch.minimum(lo.abs(), hi.abs()))
        far = torch.maximum(lo.abs(), hi.abs())
        rest = (radius**2 - near**2).clamp_min(0).sqrt()
        moved = far * (float(along.norm()) + off) + rest * across
        word = (length**2 + 2 * hi * length + radius**2).clamp_min(0)
        word = (word + 16 * u * (length**2 + radius**2)).sqrt()
        before = float((layer.P[attending, i].abs() + errors.shares[attending, 0]).norm())
        others = float((moved * word).max()) / n + before * radius

        visible = layer.keys_visible_to(i)
        X, Q = layer.X[visible], layer.queries[visible]
        query_error = float(errors.keys[visible].norm())
        text = math.sqrt(len(X)) * layer.text_error
        if linear:
            # A product of inner length n, of factors that have errors of their own.
            made = 2 * (len(X) + 8) * u * float(X.norm()) * float(Q.norm())
            made += text * (float(Q.norm()) + query_error) + query_error * float(X.norm())
            turned = opnorm_upper_bound(X.T @ Q, made)
        else:
            turned = opnorm_upper_bound(X, text) * opnorm_upper_bound(Q, query_error)
        both = float((layer.keys[i] + layer.queries[i]).norm()) + 3 * float(errors.keys[i])
        score = radius * both + radius**2 * H
        own = turned * radius / n + score * (length + radius) / n
        own += (float(layer.P[i, i].abs()) + float(errors.shares[i, 0])) * radius
        upper.append(relative(math.hypot(others, own) * SAFE, layer.norm_below))
        progress("certifying", len(upper), len(rows))
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


RELU_PER_LENGTH = ScoreFunction(
    PerLength(relu=True), shifts=False, smooth=False, falling=True, bounds=certify_per_length
)
LINEAR_PER_LENGTH = ScoreFunction(
    PerLength(relu=False), shifts=False, falling=True, bounds=certify_per_length
)
