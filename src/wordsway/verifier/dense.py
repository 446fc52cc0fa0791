"""Verify claims about φ(X) = ϕ(V_L … ϕ(V_1·vec X)) with given weights, ϕ the ReLU.

Neuron j of layer l moves by at most c_j = ρ_{l−1}‖row j of V_l‖, and its value by at most g_j times
that: g_j = 1 where z_j may be positive, (1 − |z_j|/c_j)₊ elsewhere. So ρ_l = ρ_{l−1}‖diag(g)V_l‖
bounds the change of layer l, ρ_0 = r; only the columns of row i count in V_1.
"""

from __future__ import annotations

from typing import Any

from wordsway.verifier.balls import arb, arb_mat, eigenvalue_bound, entries, matrix, require, root
from wordsway.verifier.format import Document


class Network:
    """φ(X) in balls: preactivations, and the square of the last layer's norm."""

    def __init__(self, document: Document) -> None:
        arrays, depth = document.arrays, document.fields["map"]["depth"]
        self.n, self.d = arrays["X"].shape
        self.V = [arrays[f"V{number}"] for number in range(1, depth + 1)]
        h, self.z = matrix(arrays["X"].reshape(-1, 1)), []
        for V in self.V:
            self.z.append(entries(matrix(V) * h))
            h = arb_mat(len(V), 1, [z.nonnegative_part() for z in self.z[-1]])
        self.norm2 = sum((x * x for x in entries(h)), arb(0))


def prove(document: Document, net: Network, claim: dict[str, Any], r: float) -> None:
    """Refuse the claim unless all of its inequalities hold."""
    i, rho = claim["row"], arb(r)
    norms = document.arrays[f"{i}/norms"].tolist()
    for V, z, sigma in zip(net.V, net.z, norms, strict=True):
        V = V[:, i * net.d : (i + 1) * net.d] if V is net.V[0] else V
        rows = [list(map(arb, row)) for row in V.tolist()]
        for row, at in zip(rows, z, strict=True):
            most = rho * root(sum((x * x for x in row), arb(0)))
            if at <= 0 and most > 0:
                row[:] = [x * (1 + at / most).nonnegative_part() for x in row]
        M = arb_mat(rows)
        few = M * M.transpose() if len(rows) <= V.shape[1] else M.transpose() * M
        rho *= root(eigenvalue_bound(few, sigma, "the norm of a layer"))
    require(rho**2 <= arb(claim["upper"]) ** 2 * net.norm2, "‖δ_L‖ ≤ U‖φ(X)‖")
