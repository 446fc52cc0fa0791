"""Verify claims about softmax attention with one matrix, φ(X) = P X.

    s_jl = c·x_jᵀWx_l,     P_jl = e^{s_jl}/Σ_l e^{s_jl}  over the keys l that row j attends to

(with a sink, 1 is added to the sum). c = d^(−power)/temperature, times max(1, log n) with
``log_n``. Fix row i, and let A_j = c·Wᵀx_j, m_j the mean of φ_j over the keys other than i, and
y_j = x_i − m_j. The proof is in docs/proofs.md.

All of it follows from XWXᵀ, XWWᵀXᵀ and XXᵀ: with the shares Q_jl of row j without key i,
y_j = Σ_l T_jl x_l, T = (1 at l = i) − Q, so that y_j·y_k = (T XXᵀ Tᵀ)_jk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from wordsway.verifier.balls import (
    arb,
    arb_mat,
    chosen,
    column,
    eigenvalue_bound,
    entries,
    identity,
    matrix,
    require,
    root,
    scaled,
)
from wordsway.verifier.format import Array, Document, RefusedError
from wordsway.verifier.rows import Beta, CellRow, Row

#: Rounds of halving u in one cell of β, and β where one row is read out, at most.
ROUNDS, DEPTH = 60, 14


class Softmax:
    """φ(X) in balls: scores, shares and inner products of rows."""

    def __init__(self, document: Document) -> None:
        about, arrays = document.fields["map"], document.arrays
        self.X, W = arrays["X"], arrays["W"]
        require(self.X.ndim == 2 and min(self.X.shape) > 0, "X is a matrix")
        self.n, self.d = self.X.shape
        require(W.shape == (self.d, self.d), "W is a d×d matrix")
        require(about["scores"] in ("softmax", "sink"), "the scores are known")
        self.sink, self.residual = about["scores"] == "sink", bool(about["residual"])
        self.sees = visible(self.n, about["mask"], about["size"])
        X = self.rows = matrix(self.X)
        self.keys = X * matrix(W) * factor(about, self.n, self.d)
        self.scores = (self.keys * X.transpose()).tolist()
        if about["alibi"]:
            self.scores = [
                [s - arb(abs(j - l)) / 256 for l, s in enumerate(row)]
                for j, row in enumerate(self.scores)
            ]
        self.XX, self.AA = X * X.transpose(), self.keys * self.keys.transpose()
        self.P = arb_mat([self.softmax(j) for j in range(self.n)])
        #: φ_j·x_l and φ_j·φ_k.
        self.phi_x = self.P * self.XX
        self.phi_phi = self.phi_x * self.P.transpose()

    def exponentials(self, j: int) -> tuple[list[arb], arb]:
        """e^{s_jl} over the visible keys, 0 elsewhere, divided by their largest; and the sink's."""
        seen = {l: s for l, s in enumerate(self.scores[j]) if self.sees[j][l]}
        shift = arb(max([float(s.mid()) for s in seen.values()] + [0.0] * self.sink))
        found = [(seen[l] - shift).exp() if l in seen else arb(0) for l in range(self.n)]
        return found, (-shift).exp() if self.sink else arb(0)

    def softmax(self, j: int) -> list[arb]:
        found, sink = self.exponentials(j)
        total = sum(found, sink)
        return [x / total for x in found]

    def without(self, j: int, i: int) -> tuple[list[arb], arb, arb]:
        """The shares of row j without key i; its logit and share of key i."""
        found, sink = self.exponentials(j)
        mine, found[i] = found[i], arb(0)
        rest = sum(found, sink)
        return [x / rest for x in found], (mine / rest).log(), mine / (mine + rest)

    def norm_square(self, read: str | int) -> arb:
        """A lower bound of ‖φ(X)‖², of n times the mean, or of one row; of X + φ(X)."""
        whole = self.phi_phi
        if self.residual:
            whole += self.phi_x + self.phi_x.transpose() + self.XX
        if read == "mean":
            return sum(whole.entries(), arb(0))
        return whole[read, read] if isinstance(read, int) else whole.trace()

    def distance2(self, i: int, key: int) -> arb:
        """‖x_key − φ_i‖²."""
        return (self.XX[key, key] - 2 * self.phi_x[i, key] + self.phi_phi[i, i]).nonnegative_part()


