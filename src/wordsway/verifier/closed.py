"""Verify bounds in closed form: random features with given weights, and ceilings of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordsway.proof_format import Array, Document
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, exact, product, require, root, square, squares


class Network:
    """φ(X) = ϕ(V_L … ϕ(V_1·vec X)), ϕ the ReLU: preactivations, and the square of its norm."""

    def __init__(self, document: Document) -> None:
        arrays, depth = document.arrays, document.fields["map"]["depth"]
        self.n, self.d = arrays["X"].shape
        self.V = [exact(arrays[f"V{number}"]) for number in range(1, depth + 1)]
        h, self.z = exact(arrays["X"].reshape(-1, 1)), []
        for V in self.V:
            self.z.append(product(V, h)[:, 0])
            h = balls.part_above_0(self.z[-1])[:, None]
        self.norm2 = squares(h.T)[0]


def prove_network(net: Network, claim: dict[str, Any], arrays: dict[str, Array], r: float) -> None:
    """Refuse the claim unless all of its inequalities hold."""
    i, rho = claim["row"], arb(r)
    for V, z in zip(net.V, net.z, strict=True):
        rows = V[:, i * net.d : (i + 1) * net.d] if V is net.V[0] else V
        still = np.frompyfunc(lambda z, most: 1 + z / most if z <= 0 and most > 0 else arb(1), 2, 1)
        gains = balls.part_above_0(still(z, rho * root(squares(rows))))
        rho *= root(balls.norm_square(gains[:, None] * rows))
    require(rho * rho <= arb(claim["upper"]) ** 2 * net.norm2, "‖δ_L‖ ≤ U‖φ(X)‖")


class CeilingRows:
    """Rows h_j of h = γ⊙s + b, ‖s‖² ≤ d (and Σ_k s_k = 0 if ``centred``), with ω_j²D_j, which
    ω_j²‖h′ − h_j‖² exceeds for no such h′.
    """

    def __init__(self, document: Document) -> None:
        about, arrays = document.fields["map"], document.arrays
        X, gain, shift, weights = (arrays[name] for name in ("X", "gain", "shift", "weights"))
        (self.n, d), self.causal = X.shape, about["causal"] is True
        require(gain.shape == shift.shape == (d,) and weights.shape == (self.n,), "shapes agree")
        lam, mu = exact(arrays["rows/multipliers"].reshape(self.n, 2).T)[:, :, None]
        m, gain = exact(X) - shift, exact(gain)
        require(bool((gain * gain < lam).all()), "λ > γ²")
        require(about["centred"] is True or all(x == 0 for x in mu.flat), "μ = 0 without a centre")
        each = square(m) + square(gain * m - mu) / (lam - gain * gain)
        self.squares = square(exact(weights)) * (lam[:, 0] * d + each.sum(1))


def prove_rows(text: CeilingRows, claim: dict[str, Any], _: dict[str, Array], r: float) -> None:
    """Refuse unless Σ_j ω_j²D_j ≤ U² (Theorem 18), for any r; in a causal model from its row on."""
    total = text.squares[claim["row"] if text.causal else 0 :].sum()
    require(total <= arb(claim["upper"]) ** 2, "the rows move by at most U")
