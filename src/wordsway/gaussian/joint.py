"""A first layer queried at many whole texts, and at a few rows of any text.

V ∈ ℝ^{k×(n·d)} has i.i.d. entries N(0, σ²). The columns V_i of the rows that will be queried are
drawn first, in full. What the other rows contribute to Z_j = V vec X_j is Gaussian with the texts'
own inner products: with T_i ∈ ℝ^{M×d} the texts' i-th rows, and LLᵀ = G the inner products of the
texts without those rows,

    Z = Σ_i T_i V_iᵀ + σLΓ,    Γ ∈ ℝ^{M×k} i.i.d. N(0, 1),

exactly in distribution, without V or a basis of ℝ^{n·d}. L depends on the texts alone: all weights
share it (`TextGramFactor`), and since it is triangular the products with the first texts do not
depend on those that follow. Weights are drawn in single precision, as exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import torch

from wordsway.core.errors import InputError
from wordsway.core.seeds import generator
from wordsway.gaussian.dense import DenseMatrix
from wordsway.gaussian.operator import BlockOperator

#: Texts per batch; always this number, so that the same products are computed.
CHUNK = 256
#: A text whose square is explained by those before it up to this share adds no new direction.
DEPENDENT = 1e-13


class TextGramFactor:
    """What texts alone determine: rows T_i and L, `CHUNK` texts at a time, filled up with 0."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = tuple(dict.fromkeys(rows))
        self.known = 0
        #: T_i of each chunk, (256, d), and its rows of L, (256, 256·(chunk + 1)).
        self.own: dict[int, list[torch.Tensor]] = {}
        self.lower: list[torch.Tensor] = []

    def extend(self, text: Callable[[int], torch.Tensor], count: int) -> None:
        """Cover at least the first ``count`` texts; ``text`` maps a number to X, n×d float64."""
        if count <= self.known:
            return
        self.known, self.own, self.lower = count, {i: [] for i in self.rows}, []
        chunks: list[torch.Tensor] = []
        for start in range(0, count, CHUNK):
            X = torch.stack([text(j) for j in range(start, min(start + CHUNK, count))])
            X = torch.cat([X, X.new_zeros(CHUNK - len(X), *X.shape[1:])])
            for i in self.rows:
                self.own[i].append(X[:, i].clone())
            X[:, list(self.rows)] = 0
            chunks.append(X.flatten(1))
            products = [chunks[-1] @ other.T for other in chunks]
            self.lower.append(torch.cat(self._row(products), 1))

    def append(
        self, text: Callable[[int], torch.Tensor], count: int, X: torch.Tensor
    ) -> tuple[torch.Tensor, float]:
        """One more text after the first ``count``: its row of L, up to its own entry, and that."""
        rest = X.clone()
        rest[list(self.rows)] = 0
        whole = rest.flatten()
        product = whole.new_zeros(-(-count // CHUNK) * CHUNK)
        for j in range(count):
            product[j] = text(j).flatten() @ whole
        size = float(whole @ whole)
        found = whole.new_zeros(0)
        for c, part in enumerate(product.split(CHUNK)):
            beyond = slice(max(0, count - CHUNK * c), None)
            L = self.lower[c][:, CHUNK * c :].clone()
            L[beyond] = 0
            left = part - self.lower[c][:, : CHUNK * c] @ found
            left[beyond] = 0
            found = torch.cat([found, _substitute(L, left[None])[0]])
        own = size - float(found @ found)
        return found, own**0.5 if own > DEPENDENT * size else 0.0

    def _row(self, products: list[torch.Tensor]) -> list[torch.Tensor]:
        """The newest chunk's part of L, from its products with every chunk."""
        row: list[torch.Tensor] = []
        for c, product in enumerate(products[:-1]):
            before = torch.cat(row, 1) if row else product[:, :0]
            left = product - before @ self.lower[c][:, : CHUNK * c].T
            row.append(_substitute(self.lower[c][:, CHUNK * c :], left))
        before = torch.cat(row, 1) if row else products[-1][:, :0]
        own = products[-1] - before @ before.T
        return [*row, _cholesky(own, products[-1].diagonal())]


def _substitute(L: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """X with XLᵀ = B, where L has a 0 on its diagonal 0 in X."""
    empty = L.diagonal() == 0
    full = L + torch.diag(empty.to(L.dtype))
    X = torch.linalg.solve_triangular(full, B.T, upper=False).T
    return X.masked_fill(empty, 0)


def _cholesky(G: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    """L with LLᵀ = G, row by row: what is left of a row's ``size`` counts as 0 below rounding.

    >>> _cholesky(torch.ones(2, 2), torch.ones(2)).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    L = torch.zeros_like(G)
    for r in range(len(G)):
        column = G[r:, r] - L[r:, :r] @ L[r, :r]
        if float(column[0]) > DEPENDENT * float(size[r]):
            L[r:, r] = column / column[0].sqrt()
    return L


class Answers:
    """One matrix V's answers to the texts of a factor, chunk by chunk: (256, k) in ``dtype``."""

    def __init__(self, k: int, d: int, factor: TextGramFactor, *, scale: float, seed: int) -> None:
        self.k, self.d = k, d
        self.factor = factor
        self.scale = scale
        self.seed = seed
        self._noise: list[torch.Tensor] = []
        self._block: tuple[int, torch.Tensor] | None = None

    def block(self, i: int) -> torch.Tensor:
        """V_i, k×d; the last one is kept."""
        if self._block is None or self._block[0] != i:
            noise = generator(self.seed, "joint", "row", i)
            V = torch.randn(self.k, self.d, dtype=torch.float32, generator=noise)
            self._block = (i, V.mul_(self.scale))
        return self._block[1]

    def chunks(self, count: int, dtype: torch.dtype) -> list[torch.Tensor]:
        """Z of the first ``count`` chunks."""
        found = []
        for c in range(count):
            L = (self.scale * self.factor.lower[c]).to(dtype).split(CHUNK, dim=1)
            Z = torch.zeros(CHUNK, self.k, dtype=dtype)
            for part, noise in zip(L, self._noises(c + 1), strict=True):
                Z.addmm_(part, noise.to(dtype))
            found.append(Z)
        for i in self.factor.rows:
            V = self.block(i).to(dtype).T
            for c, Z in enumerate(found):
                Z.addmm_(self.factor.own[i][c].to(dtype), V)
        return found

    def condition_on(self, lower: torch.Tensor, own: float, X: torch.Tensor) -> torch.Tensor:
        """Z of one more text X with its row of L; float64."""
        noise = generator(self.seed, "joint", "new")
        z = torch.randn(self.k, dtype=torch.float32, generator=noise).double() * own
        for part, fresh in zip(lower.split(CHUNK), self._noises(len(lower) // CHUNK), strict=True):
            for columns in range(0, self.k, BLOCK):
                some = slice(columns, columns + BLOCK)
                z[some] += part @ fresh[:, some].double()
        z *= self.scale
        for i in self.factor.rows:
            z += DenseMatrix(self.block(i)).apply(X[i][None])[0]
        return z

    def _noises(self, count: int) -> list[torch.Tensor]:
        """Γ of the first chunks."""
        for c in range(len(self._noise), count):
            noise = generator(self.seed, "joint", "texts", c)
            self._noise.append(torch.randn(CHUNK, self.k, dtype=torch.float32, generator=noise))
        return self._noise[:count]


#: Columns that are taken to double precision at once.
BLOCK = 4096


@final
class JointMatrix(BlockOperator):
    """V seen from one text, the last one queried: its product, and V_i of the factor's rows."""

    def __init__(self, answers: Answers, X: torch.Tensor, answer: torch.Tensor) -> None:
        self.n, self.d = X.shape
        self.k = answers.k
        self.last = X
        self.answer = answer
        self._answers = answers

    def apply(self, X: torch.Tensor) -> torch.Tensor:
        """V vec X for the text itself, the only one that may be queried."""
        same = X.shape[-2:] == self.last.shape and bool((self.last.to(X.dtype) == X).all())
        if not same:
            raise InputError(
                "the text that the matrix was drawn for",
                "another text",
                "pass it when the map is made",
            )
        return self.answer.expand(*X.shape[:-2], -1)

    def block(self, i: int) -> DenseMatrix:
        if i not in self._answers.factor.rows:
            raise InputError(
                f"one of the rows {sorted(self._answers.factor.rows)}",
                f"row {i}",
                "make a new map for other rows",
            )
        return DenseMatrix(self._answers.block(i))

    def dense(self) -> torch.Tensor:
        raise InputError(
            "a matrix in memory",
            "products with the given texts alone",
            "draw the map for one text to read its weights",
        )