def factor(about: dict[str, Any], n: int, d: int) -> arb:
    """c."""
    power, temperature = about["power"], about["temperature"]
    require(power in (0.5, 1.0), "the scores are divided by √d or d")
    require(type(temperature) is float and temperature > 0, "the temperature is positive")
    found = 1 / (arb(d) if power == 1 else arb(d).sqrt()) / arb(temperature)
    return found * arb(n).log().max(arb(1)) if about["log_n"] else found


def visible(n: int, mask: str, size: int | None) -> list[list[bool]]:
    """Which row j attends to which key l."""
    require(mask in ("none", "causal", "window", "padding"), "the mask is known")
    least = type(size) is int and size >= 1
    require(least if mask in ("window", "padding") else size is None, "the mask has a size")
    size = size or n
    after, before = {"causal": (0, n), "window": (size - 1, size - 1)}.get(mask, (n, n))
    last = size if mask == "padding" else n
    return [[l < last and -before <= l - j <= after for l in range(n)] for j in range(n)]


class Moves:
    """The rows that move with row i, and their inner products."""

    def __init__(self, text: Softmax, i: int, only: int | None = None) -> None:
        self.text, self.i = text, i
        every = [j for j in range(text.n) if j != i and text.sees[j][i]]
        every = every if only is None else [j for j in every if j == only]
        #: Rows that attend to key i alone change by Δ.
        self.captive = [j for j in every if not text.sink and sum(text.sees[j]) == 1]
        self.rows = [j for j in every if j not in self.captive]
        self.logit, self.before, T = [], [], []
        for j in self.rows:
            shares, logit, before = text.without(j, i)
            T.append([arb(int(l == i)) - share for l, share in enumerate(shares)])
            self.logit.append(logit)
            self.before.append(before)
        self.T = arb_mat(T) if T else arb_mat(0, text.n)
        self.yy = self.T * text.XX * self.T.transpose()
        self.y2 = [self.yy[k, k].nonnegative_part() for k in range(len(self.rows))]
        self.a2 = [text.AA[j, j].nonnegative_part() for j in self.rows]

    def row(self, k: int, ae: arb, ye: arb, weight: arb, r: arb, *, linear: bool = False) -> Row:
        """Row k of these, given A·e, y·e and its weight."""
        start, before, reach = self.logit[k], self.before[k], r * root(self.a2[k])
        return Row(start, before, self.y2[k], ye, ae, weight, reach, r * r, linear)

    def along(self, axis: Array | None) -> tuple[list[arb], list[arb], arb]:
        """A_j·e, y_j·e and (x_i − φ_i)·e for the unit vector e along ``axis``; along the
        mean of the y_j where there is none.
        """
        text, count = self.text, len(self.rows)
        if axis is None:
            mean = [sum((self.T[k, l] for k in range(count)), arb(0)) for l in range(text.n)]
            mean = mean if count else [arb(int(l == self.i)) for l in range(text.n)]
            vector = text.rows.transpose() * column(mean)
        else:
            require(axis.shape == (text.d,), "the axis has d entries")
            vector = matrix(axis[:, None])
        square = sum((x * x for x in entries(vector)), arb(0))
        require(square > 0, "the axis is not zero")
        e = vector / square.sqrt()
        xe, ke = text.rows * e, entries(text.keys * e)
        far = xe[self.i, 0] - (text.P * xe)[self.i, 0]
        return [ke[j] for j in self.rows], entries(self.T * xe), far


def prove(document: Document, text: Softmax, claim: dict[str, Any], r: float) -> None:
    """Refuse the claim unless all of its inequalities hold."""
    i, upper, read = claim["row"], claim["upper"], document.fields["map"]["read_out"]
    known = type(read) is int and 0 <= read < text.n
    require(known or read in ("all", "mean"), "the read-out is known")
    norm = text.norm_square(read)
    require(norm > 0, "‖φ(X)‖ > 0")
    target = arb(upper) ** 2 * norm
    mine = [name for name in document.arrays if name.startswith(f"{i}/")]
    arrays = {name.partition("/")[2]: document.arrays[name] for name in mine}
    if read in ("all", "mean"):
        dual(text, i, r, arrays, target, mean=read == "mean")
    else:
        one_row(text, i, read, arb(r), target)


