"""Verify claims about attention with one matrix; docs/proofs.md has the statements and proofs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, reduce
from itertools import pairwise
from typing import Any

from wordsway.proof_format import Array, Document, RefusedError
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, arb_mat, norm_square, require, root, square
from wordsway.verifier.layer import BallLayer, BallNorm
from wordsway.verifier.rows import Beta, Row

#: Tolerances of rows relative to their caps, tried in turn; how often β of one row is halved.
TOLERANCES, DEPTH = (1e-2, 1e-3, 1e-4, 1e-5), 14


class Moves:
    """The rows j ≠ i that attend to key i (or ``only`` one), with their A_j, y_j and p⁰_j."""

    def __init__(self, layer: BallLayer, i: int, r: arb, only: int | None = None) -> None:
        self.layer, self.r = layer, r
        every = [j for j in range(layer.n) if j != i and layer.sees[j][i]]
        self.rows = every if only is None else [j for j in every if j == only]
        self.parts = [layer.without(j, i) for j in self.rows]
        self.before = [part[2] for part in self.parts]
        self.Y = balls.table([part[0] for part in self.parts], layer.n) * layer.rows
        keys = layer.keys.tolist()
        self.A = balls.table([keys[j] for j in self.rows], layer.d)
        self.scales, self.most, self.extra = [arb(1)] * len(self.rows), arb("inf"), arb(0)
        if layer.norm is not None:
            self.normalise(layer.norm)

    def normalise(self, norm: BallNorm) -> None:
        """Row j counts most·min(1, ‖w_j‖²/β_j²), and all of them ``extra``: 4D and 0, or 2D and 2D
        for each row that may turn by more than a right angle, where these are few.
        """
        centred, steep = norm.centred.tolist(), []
        for j, y in zip(self.rows, self.Y.tolist(), strict=True):
            g = norm.squares[j] - abs(balls.dot(centred[j], y))
            steep += [[x / g for x in centred[j]]] if g > 0 else []
        turned = balls.float_above(self.r**2 * norm_square(balls.table(steep, self.layer.d)))
        count = len(self.rows) - len(steep) + min(int(turned), len(steep))
        few = count <= len(self.rows) // 4
        self.most = most = arb(self.layer.d) * (2 if few else 4)
        self.scales, self.extra = [most / norm.sizes2[j] for j in self.rows], most * count * few

    def bounded(self, e: arb_mat, weights: list[arb], kind: str) -> list[Row]:
        """The rows: F is the square of the change, or the share (``mean``). Where all y_j are along
        e (``along``), there is no κ-term.
        """
        found, r = [], self.r
        products = zip((self.A * e).entries(), (self.Y * e).entries(), strict=True)
        sizes = zip(balls.squares(self.A), balls.squares(self.Y), strict=True)
        parts = zip(self.parts, products, sizes, weights, self.scales, strict=True)
        for (_, start, before, rest), (ae, ye), (a2, y2), weight, scale in parts:
            row = Row(start, before, r * root(a2), ae, weight, arb(1), rest=rest)
            if kind == "mean":
                row.plain = arb(1)
            else:
                row.cap = (scale * (root(y2) + r) ** 2).min(self.most)
                row.square, row.own, row.cross = scale * y2, scale * r * r, scale * ye
                row.quartic = scale * scale * int(kind == "all")
            found.append(row)
        return found

    @cached_property
    def mean(self) -> tuple[arb_mat, arb]:
        """The mean ȳ of the y_j, and ‖(y_j − ȳ)_j‖² at most."""
        ones = arb_mat([[arb(1)]] * len(self.rows))
        mean = ones.transpose() * self.Y / len(self.rows)
        return mean, norm_square(self.Y - ones * mean)

    def summed(self, most: arb, cell: Beta) -> arb:
        """‖Σ_j (row j)‖ = ‖(P − P⁰)ȳ + PΔ + Σ_j (p_j − p⁰_j)(y_j − ȳ)‖ at most, ȳ along e, where
        P = Σ_j p_j ≤ ``most``: the square of the first two terms is convex in P.
        """
        before, (mean, spread) = sum(self.before, arb(0)), self.mean
        long = root(balls.squares(mean)[0])
        moved, gained = square(before * long), (most - before) * long
        for beta in (arb(cell.lo), arb(cell.hi)):
            moved = moved.max(square(gained) + 2 * most * gained * beta + square(most * self.r))
        return root(moved) + root(spread * (most + balls.dot(self.before, self.before)))


class MovedRow:
    """Row i moves by at most ‖f + kΔ‖, f = x_i − φ_i, or ``hull``. A residual stream adds Δ, k = 2;
    with a norm in front, a vector of length ``added`` instead.
    """

    def __init__(self, layer: BallLayer, i: int, r: arb, added: arb, silent: Array | None) -> None:
        self.layer, self.i, self.r, self.added = layer, i, r, added
        self.times = 2 if layer.residual and layer.front is None else 1
        once = r if self.times == 2 else arb(0)
        rows, phi, self.cap = layer.rows.tolist(), layer.phi.tolist()[i], arb("inf")
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
            self.cap = (silence(layer, i, r, silent, hull, root(self.square) + r) + once) ** 2
        self.hull = (hull + once) ** 2

    def bound(self, cell: Beta, e: arb_mat, room: arb) -> arb:
        """An upper bound of the square for Δ = βe + Δ⊥, β in the cell and ‖Δ⊥‖² ≤ ``room``."""
        along = balls.dot(self.f, e.entries())
        most = (arb(cell.lo) * along).max(arb(cell.hi) * along)
        return self.longest(most + root(self.square - along * along) * root(room))

    def longest(self, product: arb) -> arb:
        """An upper bound of the square where f·Δ ≤ ``product``."""
        layer, k = self.layer, self.times
        found = (self.square + 2 * k * product + (k * self.r) ** 2).max(self.hull).min(self.cap)
        if layer.residual and k == 1:
            found = (root(found) + self.added) ** 2
        D, norm = arb(layer.d), layer.norm
        return found if norm is None else 4 * D * (found / norm.sizes2[self.i]).min(arb(1))


def silence(layer: BallLayer, i: int, r: arb, weights: Array, hull: arb, far: arb) -> arb:
    """An upper bound of ‖row i‖ for ReLU scores: its own key has the share w/(w + R) of it."""
    others, rows = layer.others(i), layer.rows.tolist()
    require(weights.ndim == 2 and weights.shape[1] == len(others), "every key has a weight")
    require(len(weights) > 0 and bool(((weights >= 0) & (weights <= 1)).all()), "0 ≤ λ ≤ 1")
    x, Wt = balls.unit(arb_mat([rows[i]])), layer.W.transpose()
    length, size = (root(balls.squares(part)[i]) for part in (layer.rows, layer.phi))
    mu = balls.matrix(weights) * balls.table([rows[l] for l in others], layer.d) * Wt
    along, beside = (mu * x).entries(), map(root, balls.squares(balls.across(mu, x)))
    turned = (layer.W * x + Wt * x).transpose() / 2
    (own,), (wide2,) = (turned * x).entries(), balls.squares(balls.across(turned, x))
    most = balls.eigenvalue_bound((layer.W + Wt) / 2)
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
        found = found.max(p * (long + size).min(far) + (1 - p) * hull)
    return found


def own_keys(own: MovedRow, weights: list[arb]) -> tuple[list[Row], arb_mat, arb_mat]:
    """What keys l ≠ i add to row i for sigmoid scores: rows of the dual, their q_l, and the x_l."""
    layer, i, r, times = own.layer, own.i, own.r, own.times
    others, rows = layer.others(i), layer.rows.tolist()
    X, x, p0 = balls.table([rows[l] for l in others], layer.d), arb_mat([rows[i]]), layer.P[i, i]
    queries, worth, e = X * layer.W.transpose(), balls.norm_square(X), balls.unit(x)
    step = r / root(balls.squares(x)[0])
    high = (1 - p0 + times * step).max(abs((times - 1) * step - p0))
    low = abs(1 - p0 - times * step).max((times - 1) * step + p0)
    products, along = (X * x.transpose()).entries(), (queries * e).entries()
    sizes = zip(balls.squares(X), balls.squares(queries), strict=True)
    found = []
    for l, product, qe, (x2, q2), c in zip(others, products, along, sizes, weights, strict=True):
        known = 2 * abs(product)
        cap = worth + known * high.max(low) + 2 * times * r * root(x2)
        row = Row(layer.s[i][l], layer.P[i, l], r * root(q2), qe, c, cap, square=worth)
        row.gain, row.tilt = known * (high + low) / 2, known * (high - low) / (4 * r)
        row.quadratic = arb(times * times)
        found.append(row)
    return found, queries, X


def prove(document: Document, layer: BallLayer, claim: dict[str, Any], r: float) -> None:
    """Refuse the claim unless all of its inequalities hold."""
    i, read = claim["row"], document.fields["map"]["read_out"]
    one = type(read) is int and 0 <= read < layer.n
    require(one or read in ("all", "mean"), "the read-out is known")
    plain = layer.front is None and layer.norm is None and layer.scores != "sigmoid"
    require(plain or read == "all", "the read-out is of normalised shares, without norms")
    norm2 = layer.norm_square(read)
    require(norm2 > 0, "‖φ(X)‖ > 0")
    target, reach = arb(claim["upper"]) ** 2 * norm2, r
    if layer.front is not None:  # row i of N(X) moves in another ball
        reach = claim["reach"]
        require(type(reach) is float and reach > 0, "the reach is positive")
        require(layer.front.reach2(i, arb(r)) <= arb(reach) ** 2, "‖N(x_i + Δ) − N(x_i)‖ ≤ reach")
    named = ((name.partition("/"), values) for name, values in document.arrays.items())
    arrays = {name: values for (row, _, name), values in named if row == str(i)}
    own = MovedRow(layer, i, arb(reach), arb(r), arrays.get("silence"))
    if one:
        one_row(own, read, target)
    else:
        dual(own, arrays, target, read)


def cells_of(values: Array, r: float) -> list[Beta]:
    """The cells of the file: they cover [−r, r], and their multipliers are positive."""
    require(values.ndim == 2 and values.shape[1] == 5 and len(values) > 0, "cells have 5 numbers")
    cells = [Beta(*row) for row in values.tolist()]
    ends = [-r, *(cell.hi for cell in cells)]
    covered = all(cell.lo <= end for cell, end in zip(cells, ends, strict=False)) and ends[-1] >= r
    require(covered and all(cell.lo <= cell.hi for cell in cells), "the cells cover [−r, r]")
    require(bool((values[:, 2:4] > 0).all() and (values[:, 4] >= 0).all()), "λ, κ > 0 and ν ≥ 0")
    return cells


def dual(own: MovedRow, arrays: dict[str, Array], target: arb, kind: str) -> None:
    """All rows, or the mean: the sum over rows in every cell of β."""
    layer, moves = own.layer, Moves(own.layer, own.i, own.r)
    cells = cells_of(arrays["cells"], float(own.r))
    weights, count = [arb(x) for x in arrays["weights"].tolist()], len(moves.rows)
    require(all(weight > 0 for weight in weights), "the weights are positive")
    sigmoid, mean = layer.scores == "sigmoid", kind == "mean" and count > 0
    given = arb_mat([layer.rows.tolist()[own.i]]) if sigmoid else balls.matrix(arrays["axis"][None])
    e = balls.unit(moves.mean[0] if mean else given)
    rows = moves.bounded(e, weights[:count], "along" if sigmoid else kind)
    A, B = moves.A, moves.Y
    if sigmoid:
        keys, queries, B = own_keys(own, weights[count:])
        rows, A = rows + keys, balls.table(A.tolist() + queries.tolist(), layer.d)
    require(len(weights) == len(rows), "every row has a weight")
    A, B = balls.scaled(weights, balls.across(A, e)), balls.across(B, e)
    prices = prices_of(A, arb_mat(0, layer.d) if mean else B, arrays.get("joined"), cells)
    fourth = fourth_bound(A, arrays) if any(cell.nu > 0 for cell in cells) else arb(0)
    caps = sum((row.cap for row in rows), moves.extra)
    for cell, price in zip(cells, prices, strict=True):
        room = cell.room(moves.r)
        paid = room * price + arb(cell.nu) * fourth * room * room + moves.extra
        own2 = own.bound(cell, e, room)

        def finish(total: arb, cell: Beta = cell, paid: arb = paid, own2: arb = own2) -> arb:
            most = (total + paid).min(caps)
            return (moves.summed(most, cell) + root(own2)) ** 2 if mean else most + own2

        refine(rows, cell, target, finish)


def prices_of(A: arb_mat, B: arb_mat, joined: Array | None, cells: list[Beta]) -> list[arb]:
    """λ‖Au‖² + κ‖Bu‖² ≤ λg(κ/λ) in each cell: g(ρ) = ‖(A, √ρB)‖² is convex, with slope ≤ ‖B‖²."""
    slope, known, found = norm_square(B), [], []
    for rho in map(arb, [0.0] if joined is None else [0.0, *joined.tolist()]):
        both = balls.table(A.tolist() + (B * rho.sqrt()).tolist(), A.ncols())
        known.append((rho, norm_square(both)))
    for lam, rho in ((arb(cell.lam), arb(cell.kappa) / arb(cell.lam)) for cell in cells):
        bounds = [norm + (rho - at) * slope for at, norm in known if at <= rho]
        for (low, below), (high, above) in pairwise(known):
            if low <= rho <= high:
                bounds.append(below + (above - below) * (rho - low) / (high - low))
        found.append(lam * reduce(arb.min, bounds))
    return found


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


def refine(
    rows: list[Row], cell: Beta, target: arb, finish: Callable[[arb], arb], limit: arb | None = None
) -> None:
    """Bound rows more and more finely until the cell's bound is at most ``target`` or cannot be."""
    for part in TOLERANCES:
        total = sum((row.largest(cell, part * float(row.cap), limit) for row in rows), arb(0))
        if finish(total) <= target:
            return
        if finish((total - part * sum(row.cap for row in rows)).nonnegative_part()) > target:
            break
    raise RefusedError(f"the change is at most U‖φ(X)‖ for β in [{cell.lo:.6g}, {cell.hi:.6g}]")


def one_row(own: MovedRow, read: int, target: arb) -> None:
    """One row j = ``read``: with e along y_j its change depends on β and p_j alone."""
    if read == own.i:
        require(own.longest(own.r * root(own.square)) <= target, "row i stays in the hull")
        return
    moves, r = Moves(own.layer, own.i, own.r, read), float(own.r)
    if not moves.rows:  # the row does not attend to key i
        return
    e = balls.unit(moves.Y)
    (row,), (apart2,) = moves.bounded(e, [arb(1)], "along"), balls.squares(balls.across(moves.A, e))
    waiting = [(-r, 0.0, 0), (0.0, r, 0)]
    while waiting:
        lo, hi, depth = waiting.pop()
        cell = Beta(lo, hi, 0.0, 1.0, 0.0)
        try:
            refine([row], cell, target, lambda total: total, root(apart2 * cell.room(own.r)))
        except RefusedError:
            require(depth < DEPTH, "the row moves by at most U‖φ(X)_j‖")
            middle = lo + (hi - lo) / 2
            waiting += [(lo, middle, depth + 1), (middle, hi, depth + 1)]
