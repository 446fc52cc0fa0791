"""The gain of rows and heads by their shares of a moved key, less the price of the moves.

For shares p(a) = σ(logit p⁰ + a), the certificate of heads needs

    Σ_jh max_a [f_jh(p(a), τ) − λ(c a)²],     f = (p − p⁰)²(η² + η√τ) + p²(τ + η√τ).

The maximum is taken over intervals of the logit of p, with the largest f and the smallest |a| of
each, so that it covers all p between grid points.

**Weights c_jh of the moves in their price.** Every choice is valid; a good one minimises, at one τ
that is near the worst,

    r²λ_max(Σ_jh w_jh A_jhA_jhᵀ + μCCᵀ) − μt + Σ_jh max_a [f_jh(p(a), τ) − w_jh a²]

over w = c² and μ. That is convex, and its derivative in w_jh is r²(A_jh·x)² − a², with the
eigenvector x of λ_max and the a that attains the maximum of row j and head h. The descent is in
log w and log μ, along the few largest eigenvectors at once, which a subspace iteration follows.
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import torch

from wordsway.maps.rigorous import SAFE, U

#: Intervals of a share's logit from −REACH to REACH, in a rough table and in a fine one.
INTERVALS, FINE, REACH = 96, 288, 9.0
#: Steps in log λ, the last one its accuracy.
PACES = (1.0, 0.3, 0.1)


class PricedRow(NamedTuple):
    """Row i as the certificate needs it: N rows j ≠ i that attend to it, H heads."""

    logit: torch.Tensor  # of p⁰ (N, H)
    p0: torch.Tensor  # (N, H)
    blur: torch.Tensor  # error of a moved logit (N, H)
    keys: torch.Tensor  # A_jh (N, H, d)
    gram: torch.Tensor  # Y_jh·Y_jk (N, H, H)


@final
class GainTable:
    """Σ_jh max_a […] for any τ and λ: values and smallest moves on intervals of shares."""

    def __init__(self, row: PricedRow, weight: torch.Tensor, intervals: int = INTERVALS) -> None:
        u = torch.linspace(-REACH, REACH, intervals + 1, dtype=torch.float64)
        ends = u.new_tensor([math.inf])
        below, above = torch.cat([-ends, u]), torch.cat([u, ends])
        logit, p0 = row.logit[..., None], row.p0[..., None]
        apart = torch.maximum(below - logit, logit - above) - row.blur[..., None]
        apart = apart.clamp_min(0)
        self.price = (weight[..., None] * apart) ** 2  # (N, H, intervals)
        self.share = torch.sigmoid(above) ** 2
        self.gained = torch.maximum(
            (torch.sigmoid(below) - p0).abs(), (torch.sigmoid(above) - p0).abs()
        ).square()
        # Gram matrices of H rows of length d: λ_max is at least a share 1/H of the trace, which
        # bounds the error of the products (γ_d) and of the eigenvalues (their backward error, of
        # some 16H roundings); `SAFE` is more than H(d + 16H) of them.
        self.eta = torch.linalg.eigvalsh(row.gram)[:, -1].clamp_min(0).sqrt()[:, None, None]
        self.eta = self.eta * SAFE

    def values(self, tau: float) -> torch.Tensor:
        """f on the intervals (N, H, intervals)."""
        root = math.sqrt(tau)
        return self.gained * (self.eta**2 + self.eta * root) + self.share * (tau + self.eta * root)

    def least(self, tau: float, energy: float, near: float | None = None) -> tuple[float, float]:
        """min over λ of λ·energy + Σ_jh max_a […], which is convex in λ, and that λ."""
        value = self.values(tau)
        lam = float(value.amax()) / 20 if near is None else near

        def total(lam: float) -> float:
            return float(torch.sub(value, self.price, alpha=lam).amax(-1).sum()) + lam * energy

        found = total(lam)
        for pace in PACES if near is None else PACES[1:]:
            for factor in (math.exp(pace), math.exp(-pace)):
                while (more := total(lam * factor)) < found * (1 - 1e-4):
                    found, lam = more, lam * factor
        # Values from which a price is taken are rounded before that: relative to themselves.
        roundings = 64 + value.shape[0] * value.shape[1]
        return found + 2 * roundings * U * float(value.amax(-1).sum()), lam


#: Steps of the descent, its first one in log w, and how many eigenvectors it follows.
STEPS, PACE, FOLLOWED = 50, 0.25, 24


def tuned(
    keys: torch.Tensor,
    gained: torch.Tensor,
    squares: torch.Tensor,
    values: torch.Tensor,
    r: float,
    t: float,
    start: torch.Tensor,
) -> torch.Tensor:
    """Weights c (N, H), given A (N, H, d), f on intervals of shares (N, H, I) with the smallest a²
    of each, and CCᵀ; ``start`` are weights up to a factor.
    """
    A = keys.flatten(0, 1)
    X = torch.randn(
        len(values),
        min(FOLLOWED, len(values)),
        dtype=A.dtype,
        generator=torch.Generator().manual_seed(0),
    )
    weighted = A * start.reshape(-1, 1)
    alone, carried = (float(torch.linalg.eigvalsh(M)[-1]) for M in (weighted.T @ weighted, values))
    scale = _scale(gained, squares, start**2, 0.7 * r * r * alone)
    log_w = (scale * start**2).log()
    log_mu = math.log(scale * alone / carried)
    momentum = torch.zeros(log_w.numel() + 1, dtype=A.dtype)
    square = torch.zeros_like(momentum)
    for step in range(STEPS):
        w, mu = log_w.exp(), math.exp(log_mu)

        def times(Z: torch.Tensor, w: torch.Tensor = w, mu: float = mu) -> torch.Tensor:
            return A.T @ (w.reshape(-1, 1) * (A @ Z)) + mu * (values @ Z)

        for _ in range(8 if step == 0 else 2):
            X = torch.linalg.qr(times(X)).Q
        inner = X.T @ times(X)
        found, turn = torch.linalg.eigh((inner + inner.T) / 2)
        X = X @ turn
        part = torch.softmax((found / found[-1] - 1) * 60 * (1 + step / 10), 0)
        best, place = (gained - w[..., None] * squares).max(-1)
        moves = squares.gather(-1, place[..., None]).squeeze(-1)
        total = r * r * float(found[-1]) - mu * t + float(best.sum())
        by_w = w * (r * r * ((A @ X) ** 2 @ part).view_as(w) - moves)
        by_mu = mu * (r * r * float((X * (values @ X)).sum(0) @ part) - t)
        gradient = 50 / total * torch.cat([by_w.flatten(), by_w.new_tensor([by_mu])])
        momentum = 0.7 * momentum + 0.3 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        change = PACE * (1 - step / STEPS) * momentum / (square.sqrt() + 1e-3)
        log_w, log_mu = log_w - change[:-1].view_as(log_w), log_mu - float(change[-1])
    return ((log_w - log_w.mean()) / 2).exp()


def _scale(gained: torch.Tensor, squares: torch.Tensor, w: torch.Tensor, energy: float) -> float:
    """About the best λ for weights λw."""
    tried = [float(gained.amax()) / 20 * math.exp(0.5 * k) for k in range(-8, 6)]
    return min(
        tried,
        key=lambda lam: (
            lam * energy + float((gained - lam * w[..., None] * squares).amax(-1).sum())
        ),
    )
