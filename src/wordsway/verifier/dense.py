"""Verify claims about φ(X) = ϕ(V_L … ϕ(V_1·vec X)) with given weights, ϕ the ReLU."""

from __future__ import annotations

from typing import Any

from wordsway.proof_format import Document
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, arb_mat, require, root


class Network:
    """φ(X) in balls: preactivations, and the square of the last layer's norm."""

    def __init__(self, document: Document) -> None:
        arrays, depth = document.arrays, document.fields["map"]["depth"]
        self.n, self.d = arrays["X"].shape
        self.V = [arrays[f"V{number}"] for number in range(1, depth + 1)]
        h, self.z = balls.matrix(arrays["X"].reshape(-1, 1)), []
        for V in self.V:
            self.z.append((balls.matrix(V) * h).entries())
            h = arb_mat([[z.nonnegative_part()] for z in self.z[-1]])
        self.norm2 = balls.dot(h.entries(), h.entries())


def prove(document: Document, net: Network, claim: dict[str, Any], r: float) -> None:
    """Refuse the claim unless all of its inequalities hold."""
    i, rho = claim["row"], arb(r)
    for V, z in zip(net.V, net.z, strict=True):
        rows = balls.matrix(V[:, i * net.d : (i + 1) * net.d] if V is net.V[0] else V)
        gains = [arb(1)] * len(z)
        for j, square in enumerate(balls.squares(rows)):
            most = rho * root(square)
            if z[j] <= 0 and most > 0:
                gains[j] = (1 + z[j] / most).nonnegative_part()
        rho *= root(balls.norm_square(balls.scaled(gains, rows)))
    require(rho * rho <= arb(claim["upper"]) ** 2 * net.norm2, "‖δ_L‖ ≤ U‖φ(X)‖")
