"""Attention seen from one word: exact change and gradient at incremental cost.

Moving word i by Δ moves one score of every other row j, by a_j = x_jᵀWΔ/√d, so with (t_j, p_j) of
`wordsway.maps.attention.scores`

    φ_j(X^i(Δ)) − φ_j(X) = t_j (x_i − φ_j) + p_j Δ          (j ≠ i),

and only row i is recomputed. For a batch of B pairs (i, Δ) that is a handful of B×d by d×n products
plus one with a d×d matrix, against O(n²d + nd²) for each full forward pass. Inner products replace
the n×d changes themselves:

    ‖t y + pΔ‖² = t²‖y‖² + 2tp y·Δ + p²‖Δ‖²,   y = x_i − φ_j.

Where row j already gives nearly everything to word i, y is tiny and t huge. There (the "sharp"
pairs, at most one per row) the same change is written with the mean m_j of the *other* words: t y =
(p − p⁰)(x_i − m_j).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.attention.certificate import certify
from wordsway.maps.attention.readout import AttentionReadout
from wordsway.maps.attention.scores import ReluScores, Scores
from wordsway.maps.attention.starts import attracting, silencing
from wordsway.maps.base import Readout, View, nonzero_norm
from wordsway.maps.certificate import Certificate
from wordsway.optimize.plan import Plan
from wordsway.progress import Progress, silent

#: Above this share of one key, a row is written with the mean of its other keys.
SHARP = 0.9
#: Below this many multiplications in one product of a search, a second thread does not pay.
SMALL = 4_000_000


def is_small(n: int, d: int) -> bool:
    """Whether a product of a search is too small for more than one thread."""
    return Plan().starts * (3 * n + d) * d < SMALL


def plan_for(n: int, d: int) -> Plan:
    """How to search; where looks are cheap, twice as many are taken."""
    return Plan(starts=64, explore=10, keep=12, children=24) if is_small(n, d) else Plan()


@final
class AttentionView(View):
    """The view of softmax and ReLU attention. Shapes: B pairs (i, Δ), n tokens, d dimensions."""

    def __init__(self, scores: Scores, X: torch.Tensor, W: torch.Tensor, name: str) -> None:
        root = math.sqrt(X.shape[1])
        self.kind, self.X, self.W = scores, X, W / root
        n, d = X.shape
        # All that Δ is multiplied with, in one matrix: Δ·stackᵀ on the way there,
        # coefficients·stack on the way back. Its last block is H = (W+Wᵀ)/2√d: row i's own score
        # has the term ΔᵀWΔ/√d = ΔᵀHΔ, whose gradient is 2HΔ.
        self._stack = torch.empty(3 * n + d, d, dtype=X.dtype, device=X.device)
        self._sizes = (n, n, n, d)
        self.keys, self.phi, self.queries, _ = self._stack.split(self._sizes)
        torch.matmul(X, self.W, out=self.keys)  # row j: Wᵀx_j/√d, so that a_j = keys_j·Δ
        torch.matmul(X, self.W.T, out=self.queries)  # row l: W x_l/√d, for row i's own scores
        self.s = self.keys @ X.T
        self.P = scores.attention(self.s)
        torch.matmul(self.P, X, out=self.phi)
        self._stack[3 * n :] = (self.W + self.W.T) / 2
        self.norm = nonzero_norm(float(self.phi.norm()), name)
        # Row i of these is about word i: pairs (i, j) for every row j.
        self._pairs = tuple(part.T.contiguous() for part in scores.prepare(self.s))
        self.small = is_small(n, d)
        self.plan = plan_for(n, d)
        self._phi2 = (self.phi * self.phi).sum(1)
        self._y2 = ((X * X).sum(1, keepdim=True) - 2 * X @ self.phi.T + self._phi2).clamp_min(0)
        share, top = self.P.max(1)
        self._sharp = (
            ((share > SHARP) & (top != torch.arange(len(X), device=X.device))).nonzero().squeeze(1)
        )
        if len(self._sharp):
            self._sharp_word = top[self._sharp]
            masked = self.s[self._sharp].scatter(1, self._sharp_word[:, None], float("-inf"))
            self._others = scores.attention(masked) @ X  # m_j of the sharp rows
            self._rest = scores.rest(self._pairs)[self._sharp_word, self._sharp]
            self._y2[self._sharp_word, self._sharp] = (
                (X[self._sharp_word] - self._others) ** 2
            ).sum(1)

    def change(self, words: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        return self._evaluate(words, delta, gradient=False)[0]

    def change_and_gradient(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        value, gradient = self._evaluate(words, delta, gradient=True)
        assert gradient is not None
        return value, gradient

    def _evaluate(
        self, words: torch.Tensor, delta: torch.Tensor, gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        X, own = self.X, (torch.arange(len(words), device=words.device), words)
        a, phi_d, query_d, turned = (delta @ self._stack.T).split(self._sizes, dim=1)  # turned: HΔ
        # The other rows.
        shares = self.kind.move(tuple(part[words] for part in self._pairs), a)
        t, p, dt = shares.t, shares.p, shares.dt
        y2 = self._y2[words]
        xd = (delta * X[words]).sum(1, keepdim=True)
        yd = xd - phi_d
        if len(self._sharp):
            pair = words[:, None] == self._sharp_word
            yd[:, self._sharp] = torch.where(pair, xd - delta @ self._others.T, yd[:, self._sharp])
            scale = torch.where(pair, self._rest, 1.0)  # t → p − p⁰
            t[:, self._sharp] *= scale
            dt[:, self._sharp] *= scale
        d2 = (delta * delta).sum(1, keepdim=True)
        rows = t * t * y2 + 2 * t * p * yd + p * p * d2
        if shares.lost is not None:
            rows = torch.where(shares.lost, self._phi2, rows)
        rows[own] = 0
        # Row i, whose query moved too.
        s = self.s[words] + query_d
        s[own] += (delta * (self.keys[words] + turned)).sum(1)
        r = self.kind.attention(s)
        out = r @ X + r[own][:, None] * delta - self.phi[words]
        value = (rows.sum(1) + (out * out).sum(1)) / self.norm**2
        if not gradient:
            return value, None

        slope = 2 * ((t * y2 + p * yd) * dt + (t * yd + p * d2) * shares.dp)
        tp, pp = 2 * t * p, 2 * p * p
        for part in (slope, tp, pp):
            if shares.lost is not None:
                part.masked_fill_(shares.lost, 0)
            part[own] = 0
        h = 2 * out @ X.T
        h[own] += 2 * (out * delta).sum(1)
        gs = self.kind.pull(s, r, h)
        gs_own = gs[own][:, None]
        g = torch.cat([slope, -tp, gs], 1) @ self._stack[: 3 * len(X)]
        g += tp.sum(1, keepdim=True) * X[words] + pp.sum(1, keepdim=True) * delta
        g += 2 * r[own][:, None] * out + gs_own * (self.keys[words] + 2 * turned)
        if len(self._sharp):
            g -= (tp[:, self._sharp] * pair) @ (self._others - self.phi[self._sharp])
        return value, g / self.norm**2

    def suggest(self, word: int, count: int, radius: float, noise: torch.Generator) -> torch.Tensor:
        if count < 1 or len(self.X) < 2:
            return self.X.new_zeros(0, self.X.shape[1])
        if isinstance(self.kind, ReluScores):
            quiet = silencing(self, word, count // 2, radius, noise)
            return torch.cat([quiet, attracting(self, word, count - len(quiet), radius, noise)])
        return attracting(self, word, count, radius, noise)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate:
        return certify(self, rows, radius, progress)

    def readout(self, thetas: torch.Tensor) -> Readout:
        return AttentionReadout(self, thetas)

    @property
    def bytes_per_row(self) -> int:
        n, d = self.X.shape
        return (16 * n + 8 * d) * self.X.itemsize
