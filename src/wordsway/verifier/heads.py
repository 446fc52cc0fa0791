"""Verify claims about attention with heads or rotations: docs/statements/heads.md."""

from __future__ import annotations

from functools import reduce
from itertools import product as pairs
from typing import Any

import numpy as np

from wordsway.proof_format import Array, Document
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, eigenvalue_bound, exact, norm_square, product, root
from wordsway.verifier.layer import BallLayer, Moves
from wordsway.verifier.rows import Parts, ProofCell, Row, multipliers, prove_cells


class Heads(BallLayer):
    """``values`` = Σ_h C_hC_hᵀ, ``B`` of Lemma 4, τ ≤ ``most``·‖Δ‖², ``gain2`` = κ² of Lemma 3."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        plain = self.front is None and self.norm is None and not self.residual
        known = plain and self.scores in ("softmax", "sink") and self.read == "all"
        balls.require(known, "heads are of softmax, without wrappers")
        arrays, H, d, self.B = document.arrays, len(self.heads), self.d, None
        C = [exact(np.eye(d)) if head.C is None else head.C for head in self.heads]
        self.values = sum(product(M, M.T) for M in C)
        self.most = eigenvalue_bound(self.values)
        if "heads/theta" in arrays:
            (theta,), flat = map(arb, arrays["heads/theta"]), np.concatenate(C)
            B = product(flat, flat.T).reshape(H, d, H, d)
            B = B * (1 - theta) + B.transpose(2, 1, 0, 3) * theta
            self.B = B.reshape(H * d, H * d)
            self.most = self.most.min(eigenvalue_bound(self.B))
        self.gain2 = H * self.most
        if "heads/gain" in arrays:
            self.gain2 = self.gain2.min(self.gain_square(arrays))

    def gain_square(self, arrays: dict[str, Array]) -> arb:
        """κ² of Lemma 3 with W_h = E_hE_hᵀ; + ε(1 + ‖V‖²) where its matrix needs εI to be ≽ 0."""
        V, O, E = (exact(arrays[name]) for name in ("V", "O", "heads/gain"))
        (kappa2,) = map(arb, arrays["heads/kappa"])
        W = np.kron(np.eye(len(self.heads)), np.ones((E.shape[1],) * 2)) * product(E, E.T)
        side = product(W, V.T) / 2
        matrix = [[product(O, O.T) - W, side], [side.T, exact(np.eye(self.d)) * -kappa2]]
        return kappa2 + eigenvalue_bound(np.block(matrix)) * (1 + norm_square(V))

    def own(self, i: int, r: arb) -> arb:
        """How far row i moves at most, without the move of its own value: Theorem 10."""
        seen, parts, total = np.flatnonzero(self.sees[i]), [], arb(0)
        for head in self.heads:
            zero = -head.phi[i][None][: int(self.scores == "sink")]
            q = root(norm_square(head.Q))
            k = arb(1) if head.K is None else root(norm_square(head.K))
            longest = root(balls.largest(balls.squares(head.keys[seen])))
            moved = r * (q * longest + k * root(head.queries[i] @ head.queries[i]) + r * q * k)
            apart = np.concatenate([head.values[seen] - head.phi[i], zero])
            parts.append(((2 * (moved / 2).tanh()).min(arb(1)), apart))
        for (theta, x), (other, y) in pairs(parts, repeat=2):
            total += theta * other * balls.largest(abs(product(x, y.T)).flat)
        return root(total)


def prove(layer: Heads, claim: dict[str, Any], arrays: dict[str, Array], radius: float) -> None:
    """As for one matrix, in cells of τ: Theorem 11, and Theorem 10 in cells with λ = 0."""
    i, r, H = claim["row"], arb(radius), len(layer.heads)
    moves, own = [Moves(head, i) for head in layer.heads], layer.own(i, r)
    cells, weights = multipliers(arrays, 0.0, balls.float_above(r * r * layer.most))
    parts = zip(*((one.A, one.start, one.before) for one in moves), strict=True)
    A, start, before = map(np.concatenate, parts)
    balls.require(len(weights) == len(A), "every row has a weight in every head")
    lengths, A, I = root(balls.squares(A)), weights[:, None] * A, np.eye(H, dtype=int)
    steps, prices, joined = product(A.T, A), arrays["prices"], arrays.get("joined", np.zeros(0))
    balls.require(bool((prices >= 0).all() and (joined >= 0).all()), "μ ≥ 0")
    lines = [(mu, eigenvalue_bound(steps + layer.values * mu)) for mu in exact(prices)]
    lines += [(mu, eigenvalue_bound(np.kron(I, steps) + layer.B * mu)) for mu in exact(joined)]
    Y, box, gain = np.stack([one.Y for one in moves], 1), arb(0), r * root(layer.gain2)
    eta2 = np.array([norm_square(each) for each in Y] * H, object)
    if any(cell.lam == 0 for cell in cells):
        ends = np.stack([start - r * lengths, start + r * lengths])
        spans = (1 / (1 + np.exp(-ends)) - before).reshape(2, H, -1)
        for j, each in enumerate(Y):
            corners = np.array(list(pairs(*spans[:, :, j].T)), object)
            box += (root(balls.largest(balls.squares(product(corners, each)))) + gain) ** 2

    def parts_of(cell: ProofCell) -> Parts:
        tau, lam = arb(cell.hi), arb(cell.lam)
        own2 = (own + gain.min(root(H * tau))) ** 2
        energy = reduce(arb.min, [r * r * most - mu * arb(cell.lo) for mu, most in lines])
        if energy < 0:  # no Δ has such a τ
            return [], r, lambda total: total
        if cell.lam == 0:
            return [], r, lambda total: box + own2
        first, second = eta2 + root(eta2 * tau), tau + root(eta2 * tau)
        numbers = first + second, first, second, 0, 0, 0, 0, 0, 0  # the first bounds F
        rows = Row.each(weights, start, before, None, arb(0), lengths, *numbers)
        return rows, r * r, lambda total: total + lam * energy + own2

    prove_cells(cells, parts_of, arb(claim["upper"]) ** 2 * layer.norm2)
