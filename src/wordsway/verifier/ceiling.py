"""Verify ceilings of rows that come out of a norm: Theorem 18 of docs/statements/models.md."""

from __future__ import annotations

from typing import Any

from wordsway.proof_format import Document
from wordsway.verifier.balls import arb, require, square


class CeilingRows:
    """Rows h_j of h = γ⊙s + b, ‖s‖² ≤ d (and Σ_k s_k = 0 if ``centred``), with ω_j²D_j, which
    ω_j²‖h′ − h_j‖² exceeds for no such h′.
    """

    def __init__(self, document: Document) -> None:
        X, centred = document.arrays["X"], document.fields["map"]["centred"]
        (self.n, d), self.squares = X.shape, []
        names = ("gain", "shift", "weights")
        gain, shift, weights = ([arb(x) for x in document.arrays[name]] for name in names)
        multipliers = document.arrays["rows/multipliers"].tolist()
        for row, weight, (lam, mu) in zip(X.tolist(), weights, multipliers, strict=True):
            require(all(square(g) < lam for g in gain), "λ > γ²")
            require(centred is True or mu == 0, "μ = 0 without a centre")
            found = arb(lam) * d
            for h, g, b in zip(row, gain, shift, strict=True):
                m = arb(h) - b
                found += square(m) + square(g * m - arb(mu)) / (arb(lam) - square(g))
            self.squares.append(square(weight) * found)


def prove(document: Document, rows: CeilingRows, claim: dict[str, Any], r: float) -> None:
    """Refuse the claim unless Σ_j ω_j²D_j ≤ U², for any r; in a causal model from its row on."""
    first = claim["row"] if document.fields["map"]["causal"] is True else 0
    total = sum(rows.squares[first:], arb(0))
    require(total <= arb(claim["upper"]) ** 2, "the rows move by at most U")
