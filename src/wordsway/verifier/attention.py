"""Verify claims about attention with one matrix; docs/statements/verifier.md has the proofs."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from wordsway.proof_format import Array
from wordsway.verifier import balls
from wordsway.verifier.balls import Balls, across, arb, exact, norm_square, product, require, root
from wordsway.verifier.layer import BallLayer, Moves
from wordsway.verifier.rows import Parts, ProofCell, Row, multipliers, prove_cells


def normed(layer: BallLayer, moves: Moves, r: arb) -> tuple[Balls, arb, arb]:
    """most/β_j², ``most``, ``extra``: behind a norm row j counts at most most·min(1, ‖w_j‖²/β_j²),
    all of them ``extra``: 4D and 0, or 2D and 2D for each of few rows that may turn by over 90°.
    """
    count, rows, norm = len(moves.rows), moves.rows, layer.norm
    if norm is None:
        return exact(np.ones(count)), arb("inf"), arb(0)
    g = norm.squares[rows] - abs((norm.centred[rows] * moves.Y).sum(1))
    able = (g > 0).astype(bool)
    turned = r * r * norm_square(norm.centred[rows][able] / g[able][:, None])
    turning = count - int(able.sum()) + min(int(balls.float_above(turned)), int(able.sum()))
    few = turning <= count // 4
    most = arb(layer.d) * (2 if few else 4)
    return most / norm.sizes2[rows], most, most * turning * few


class MovedRowBound:
    """Row i moves by at most ‖f + kΔ‖, f = x_i − φ_i, or ``hull``. A residual stream adds Δ, k = 2;
    with a norm in front, a vector of length ``added`` instead.
    """

    def __init__(self, layer: BallLayer, i: int, r: arb, added: arb, silent: Array | None) -> None:
        self.layer, self.i, self.r, head = layer, i, r, layer.heads[0]
        self.times = 2 if layer.residual and layer.front is None else 1
        self.added = added if layer.residual and self.times == 1 else arb(0)
        once, self.cap = r if self.times == 2 else arb(0), arb("inf")
        self.others = [l for l in range(layer.n) if l != i and layer.sees[i, l]]
        self.x, self.X, self.p0 = layer.rows[i], layer.rows[self.others], head.P[i, i]
        if layer.scores == "sigmoid":
            require(layer.norm is None and self.times == 1 + layer.residual, "row i has a bound")
            apart = np.outer([1 - self.p0, self.p0], self.x)
        else:
            zero = exact(np.zeros((int(layer.scores in ("sink", "relu")), layer.d)))
            apart = np.concatenate([self.x[None], self.X, zero]) - layer.phi[i]
        self.f, (self.square, *others) = apart[0], balls.squares(apart)
        hull = root(balls.largest(others))
        if silent is not None:
            require(layer.scores == "relu", "row i can be silenced")
            self.cap = (self.silenced(silent, hull) + once) ** 2
        self.hull = (hull + once) ** 2

    def bound(self, cell: ProofCell, e: Balls, room: arb) -> arb:
        """An upper bound of the square for Δ = βe + Δ⊥, β in the cell and ‖Δ⊥‖² ≤ ``room``."""
        along, k, norm = self.f @ e, self.times, self.layer.norm
        inner = (arb(cell.lo) * along).max(arb(cell.hi) * along)
        inner += root(self.square - along * along) * root(room)
        found = (self.square + 2 * k * inner + (k * self.r) ** 2).max(self.hull).min(self.cap)
        found = (root(found) + self.added) ** 2
        return found if norm is None else 4 * norm.D * (found / norm.sizes2[self.i]).min(arb(1))

    def silenced(self, weights: Array, hull: arb) -> arb:
        """An upper bound of ‖row i‖ for ReLU scores: its own key has the share w/(w + R) of it."""
        r, W, x, phi = self.r, self.layer.heads[0].Q, balls.unit(self.x), self.layer.phi[self.i]
        require(bool(((weights >= 0) & (weights <= 1)).all()) and len(weights) > 0, "0 ≤ λ ≤ 1")
        length, size, mu = root(self.x @ self.x), root(phi @ phi), exact(weights)
        mu, turned = product(product(mu, self.X), W.T), (W @ x + x @ W) / 2
        own, wide2 = turned @ x, balls.squares(across(turned[None], x))[0]
        most = balls.eigenvalue_bound((W + W.T) / 2)
        middle, wide = (own + most) / 2, root(balls.square((own - most) / 2) + wide2)
        peak = arb.atan2(2 * root(wide2), own - most)  # twice the angle of the largest value
        found, count = hull, len(weights)
        for k, (part, rest2) in enumerate(zip(mu @ x, balls.squares(across(mu, x)), strict=True)):
            short, long = (length + r) * k / count, (length + r) * (k + 1) / count
            inner, R, turn = (short * short + length * length - r * r) / 2, arb(0), arb(0)
            if inner >= 0:
                cosine = (inner / (long * length)).min(arb(1))
                sine = root(1 - cosine * cosine)
                R = short * (cosine * part - sine * root(rest2)) if part >= 0 else R
                turn = (peak - 2 * arb.atan2(sine, cosine)).nonnegative_part()
            w = (long * long * (middle + wide * turn.cos())).nonnegative_part()
            p = w / (w + R) if R > 0 else arb(1)
            far = (long + size).min(root(self.square) + r)
            found = found.max(p * far + (1 - p) * hull)
        return found

    def keys(self, e: Balls, weights: Balls, queries: Balls) -> list[Row]:
        """What keys l ≠ i add for sigmoid scores, with their q_l: rows of the dual."""
        head, k, p0, known = self.layer.heads[0], self.times, self.p0, 2 * abs(self.X @ self.x)
        worth, step = norm_square(self.X), self.r / root(self.x @ self.x)
        high = (1 - p0 + k * step).max(abs((k - 1) * step - p0))
        low = abs(1 - p0 - k * step).max((k - 1) * step + p0)
        cap = worth + known * high.max(low) + 2 * k * self.r * root(balls.squares(self.X))
        gain, tilt = known * (high + low) / 2, known * (high - low) / (4 * self.r)
        parts = weights, head.s[self.i, self.others], head.P[self.i, self.others], None
        lengths = queries @ e, root(balls.squares(across(queries, e)))
        return Row.each(*parts, *lengths, cap, worth, 0, 0, gain, 0, tilt, 0, k * k)


def prove(layer: BallLayer, claim: dict[str, Any], arrays: dict[str, Array], radius: float) -> None:
    """Refuse the claim unless in every cell of β the sum over rows is at most U²‖φ(X)‖²."""
    i, read, reach = claim["row"], layer.read, radius
    one, sigmoid = type(read) is int and 0 <= read < layer.n, layer.scores == "sigmoid"
    require(one or read in ("all", "mean"), "the read-out is known")
    plain = layer.front is None and layer.norm is None and not sigmoid
    require(plain or read == "all", "the read-out is of normalised shares, without norms")
    if layer.front is not None:  # row i of N(X) moves in another ball
        reach = claim["reach"]
        require(reach > 0, "the reach is positive")
        sine2, D = arb(radius) ** 2 / layer.front.sizes2[i], layer.d  # of the largest angle
        moved2 = 2 * D * (1 - (1 - sine2).sqrt()) if sine2 < 1 else arb(4 * D)
        require(moved2 <= arb(reach) ** 2, "‖N(x_i + Δ) − N(x_i)‖ ≤ reach")
    cells, weights = multipliers(arrays, -reach, reach)
    r, only = arb(reach), read if one else None
    own = MovedRowBound(layer, i, r, arb(radius), arrays.get("silence"))
    moves = Moves(layer.heads[0], i, only)
    count, A, Y = len(moves.rows), moves.A, moves.Y
    mean, along = read == "mean" and count > 0, sigmoid or (read != "all" and count > 0)
    axis = Y.sum(0) / count if along and not sigmoid else exact(arrays["axis"])
    e, (scales, most, extra) = balls.unit(own.x if sigmoid else axis), normed(layer, moves, r)
    y2, ye, quartic = balls.squares(Y), Y @ e, balls.square(scales) * int(not along)
    caps = balls.smaller(scales * (root(y2) + r) ** 2, most)
    numbers: Any = scales * y2, scales * r * r, 0, 0, scales * ye, 0, quartic, 0
    if mean:
        caps, numbers = arb(1), (0, 0, 1, 0, 0, 0, 0, 0)
        long, spread = root(axis @ axis), norm_square(Y - axis)
    parts = weights[:count], moves.start, moves.before, moves.rest
    rows = Row.each(*parts, A @ e, root(balls.squares(across(A, e))), caps, *numbers)
    B = Y[:0] if along else Y
    if sigmoid:
        queries, B = product(own.X, layer.heads[0].Q.T), own.X
        rows, A = rows + own.keys(e, weights[count:], queries), np.concatenate([A, queries])
    require(len(weights) == len(rows), "every row has a weight")
    A, B = weights[:, None] * across(A, e), across(B, e)
    alone, other, ratios = norm_square(A), norm_square(B), exact(arrays.get("joined", np.zeros(0)))
    joined = [(rho, norm_square(np.concatenate([A, B * rho.sqrt()]))) for rho in ratios]
    fourth = fourth_bound(A, arrays) if any(cell.nu > 0 for cell in cells) else arb(0)
    caps = sum((row.cap for row in rows), extra)

    def parts_of(cell: ProofCell) -> Parts:
        nearest = 0.0 if cell.lo <= 0 <= cell.hi else min(abs(cell.lo), abs(cell.hi))
        room, lam = (r * r - arb(nearest) ** 2).nonnegative_part(), arb(cell.lam)  # r² − β²
        prices = [lam * norm for rho, norm in joined if arb(cell.kappa) <= lam * rho]
        price = reduce(arb.min, prices, lam * alone + arb(cell.kappa) * other)
        paid = room * price + arb(cell.nu) * fourth * room * room + extra
        own2 = own.bound(cell, e, room) if only in (None, i) else arb(0)

        def finish(total: arb) -> arb:
            most = (total + paid).min(caps)
            if not mean:
                return most + own2
            before = moves.before.sum()  # P = Σ_j p_j ≤ most; ‖(P − P⁰)ȳ + PΔ‖² is convex in P
            gained, moved = (most - before) * long, balls.square(before * long)
            for beta in (arb(cell.lo), arb(cell.hi)):
                moved = moved.max(gained * (gained + 2 * most * beta) + (most * r) ** 2)
            others = root(spread * (most + moves.before @ moves.before))
            return (root(moved) + others + root(own2)) ** 2

        return rows, room, finish

    prove_cells(cells, parts_of, arb(claim["upper"]) ** 2 * layer.norm2)


def fourth_bound(A: Balls, arrays: dict[str, Array]) -> arb:
    """B with Σ_j (A_j·u)⁴ ≤ B‖u‖⁴: λ_max(CGC) + τμ², G_jl = (A_j·A_l)², any unit vector v ≥ 0,
    0 ≤ τ < 1, C = I − (1 − √(1−τ))vvᵀ, and μ = ‖(√v_j A_j)_j‖².
    """
    given, (tau,) = arrays["fourth"], arrays["tau"].tolist()
    require(given.shape == (len(A),) and bool((given >= 0).all()), "v is not negative")
    require(0 <= tau < 1, "0 ≤ τ < 1")
    v, G = balls.unit(exact(given)), balls.square(product(A, A.T))
    C = exact(np.eye(len(A))) - np.outer(v, v) * (1 - (1 - arb(tau)).sqrt())
    most = norm_square(root(v)[:, None] * A)
    return balls.eigenvalue_bound(product(product(C, G), C)) + arb(tau) * most * most
