"""Verify claims about attention with one matrix; docs/proofs.md has the statements and proofs."""

from __future__ import annotations

from functools import reduce
from typing import Any

from wordsway.proof_format import Array, Document
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, arb_mat, norm_square, require, root, square
from wordsway.verifier.layer import BallLayer
from wordsway.verifier.rows import BetaCell, Parts, Row, cells_of, prove_cells


class Moves:
    """The rows j ≠ i (or ``only`` one) that attend to key i, with their A_j, y_j and scales: behind
    a norm row j counts at most most·min(1, ‖w_j‖²/β_j²), and all of them ``extra``: 4D and 0, or 2D
    and 2D for each row that may turn by more than a right angle, where these are few.
    """

    def __init__(self, layer: BallLayer, i: int, r: arb, only: int | None = None) -> None:
        rows = [j for j in range(layer.n) if j != i and layer.sees[j][i] and only in (None, j)]
        self.rows, self.parts = rows, [layer.without(j, i) for j in rows]
        self.Y = balls.table([part[0] for part in self.parts], layer.n) * layer.rows
        keys = layer.keys.tolist()
        self.A = balls.table([keys[j] for j in rows], layer.d)
        self.r, norm = r, layer.norm
        self.scales, self.most, self.extra = [arb(1)] * len(self.rows), arb("inf"), arb(0)
        if norm is None:
            return
        centred, steep = norm.centred.tolist(), []
        for j, y in zip(self.rows, self.Y.tolist(), strict=True):
            g = norm.squares[j] - abs(balls.dot(centred[j], y))
            steep += [[x / g for x in centred[j]]] if g > 0 else []
        turned = balls.float_above(r**2 * norm_square(balls.table(steep, layer.d)))
        count = len(self.rows) - len(steep) + min(int(turned), len(steep))
        few = count <= len(self.rows) // 4
        self.most = most = arb(layer.d) * (2 if few else 4)
        self.scales, self.extra = [most / norm.sizes2[j] for j in self.rows], most * count * few

    def bounded(self, e: arb_mat, weights: list[arb], read: str | int, along: bool) -> list[Row]:
        """The rows: F is the square of the change, or the share (``mean``). Where all y_j are
        ``along`` e, there is no κ-term.
        """
        found, r = [], self.r
        products = zip((self.A * e).entries(), (self.Y * e).entries(), strict=True)
        sizes = zip(balls.squares(balls.across(self.A, e)), balls.squares(self.Y), strict=True)
        parts = zip(self.parts, products, sizes, weights, self.scales, strict=True)
        for (_, start, before, rest), (ae, ye), (a2, y2), weight, scale in parts:
            row = Row(start, before, ae, root(a2), weight, arb(1), rest=rest)
            if read == "mean":
                row.plain = arb(1)
            else:
                row.cap = (scale * (root(y2) + r) ** 2).min(self.most)
                row.square, row.own, row.cross = scale * y2, scale * r * r, scale * ye
                row.quartic = scale * scale * int(not along)
            found.append(row)
        return found

    def mean(self) -> arb_mat:
        """The mean ȳ of the y_j."""
        return arb_mat([[arb(1) / len(self.rows)] * len(self.rows)]) * self.Y

    def summed(self, most: arb, cell: BetaCell, long: arb, spread: arb) -> arb:
        """‖Σ_j (row j)‖ = ‖(P − P⁰)ȳ + PΔ + Σ_j (p_j − p⁰_j)(y_j − ȳ)‖ at most, ȳ along e and
        ``long``, ``spread`` = ‖(y_j − ȳ)_j‖², where P = Σ_j p_j ≤ ``most``: the square of the first
        two terms is convex in P.
        """
        before = [part[2] for part in self.parts]
        gained, moved = (most - sum(before)) * long, square(sum(before) * long)
        for beta in (arb(cell.lo), arb(cell.hi)):
            moved = moved.max(square(gained) + 2 * most * gained * beta + square(most * self.r))
        return root(moved) + root(spread * (most + balls.dot(before, before)))


