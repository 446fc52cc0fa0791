"""The layer in balls: φ(X) = P(s)·X for attention with one matrix, and norms of rows.

    s_jl = c·x_jᵀWx_l  over the keys l that row j attends to,   c = d^(−power)/temperature

times max(1, log n) with ``log_n``. P_jl = w(s_jl)/Σ_l w(s_jl) with w = exp (softmax; a sink adds 1
to the sum) or w(s) = s₊ (ReLU; 0/0 = 0), and P_jl = σ(s_jl − log n) for sigmoid scores.
"""

from __future__ import annotations

from typing import Any

from wordsway.proof_format import Document
from wordsway.verifier import balls
from wordsway.verifier.balls import arb, arb_mat, require


class BallNorm:
    """N(u) = √D·Cu/β of rows, β² = ‖Cu‖² + Dε, C = I (RMS norm) or I − 11ᵀ/D (layer norm)."""

    def __init__(self, about: dict[str, Any], rows: arb_mat) -> None:
        kind, epsilon, D = about["norm"], about["epsilon"], rows.ncols()
        require(kind in ("rms", "layer"), "the norm is known")
        require(type(epsilon) is float and epsilon >= 0, "ε is not negative")
        ones = balls.unit(arb_mat([[arb(1)] * D]))
        self.centred = balls.across(rows, ones) if kind == "layer" else rows  # Cu_j
        self.squares = balls.squares(self.centred)
        self.sizes2 = [square + D * arb(epsilon) for square in self.squares]  # β_j²
        require(all(size > 0 for size in self.sizes2), "no row that is normalised is zero")

    def rows(self) -> arb_mat:
        """The N(u_j)."""
        D = arb(self.centred.ncols())
        return balls.scaled([(D / size).sqrt() for size in self.sizes2], self.centred)

    def reach2(self, j: int, r: arb) -> arb:
        """‖N(u_j + Δ) − N(u_j)‖² over ‖Δ‖ ≤ r at most: 2D(1 − cos θ), sin θ = r/β_j, or 4D."""
        D, sine2 = self.centred.ncols(), r * r / self.sizes2[j]
        return 2 * D * (1 - (1 - sine2).sqrt()) if sine2 < 1 else arb(4 * D)


class BallLayer:
    """``rows`` are the text that the layer attends to (positions added, a norm in ``front``),
    ``keys`` the A_j = c·Wᵀx_j, ``phi`` its rows, ``out`` those of the map before its ``norm``.
    """

    def __init__(self, document: Document) -> None:
        about, arrays = document.fields["map"], document.arrays
        X, W = arrays["X"], arrays["W"]
        require(X.ndim == 2 and min(X.shape) > 0, "X is a matrix")
        self.n, self.d = X.shape
        require(W.shape == (self.d, self.d), "W is a d×d matrix")
        self.scores, self.residual = about["scores"], bool(about["residual"])
        require(self.scores in ("softmax", "sink", "relu", "sigmoid"), "the scores are known")
        self.sees = visible(self.n, about["mask"], about["size"])
        given = rows = balls.matrix(X)
        if "positions" in arrays:
            require(arrays["positions"].shape == X.shape, "every row has a position")
            rows = rows + balls.matrix(arrays["positions"])
        self.front = BallNorm(about["front"], rows) if about["front"] else None
        self.rows = rows = rows if self.front is None else self.front.rows()
        self.W = balls.matrix(W) * factor(about, self.n, self.d)
        self.keys = rows * self.W
        require(not about["alibi"] or self.scores != "relu", "ALiBi is not for ReLU scores")
        slope = arb(int(bool(about["alibi"]))) / 256
        shift = arb(self.n).log() if self.scores == "sigmoid" else arb(0)
        products = enumerate((self.keys * rows.transpose()).tolist())
        self.s = [[s - abs(j - l) * slope - shift for l, s in enumerate(r)] for j, r in products]
        self.P = arb_mat([self.shares(j) for j in range(self.n)])
        self.phi = self.P * rows
        self.out = given + self.phi if self.residual else self.phi
        self.norm = BallNorm(about["outer"], self.out) if about["outer"] else None

    def others(self, i: int) -> list[int]:
        """The keys l ≠ i that row i attends to."""
        return [l for l in range(self.n) if l != i and self.sees[i][l]]

    def weights(self, j: int) -> tuple[list[arb], arb]:
        """w(s_jl) over the visible keys, 0 elsewhere, and the sink's; up to a common factor."""
        seen = {l: s for l, s in enumerate(self.s[j]) if self.sees[j][l]}
        if self.scores == "relu":
            return [seen.get(l, arb(0)).nonnegative_part() for l in range(self.n)], arb(0)
        sink = self.scores == "sink"
        shift = arb(max([float(s.mid()) for s in seen.values()] + [0.0] * sink))
        found = [(seen[l] - shift).exp() if l in seen else arb(0) for l in range(self.n)]
        return found, (-shift).exp() if sink else arb(0)

    def shares(self, j: int) -> list[arb]:
        """Row j of P."""
        if self.scores == "sigmoid":
            seen = zip(self.s[j], self.sees[j], strict=True)
            return [1 / (1 + (-s).exp()) if visible else arb(0) for s, visible in seen]
        found, sink = self.weights(j)
        total = sum(found, sink)
        return [share(x, total) for x in found]

    def without(self, j: int, i: int) -> tuple[list[arb], arb, arb, arb | None]:
        """T with y_j = Σ_l T_l x_l; the number u whose share p(u) of key i row j has; that share; R
        for ReLU scores.
        """
        T, mine = [arb(int(l == i)) for l in range(self.n)], self.P[j, i]
        if self.scores == "sigmoid":
            return T, self.s[j][i], mine, None
        found, sink = self.weights(j)
        weight, found[i] = found[i], arb(0)
        rest = sum(found, sink)
        T = [one - share(x, rest) for one, x in zip(T, found, strict=True)]
        if self.scores == "relu":
            return T, self.s[j][i], mine, rest
        return T, (weight / rest).log(), mine, None

    def norm_square(self, read: str | int) -> arb:
        """The square of the norm of all rows, of n times their mean, or of one row."""
        if read == "mean":
            return balls.squares(arb_mat([[arb(1)] * self.n]) * self.out)[0]
        each = balls.squares(self.out if self.norm is None else self.norm.rows())
        return each[read] if isinstance(read, int) else sum(each, arb(0))


def share(weight: arb, total: arb) -> arb:
    """weight/total, and 0 where the total is exactly 0."""
    return arb(0) if total == 0 else weight / total


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
    sized = type(size) is int and size >= 1
    require(sized == (mask in ("window", "padding")), "the mask has a size")
    size = size or n
    after, before = {"causal": (0, n), "window": (size - 1, size - 1)}.get(mask, (n, n))
    last = size if mask == "padding" else n
    return [[l < last and -before <= l - j <= after for l in range(n)] for j in range(n)]
