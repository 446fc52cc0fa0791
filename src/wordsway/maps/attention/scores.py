"""From scores to attention, and what one moved key does to a row.

Let row j attend to word i with share p⁰ and to the others with the rest. When the score s_ji moves
by a, the share becomes p, and with t = (p − p⁰)/(1 − p⁰) the row's output moves from φ_j to φ_j +
t(x_i − φ_j) + pΔ (x_i itself having moved to x_i + Δ). A kind of attention is therefore two
functions of a, t and p, with their derivatives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, final

import torch


class Shares(NamedTuple):
    """t and p after a move a of one score, with their derivatives in a; ``lost`` marks rows whose
    output became zero.
    """

    t: torch.Tensor
    p: torch.Tensor
    dt: torch.Tensor
    dp: torch.Tensor
    lost: torch.Tensor | None


class Scores(ABC):
    """A kind of attention."""

    @abstractmethod
    def attention(self, s: torch.Tensor) -> torch.Tensor:
        """Scores (…, n) → nonnegative shares (…, n) that sum to one (or are all zero)."""

    @abstractmethod
    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        """Gradient with respect to the scores of Σ_l h_l·shares_l."""

    @abstractmethod
    def prepare(self, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """What `move` needs to know of every pair (row j, key i), computed once from the scores (n,
        n).
        """

    @abstractmethod
    def move(self, pairs: tuple[torch.Tensor, ...], a: torch.Tensor) -> Shares:
        """Shares after the scores of the given pairs move by a."""

    @abstractmethod
    def rest(self, pairs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        """1 − p⁰, the share of all the other keys, accurate where it is tiny."""


@final
class SoftmaxScores(Scores):
    """p = σ(ℓ + a) with ℓ = logit p⁰ = s_ji − log Σ_{l≠i} exp s_jl."""

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        return torch.softmax(s, -1)

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        return shares * (h - (shares * h).sum(-1, keepdim=True))

    def prepare(self, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        log_p = torch.log_softmax(s, -1)
        # log(1 − p⁰) from 1 − p⁰ loses everything where p⁰ ≈ 1; at the row's largest score, sum the
        # others instead.
        log_q = torch.log1p(-log_p.exp().clamp_max(0.75))
        top = log_p.argmax(-1, keepdim=True)
        others = log_p.scatter(-1, top, float("-inf")).logsumexp(-1, keepdim=True)
        log_q = log_q.scatter(-1, top, others)
        return log_p - log_q, log_q

    def move(self, pairs: tuple[torch.Tensor, ...], a: torch.Tensor) -> Shares:
        logit, log_q = pairs
        moved = logit + a
        p = torch.sigmoid(moved)
        # (1 − p)/(1 − p⁰) = exp(log σ(−ℓ−a) − log(1 − p⁰)), and t is one minus that.
        t = -torch.expm1(torch.nn.functional.logsigmoid(-moved) - log_q)
        return Shares(t, p, (1 - t) * p, p * (1 - p), None)

    def rest(self, pairs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        return pairs[1].exp()


@final
class ReluScores(Scores):
    """p = w/(R + w) with w = (s_ji + a)₊ and R = Σ_{l≠i} (s_jl)₊."""

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        w = torch.relu(s)
        return w / _nonzero(w.sum(-1, keepdim=True))

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        total = torch.relu(s).sum(-1, keepdim=True)
        return (s > 0) * (h - (shares * h).sum(-1, keepdim=True)) / _nonzero(total)

    def prepare(self, s: torch.Tensor) -> tuple[torch.Tensor, ...]:
        w = torch.relu(s)
        top = w.argmax(-1, keepdim=True)
        others = w.scatter(-1, top, 0.0).sum(
            -1, keepdim=True
        )  # no cancellation where one score dominates the row
        return s, (w.sum(-1, keepdim=True) - w).clamp_min(0).scatter(-1, top, others)

    def move(self, pairs: tuple[torch.Tensor, ...], a: torch.Tensor) -> Shares:
        s, R = pairs
        w, before = torch.relu(s + a), torch.relu(s)
        total = R + w
        lost = (total == 0) & (before > 0)
        total = _nonzero(total)
        up = (s + a > 0) / total**2
        return Shares((w - before) / total, w / total, (R + before) * up, R * up, lost)

    def rest(self, pairs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        s, R = pairs
        return R / _nonzero(R + torch.relu(s))


def _nonzero(total: torch.Tensor) -> torch.Tensor:
    """``total`` where it is positive, 1 where it is 0: a row of zeros then stays zero."""
    return torch.where(total > 0, total, 1.0)