class MovedRowBound:
    """Row i moves by at most ‖f + kΔ‖, f = x_i − φ_i, or ``hull``. A residual stream adds Δ, k = 2;
    with a norm in front, a vector of length ``added`` instead.
    """

    def __init__(self, layer: BallLayer, i: int, r: arb, added: arb, silent: Array | None) -> None:
        self.layer, self.i, self.r = layer, i, r
        self.times = 2 if layer.residual and layer.front is None else 1
        self.added = added if layer.residual and self.times == 1 else arb(0)
        self.size2 = None if layer.norm is None else layer.norm.sizes2[i]
        once, self.cap = r if self.times == 2 else arb(0), arb("inf")
        rows, phi = layer.rows.tolist(), layer.phi.tolist()[i]
        if layer.scores == "sigmoid":
            require(layer.norm is None and self.times == 1 + layer.residual, "row i has a bound")
            p0 = layer.P[i, i]
            apart = arb_mat([[(1 - p0) * x for x in rows[i]], [p0 * x for x in rows[i]]])
        else:
            zero = [[arb(0)] * layer.d] if layer.scores in ("sink", "relu") else []
            ends = [rows[i], *(rows[l] for l in layer.others(i)), *zero]
            apart = arb_mat([[x - y for x, y in zip(end, phi, strict=True)] for end in ends])
        self.f = apart.tolist()[0]
        self.square, *others = balls.squares(apart)
        hull = root(reduce(arb.max, others, arb(0)))
        if silent is not None:
            require(layer.scores == "relu", "row i can be silenced")
            self.cap = (self.silenced(silent, hull) + once) ** 2
        self.hull = (hull + once) ** 2

    def bound(self, cell: BetaCell, e: arb_mat, room: arb) -> arb:
        """An upper bound of the square for Δ = βe + Δ⊥, β in the cell and ‖Δ⊥‖² ≤ ``room``."""
        along, k = balls.dot(self.f, e.entries()), self.times
        product = (arb(cell.lo) * along).max(arb(cell.hi) * along)
        product += root(self.square - along * along) * root(room)
        found = (self.square + 2 * k * product + (k * self.r) ** 2).max(self.hull).min(self.cap)
        found = (root(found) + self.added) ** 2
        return found if self.size2 is None else 4 * len(self.f) * (found / self.size2).min(arb(1))

    def silenced(self, weights: Array, hull: arb) -> arb:
        """An upper bound of ‖row i‖ for ReLU scores: its own key has the share w/(w + R) of it."""
        layer, i, r = self.layer, self.i, self.r
        others, rows = layer.others(i), layer.rows.tolist()
        require(weights.ndim == 2 and weights.shape[1] == len(others), "every key has a weight")
        require(len(weights) > 0 and bool(((weights >= 0) & (weights <= 1)).all()), "0 ≤ λ ≤ 1")
        x, W, Wt = balls.unit(arb_mat([rows[i]])), layer.W, layer.W.transpose()
        length, size = (root(balls.squares(part)[i]) for part in (layer.rows, layer.phi))
        mu = balls.matrix(weights) * balls.table([rows[l] for l in others], layer.d) * Wt
        along, beside = (mu * x).entries(), map(root, balls.squares(balls.across(mu, x)))
        turned = (W * x + Wt * x).transpose() / 2
        (own,), (wide2,) = (turned * x).entries(), balls.squares(balls.across(turned, x))
        most = balls.eigenvalue_bound((W + Wt) / 2)
        middle, wide = (own + most) / 2, root(square((own - most) / 2) + wide2)
        peak = arb.atan2(2 * root(wide2), own - most)  # twice the angle of the largest value
        found, count = hull, len(weights)
        for k, (part, rest) in enumerate(zip(along, beside, strict=True)):
            short, long = (length + r) * k / count, (length + r) * (k + 1) / count
            product = (short * short + length * length - r * r) / 2
            R, turn = arb(0), arb(0)
            if product >= 0:
                cosine = (product / (long * length)).min(arb(1))
                sine = root(1 - cosine * cosine)
                R = short * (cosine * part - sine * rest) if part >= 0 else R
                turn = (peak - 2 * arb.atan2(sine, cosine)).nonnegative_part()
            w = (long * long * (middle + wide * turn.cos())).nonnegative_part()
            p = w / (w + R) if R > 0 else arb(1)
            far = (long + size).min(root(self.square) + r)
            found = found.max(p * far + (1 - p) * hull)
        return found

    def keys(self, e: arb_mat, weights: list[arb]) -> tuple[list[Row], arb_mat, arb_mat]:
        """What keys l ≠ i add for sigmoid scores: rows of the dual, their q_l, and the x_l."""
        layer, i, r, times = self.layer, self.i, self.r, self.times
        others, rows, p0 = layer.others(i), layer.rows.tolist(), layer.P[i, i]
        X, x = balls.table([rows[l] for l in others], layer.d), arb_mat([rows[i]])
        queries, worth = X * layer.W.transpose(), norm_square(X)
        step = r / root(balls.squares(x)[0])
        high = (1 - p0 + times * step).max(abs((times - 1) * step - p0))
        low = abs(1 - p0 - times * step).max((times - 1) * step + p0)
        products, along = (X * x.transpose()).entries(), (queries * e).entries()
        sizes = zip(balls.squares(X), balls.squares(balls.across(queries, e)), strict=True)
        found, parts = [], zip(others, products, along, sizes, weights, strict=True)
        for l, product, qe, (x2, q2), weight in parts:
            known = 2 * abs(product)
            cap = worth + known * high.max(low) + 2 * times * r * root(x2)
            row = Row(layer.s[i][l], layer.P[i, l], qe, root(q2), weight, cap, square=worth)
            row.gain, row.tilt = known * (high + low) / 2, known * (high - low) / (4 * r)
            row.quadratic = arb(times * times)
            found.append(row)
        return found, queries, X


