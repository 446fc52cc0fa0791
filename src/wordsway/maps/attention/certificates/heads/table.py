"""What rows and heads gain by their shares of a moved key, less the price of the moves.

For shares p(a) = σ(logit p⁰ + a), the certificate of heads needs Σ_jh max_a [f_jh(p(a), τ) −
λ(c a)²] with f = (p − p⁰)²(η² + η√τ) + p²(τ + η√τ). The maximum is taken over intervals of the
logit of p, with the largest f and the smallest |a| of each: nothing between grid points is left
out.
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import torch

from wordsway.maps.rigorous import SAFE, U

#: Intervals of a share's logit from −REACH to REACH, in a rough table and in a fine one.
INTERVALS, FINE, REACH = 96, 288, 9.0
#: Steps in log λ, the last one its accuracy, and about how many values of λ are tried.
PACES, LAMBDAS = (1.0, 0.3, 0.1), 9


class Row(NamedTuple):
    """What the certificate needs of row i: N rows j ≠ i that see it, H heads."""

    logit: torch.Tensor  # of p⁰ (N, H)
    p0: torch.Tensor  # (N, H)
    blur: torch.Tensor  # error of a moved logit (N, H)
    keys: torch.Tensor  # A_jh (N, H, d)
    gram: torch.Tensor  # Y_jh·Y_jk (N, H, H)


@final
class Table:
    """Σ_jh max_a […] for any τ and λ: values and smallest moves on intervals of shares."""

    def __init__(self, row: Row, weight: torch.Tensor, intervals: int = INTERVALS) -> None:
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