def cells_of(values: Array, r: float) -> list[Beta]:
    """The cells of the file: they cover [−r, r], and their multipliers are positive."""
    require(values.ndim == 2 and values.shape[1] == 5 and len(values) > 0, "cells have 5 numbers")
    cells = [Beta(*row) for row in values.tolist()]
    ends = [-r, *(cell.hi for cell in cells)]
    covered = all(cell.lo <= end for cell, end in zip(cells, ends, strict=False)) and ends[-1] >= r
    require(covered and all(cell.lo <= cell.hi for cell in cells), "the cells cover [−r, r]")
    positive = all(cell.lam > 0 and cell.kappa > 0 and cell.nu >= 0 for cell in cells)
    require(positive, "the multipliers are positive")
    return cells


def dual(
    text: Softmax, i: int, radius: float, arrays: dict[str, Array], target: arb, *, mean: bool
) -> None:
    """All rows, or the mean: the sum over rows in every cell of β."""
    moves, r = Moves(text, i), arb(radius)
    cells, count = cells_of(arrays["cells"], radius), len(moves.rows)
    require(arrays["weights"].shape == (count,), "every row has a weight")
    weights = [arb(x) for x in arrays["weights"].tolist()]
    require(all(weight > 0 for weight in weights), "the weights are positive")
    ae, ye, far_e = moves.along(None if mean else arrays["axis"])
    sigma_a, sigma_y = arrays["norms"].tolist()
    A = gram(chosen(text.AA, moves.rows), ae, weights)
    norm_a = eigenvalue_bound(A, sigma_a, "the norm of the keys")
    fourth = fourth_bound(A, arrays) if any(cell.nu > 0 for cell in cells) else arb(0)
    long = spread = P0 = P2 = norm_y = arb(0)
    if mean and count:
        ones = column([arb(1)] * count)
        centre = identity(count) - ones * ones.transpose() / count
        centred = centre * moves.yy * centre
        long = root(sum(moves.yy.entries(), arb(0))) / count
        spread = root(eigenvalue_bound(centred, sigma_y, "the spread of the means"))
        P0 = sum(moves.before, arb(0))
        P2 = sum((p * p for p in moves.before), arb(0))
    elif count:
        Y = gram(moves.yy, ye, [arb(1)] * count)
        norm_y = eigenvalue_bound(Y, sigma_y, "the norm of the means")
    rows = [moves.row(k, ae[k], ye[k], weights[k], r, linear=mean) for k in range(count)]
    captive, own = len(moves.captive), MovedRow(text, i, far_e, r)
    caps = arb(count) if mean else sum(((root(y2) + r) ** 2 for y2 in moves.y2), arb(0))
    for cell in cells:
        room = (r * r - arb(nearest(cell)) ** 2).nonnegative_part()
        price = room * (arb(cell.lam) * norm_a + arb(cell.kappa) * norm_y)
        price += arb(cell.nu) * fourth * room * room
        own2 = own.bound(cell, room)

        def finish(total: arb, cell: Beta = cell, price: arb = price, own2: arb = own2) -> arb:
            most = (total + price).min(caps).nonnegative_part()
            if not mean:
                return most + captive * r * r + own2
            moved = (P0 * long) ** 2
            for beta in (arb(cell.lo), arb(cell.hi)):
                gained = most - P0
                at = (gained * long) ** 2 + 2 * most * gained * beta * long + (most * r) ** 2
                moved = moved.max(at)
            others = root(moved) + spread * root(most + P2)
            return (others + captive * r + root(own2)) ** 2

        refine([CellRow(row, cell) for row in rows], finish, target, cell)


def gram(products: arb_mat, along: list[arb], weights: list[arb]) -> arb_mat:
    """The weighted inner products of rows without their parts along e."""
    part = column(along)
    return scaled(weights, products - part * part.transpose(), weights)