def prove(document: Document, layer: BallLayer, claim: dict[str, Any], radius: float) -> None:
    """Refuse the claim unless in every cell of β the sum over rows is at most U²‖φ(X)‖²."""
    i, read, reach = claim["row"], document.fields["map"]["read_out"], radius
    one = type(read) is int and 0 <= read < layer.n
    require(one or read in ("all", "mean"), "the read-out is known")
    plain = layer.front is None and layer.norm is None and layer.scores != "sigmoid"
    require(plain or read == "all", "the read-out is of normalised shares, without norms")
    norm2 = layer.norm_square(read)
    require(norm2 > 0, "‖φ(X)‖ > 0")
    if layer.front is not None:  # row i of N(X) moves in another ball
        reach = claim["reach"]
        require(type(reach) is float and reach > 0, "the reach is positive")
        moved2 = layer.front.reach2(i, arb(radius))
        require(moved2 <= arb(reach) ** 2, "‖N(x_i + Δ) − N(x_i)‖ ≤ reach")
    named = ((name.partition("/"), values) for name, values in document.arrays.items())
    arrays = {name: values for (row, _, name), values in named if row == str(i)}
    weights, r = [arb(x) for x in arrays["weights"].tolist()], arb(reach)
    require(all(weight > 0 for weight in weights), "the weights are positive")
    only = read if one else None
    moves = Moves(layer, i, r, only)
    own = MovedRowBound(layer, i, r, arb(radius), arrays.get("silence"))
    sigmoid, mean = layer.scores == "sigmoid", read == "mean" and len(moves.rows) > 0
    along = sigmoid or (read != "all" and len(moves.rows) > 0)
    given = arb_mat([layer.rows.tolist()[i]]) if sigmoid else balls.matrix(arrays["axis"][None])
    e = balls.unit(moves.mean() if along and not sigmoid else given)
    count = len(moves.rows)
    rows = moves.bounded(e, weights[:count], read, along)
    A, B = moves.A, arb_mat(0, layer.d) if along else moves.Y
    if sigmoid:
        keys, queries, B = own.keys(e, weights[count:])
        rows, A = rows + keys, balls.table(A.tolist() + queries.tolist(), layer.d)
    require(len(weights) == len(rows), "every row has a weight")
    A, B = balls.scaled(weights, balls.across(A, e)), balls.across(B, e)
    cells = cells_of(arrays["cells"], reach)
    alone, other, joined = norm_square(A), norm_square(B), []
    for rho in map(arb, arrays["joined"].tolist() if "joined" in arrays else []):
        both = balls.table(A.tolist() + (B * rho.sqrt()).tolist(), layer.d)
        joined.append((rho, norm_square(both)))
    fourth = fourth_bound(A, arrays) if any(cell.nu > 0 for cell in cells) else arb(0)
    caps = sum((row.cap for row in rows), moves.extra)
    if mean:
        long, ones = root(balls.squares(moves.mean())[0]), arb_mat([[arb(1)]] * count)
        spread = norm_square(moves.Y - ones * moves.mean())

    def parts_of(cell: BetaCell) -> Parts:
        room, lam, kappa = cell.room(r), arb(cell.lam), arb(cell.kappa)
        prices = [lam * norm for rho, norm in joined if kappa <= lam * rho]
        price = reduce(arb.min, prices, lam * alone + kappa * other)
        paid = room * price + arb(cell.nu) * fourth * room * room + moves.extra
        own2 = own.bound(cell, e, room) if only in (None, i) else arb(0)

        def finish(total: arb) -> arb:
            most = (total + paid).min(caps)
            if mean:
                return (moves.summed(most, cell, long, spread) + root(own2)) ** 2
            return most + own2

        return rows, room, finish

    prove_cells(cells, parts_of, arb(claim["upper"]) ** 2 * norm2)


def fourth_bound(A: arb_mat, arrays: dict[str, Array]) -> arb:
    """B with Σ_j (A_j·u)⁴ ≤ B‖u‖⁴: λ_max(CGC) + τμ², G_jl = (A_j·A_l)², any unit vector v ≥ 0,
    0 ≤ τ < 1, C = I − (1 − √(1−τ))vvᵀ, and μ = ‖(√v_j A_j)_j‖².
    """
    given, (tau,), count = arrays["fourth"], arrays["tau"].tolist(), A.nrows()
    require(given.shape == (count,) and bool((given >= 0).all()), "v is not negative")
    require(0 <= tau < 1, "0 ≤ τ < 1")
    v = balls.unit(balls.matrix(given[None]))
    G = arb_mat([[x * x for x in row] for row in (A * A.transpose()).tolist()])
    I = arb_mat([[int(j == l) for l in range(count)] for j in range(count)])
    C = I - v * v.transpose() * (1 - (1 - arb(tau)).sqrt())
    most = norm_square(balls.scaled([root(x) for x in v.entries()], A))
    return balls.eigenvalue_bound(C * G * C) + arb(tau) * most * most
