"""The layer in balls: φ(X)_j = Σ_h Σ_l P_jl C_hᵀx_l over its heads h, and norms of rows.

    s_jl = c·(Q_hᵀx_j)·(K_hᵀx_l)  over the keys l that row j attends to,  c = m^(−power)/temperature

times max(1, log n) with ``log_n``, for queries of m dimensions; C_h = V_hO_h. Attention with one
matrix W is one head with Q = W and K = C = I. P_jl = w(s_jl)/Σ_l w(s_jl) with w = exp (softmax; a
sink adds 1 to the sum) or w(s) = s₊ (ReLU; 0/0 = 0), and P_jl = σ(s_jl − log n) for sigmoid scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordsway.proof_format import Document
from wordsway.verifier import balls
from wordsway.verifier.balls import Balls, arb, exact, product, require, squares


class BallNorm:
    """N(u) = √D·Cu/β of rows, β² = ‖Cu‖² + Dε, C = I (RMS norm) or I − 11ᵀ/D (layer norm)."""

    def __init__(self, about: dict[str, Any], rows: Balls) -> None:
        kind, epsilon, self.D = about["norm"], about["epsilon"], rows.shape[1]
        require(kind in ("rms", "layer"), "the norm is known")
        require(epsilon >= 0, "ε is not negative")
        mean = rows.sum(1)[:, None] / self.D if kind == "layer" else 0
        self.centred = rows - mean  # Cu_j
        self.squares = squares(self.centred)
        self.sizes2 = self.squares + self.D * arb(epsilon)  # β_j²
        require(all(size > 0 for size in self.sizes2), "no row that is normalised is zero")
        self.rows = np.sqrt(self.D / self.sizes2)[:, None] * self.centred  # N(u_j)


class BallHead:
    """One head: ``s``, ``P``, the ``values`` C_hᵀx_l and their means ``phi``; w up to a factor for
    each row. Q and ``queries`` have the factor c; K and C may be None for the identity.
    """

    def __init__(self, layer: BallLayer, slope: arb, Q: Any, K: Any, V: Any, O: Any) -> None:
        self.layer, self.Q, self.K, self.C = layer, Q * layer.factor, K, product(V, O)
        self.queries = product(layer.rows, self.Q)
        self.keys, self.values = product(layer.rows, K), product(layer.rows, self.C)
        scores, place = layer.scores, exact(np.arange(layer.n))
        s = product(layer.turned(self.queries), layer.turned(self.keys).T)
        s = s - abs(place[:, None] - place) * slope
        self.s = s - arb(layer.n).log() if scores == "sigmoid" else s
        shift = exact(np.where(layer.sees, balls.middles(s).astype(float), -np.inf).max(1))
        self.sink = np.exp(-shift) * int(scores == "sink")
        if scores in ("relu", "sigmoid"):
            self.w = balls.part_above_0(s) if scores == "relu" else 1 / (1 + np.exp(-self.s))
        else:
            self.w = np.exp(s - shift[:, None])
        self.w[~layer.sees] = arb(0)
        total = 1 if scores == "sigmoid" else (self.w.sum(1) + self.sink)[:, None]
        self.P = balls.share(self.w, total)
        self.phi = product(self.P, self.values)


class Moves:
    """The rows j ≠ i (or ``only`` one) that attend to key i in a head: the A_j, with A_j·Δ the move
    of a score, y_j, the number u whose share p(u) row j has of key i, that share, R for ReLU.
    """

    def __init__(self, head: BallHead, i: int, only: int | None = None) -> None:
        layer, scores, K = head.layer, head.layer.scores, None if head.K is None else head.K.T
        sees = layer.sees[:, i]
        self.rows = rows = [j for j in range(layer.n) if j != i and sees[j] and only in (None, j)]
        w, T, self.before = head.w[rows], exact(np.zeros((len(rows), layer.n))), head.P[rows, i]
        mine, w[:, i], T[:, i] = w[:, i].copy(), arb(0), arb(1)
        rest = w.sum(1) + head.sink[rows]
        T = T if scores == "sigmoid" else T - balls.share(w, rest[:, None])
        self.rest = rest if scores == "relu" else None
        self.start = head.s[rows, i] if scores in ("relu", "sigmoid") else np.log(mine / rest)
        self.Y, self.A = product(T, head.values), product(layer.turned(head.queries, i), K)[rows]


class BallLayer:
    """``rows``: the text behind the norm in ``front``, plus positions; ``out``: before ``norm``."""

    def __init__(self, document: Document) -> None:
        about, arrays = document.fields["map"], document.arrays
        X, heads, one = arrays["X"], about.get("heads", 1), about["kind"] == "attention"
        require(X.ndim == 2 and min(X.shape) > 0, "X is a matrix")
        (self.n, self.d), self.scores, self.residual = X.shape, about["scores"], about["residual"]
        require(self.scores in ("softmax", "sink", "relu", "sigmoid"), "the scores are known")
        mask, size, self.read = about["mask"], about["size"], about["read_out"]
        sized, (row, key) = size is not None, np.indices((self.n, self.n))
        require(sized == (mask in ("window", "padding")), "the mask has a size")
        require(heads >= 1 and (not sized or size >= 1), "heads and sizes are positive")
        masks = {"none": key >= 0, "causal": key <= row}
        masks |= {"window": abs(key - row) < size, "padding": key < size} if sized else {}
        require(mask in masks, "the mask is known")
        self.sees = masks[mask]  # which row attends to which key
        given = exact(X)
        self.front = BallNorm(about["front"], given) if about["front"] else None
        self.rows = given if self.front is None else self.front.rows
        if "positions" in arrays:
            require(arrays["positions"].shape == X.shape, "every row has a position")
            self.rows = self.rows + exact(arrays["positions"])
        weights: list[Any] = [arrays["W" if one else "Q"], *map(arrays.get, "KVO")]
        width = weights[0].shape[1] // heads
        require(width == self.d or not one, "W is a d×d matrix")
        power, temperature, self.rope = about["power"], about["temperature"], about.get("rope")
        require(power in (0.5, 1.0), "the scores are divided by √m or m")
        require(temperature > 0, "the temperature is positive")
        self.factor = 1 / (arb(width) if power == 1 else arb(width).sqrt()) / arb(temperature)
        self.factor *= arb(self.n).log().max(arb(1)) if about["log_n"] else 1
        require(not about["alibi"] or self.scores != "relu", "ALiBi is not for ReLU scores")
        slopes = [arb(2) ** (arb(-8 * h) / heads) for h in range(1, heads + 1)]
        slopes = slopes if about["alibi"] else [arb(0)] * heads
        parts = [
            [None] * heads if M is None else np.split(exact(M), heads, int(name != "O"))
            for name, M in zip("QKVO", weights, strict=True)
        ]
        self.heads = [BallHead(self, *each) for each in zip(slopes, *parts, strict=True)]
        self.phi = sum(head.phi for head in self.heads)
        self.out = given + self.phi if self.residual else self.phi
        self.norm = BallNorm(about["outer"], self.out) if about["outer"] else None
        out = self.out if self.norm is None else self.norm.rows
        each = squares(out.sum(0)[None] if self.read == "mean" else out)
        self.norm2 = each[self.read] if isinstance(self.read, int) else each.sum()
        require(self.norm2 > 0, "‖φ(X)‖ > 0")

    def turned(self, rows: Balls, back: int = 0) -> Balls:
        """With RoPE, pairs (x_a, x_{a+m/2}) of row j turned by (j − back)·10000^(−2a/m)."""
        if not self.rope:
            return rows
        (x, y), half = np.split(rows, 2, 1), rows.shape[1] // 2
        paces = [arb(10_000) ** (arb(-a) / half) for a in range(half)]
        angles = np.outer(np.arange(self.n) - back, paces)
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([x * cos - y * sin, y * cos + x * sin], 1)