def fourth_bound(A: arb_mat, arrays: dict[str, Array]) -> arb:
    """B with Σ_j (a_j·u)⁴ ≤ B‖u‖⁴, from A_jl = a_j·a_l: λ_max(CGC) + τμ², G_jl = A_jl², any unit
    vector v ≥ 0, 0 ≤ τ < 1, C = I − (1 − √(1−τ))vvᵀ, and μ = λ_max(√v_j A_jl √v_l).
    """
    v_float, (tau, sigma, m) = arrays["fourth"], arrays["fourth-norms"].tolist()
    count = A.nrows()
    require(v_float.shape == (count,) and bool((v_float >= 0).all()), "v is not negative")
    require(0 <= tau < 1, "0 ≤ τ < 1")
    size = sum((arb(x) ** 2 for x in v_float.tolist()), arb(0)).sqrt()
    require(size > 0, "v is not zero")
    v = [arb(x) / size for x in v_float.tolist()]
    G = arb_mat([[x * x for x in row] for row in A.tolist()])
    C = identity(count) - column(v) * column(v).transpose() * (1 - (1 - arb(tau)).sqrt())
    top = eigenvalue_bound(C * G * C, sigma, "the norm of the fourth powers")
    half = [root(x) for x in v]
    most = eigenvalue_bound(scaled(half, A, half), m, "the norm of the eigenmatrix")
    return top + arb(tau) * most * most


class MovedRow:
    """‖row i‖² ≤ max(‖x_i + Δ − φ_i‖², max_l ‖x_l − φ_i‖²) over the keys l ≠ i that it attends to,
    and zero with a sink; where Δ is added to the row (residual), with Δ in each norm.
    """

    def __init__(self, text: Softmax, i: int, far_e: arb, r: arb) -> None:
        self.r, self.times = r, 2 if text.residual else 1
        self.square, self.along = text.distance2(i, i), far_e
        self.across = root(self.square - far_e * far_e)
        others = [text.distance2(i, l) for l in range(text.n) if l != i and text.sees[i][l]]
        if text.sink:
            others.append(text.phi_phi[i, i].nonnegative_part())
        self.hull = (root(reduce(arb.max, others, arb(0))) + (r if text.residual else 0)) ** 2

    def bound(self, cell: Beta, room: arb) -> arb:
        """An upper bound for β in the cell and ‖Δ⊥‖² ≤ ``room``."""
        k, r = self.times, self.r
        beta = (arb(cell.lo) * self.along).max(arb(cell.hi) * self.along)
        reached = self.square + 2 * k * (beta + self.across * root(room)) + (k * r) ** 2
        return reached.nonnegative_part().max(self.hull)


def nearest(cell: Beta) -> float:
    """The smallest |β| in the cell."""
    return 0.0 if cell.lo <= 0 <= cell.hi else min(abs(cell.lo), abs(cell.hi))


def refine(rows: list[CellRow], finish: Callable[[arb], arb], target: arb, cell: Beta) -> None:
    """Halve intervals until the bound of the cell is at most ``target``."""
    for _ in range(ROUNDS):
        if finish(sum((row.bound for row in rows), arb(0))) <= target:
            return
        gaps = [row.gap for row in rows]
        most = max(gaps, default=0.0)
        if not most > 0:
            break
        for row, gap in zip(rows, gaps, strict=True):
            if gap >= most / 8:
                row.split()
    raise RefusedError(
        f"the change is not proved to be at most U‖φ(X)‖ for β in [{cell.lo:.6g}, {cell.hi:.6g}]"
    )


def one_row(text: Softmax, i: int, read: int, r: arb, target: arb) -> None:
    """One row j = ``read``: with e = y_j/‖y_j‖ its change depends on β and p_j alone, and its score
    moves by a with |a − βA_j·e| ≤ ‖A_j⊥‖√(r² − β²).
    """
    if read == i:
        own = MovedRow(text, i, arb(0), r)
        reached = (root(own.square) + own.times * r) ** 2
        require(reached.max(own.hull) <= target, "row i stays in the hull of the text")
        return
    moves = Moves(text, i, read)
    require(not moves.captive or r * r <= target, "a row that attends to one key moves by Δ")
    if not moves.rows:  # the row does not attend to key i, or to it alone
        return
    ae, ye, _ = moves.along(None)
    row = moves.row(0, ae[0], ye[0], arb(1), r)
    across = root(moves.a2[0] - ae[0] ** 2)
    waiting = [(-float(r), 0.0, 0), (0.0, float(r), 0)]  # r is a float
    while waiting:
        lo, hi, depth = waiting.pop()
        cell = Beta(lo, hi, 0.0, 1.0, 0.0)
        limit = across * root(r * r - arb(nearest(cell)) ** 2)
        try:
            refine([CellRow(row, cell, limit)], lambda total: total, target, cell)
        except RefusedError:
            if depth == DEPTH:
                raise
            middle = lo + (hi - lo) / 2
            waiting += [(lo, middle, depth + 1), (middle, hi, depth + 1)]
