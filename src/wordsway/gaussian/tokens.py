"""The first layer's matrix V ∈ ℝ^{k×(n·d)}, whose columns come in blocks of d: one block V_i per
row of the text.

Whole texts are queried first (z = V·vec X), single rows later (V_iΔ and V_iᵀg): a row is split off
from the matrix of the others at its first query, V = [V_i | V_rest]. Of the directions q = (q_i,
q_rest) queried so far, V_i q_i + V_rest q_rest is known. Querying the unsplit matrix for V_i u,
u an orthonormal basis of the q_i, determines both parts separately on these directions; beyond them
they are independent Gaussian matrices. A query of row i then costs O(k·queries of row i).
"""

from __future__ import annotations

from typing import Any, final

import torch

from wordsway.core.checks import Count, NonNegative, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.runtime import checked_device
from wordsway.core.seeds import derive
from wordsway.gaussian.basis import ROUNDING_ERRORS, Basis
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.gaussian.operator import BlockOperator


@final
class TokenMatrix(BlockOperator):
    """V ∈ ℝ^{k×(n·d)}, i.i.d. N(0, scale²), drawn only where it meets whole texts and single rows.

    >>> V = TokenMatrix(k=6, n=3, d=2, seed=0)
    >>> X = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    >>> z = V.apply(X)                                          # V vec X
    >>> change = torch.tensor([1.0, -1.0]) @ V.block(1).T       # V_1 Δ
    >>> X[1] += torch.tensor([1.0, -1.0])
    >>> bool((V.apply(X) - z - change).abs().max() < 1e-12)
    True
    """

    @validated
    def __init__(
        self,
        k: Count,
        n: Count,
        d: Count,
        *,
        scale: NonNegative = 1.0,
        seed: Seed = 0,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.k = k
        self.n = n
        self.d = d
        self.scale = scale
        self.seed = seed
        self.dtype = dtype
        self.device = torch.device(checked_device(device))
        self._blocks: dict[int, GaussianMatrix] = {}
        self._rest_rows = list(range(n))
        self._forward, self._backward = 0, 0
        self._rest: GaussianMatrix | None = self._matrix(n, "rest", n)

    def apply(self, X: torch.Tensor) -> torch.Tensor:
        if X.shape[-2:] != (self.n, self.d):
            raise InputError(
                f"texts of shape (…, {self.n}, {self.d})",
                f"shape {tuple(X.shape)}",
                "this map was made for one n and d",
            )
        X = X.to(self.device, self.dtype)
        answer = torch.zeros(*X.shape[:-2], self.k, dtype=self.dtype, device=self.device)
        if self._rest is not None:
            answer += self._rest.apply(X[..., self._rest_rows, :].flatten(-2))
        for i, block in self._blocks.items():
            answer += block.apply(X[..., i, :])
        return answer

    def block(self, i: int) -> GaussianMatrix:
        if i not in self._blocks:
            self._blocks[i] = self._split(i)
        return self._blocks[i]

    def reserve(self, *, forward: int = 0, backward: int = 0) -> None:
        self._forward, self._backward = forward, backward

    def dense(self) -> torch.Tensor:
        """The whole matrix, k×(n·d), revealed now."""
        V = torch.empty(self.k, self.n, self.d, dtype=self.dtype, device=self.device)
        if self._rest is not None:
            V[:, self._rest_rows] = self._rest.dense().reshape(self.k, -1, self.d)
        for i, block in self._blocks.items():
            V[:, i] = block.dense()
        return V.flatten(1)

    def _split(self, i: int) -> GaussianMatrix:
        rest = self._rest
        if rest is None or i not in self._rest_rows:
            raise InputError(f"a row between 0 and {self.n - 1}", i, "count rows from 0")
        place = self._rest_rows.index(i)
        # Directions queried before the split and their products; the split's own query adds to
        # them.
        asked, answers = rest.known()
        columns = slice(place * self.d, (place + 1) * self.d)
        basis = Basis(self.d, dtype=self.dtype, device=self.device)
        basis.extend(asked[:, columns])
        questions = torch.zeros(len(basis), rest.cols, dtype=self.dtype, device=self.device)
        questions[:, columns] = basis.rows
        block_answers = rest.apply(questions)

        block = self._matrix(1, "word", i)
        block.reserve(forward=len(basis) + self._forward, backward=self._backward)
        block.condition(basis.rows, block_answers)
        self._rest_rows.remove(i)
        if not self._rest_rows:
            self._rest = None
            return block
        others = torch.cat([asked[:, : columns.start], asked[:, columns.stop :]], 1)
        # V_rest q_rest = V q − V_i q_i, then combined so that the q_rest become orthonormal.
        answers = torch.addmm(answers, asked[:, columns] @ basis.rows.T, block_answers, alpha=-1)
        mix, Q = _orthonormal(others)
        remainder = self._matrix(len(self._rest_rows), "rest", len(self._rest_rows))
        remainder.reserve(forward=2 * len(others))  # includes the queries of the next split
        remainder.condition(Q, mix @ answers)
        self._rest = remainder
        return block

    def _matrix(self, rows: int, *path: int | str) -> GaussianMatrix:
        how: dict[str, Any] = {"dtype": self.dtype, "device": self.device, "scale": self.scale}
        return GaussianMatrix(self.k, rows * self.d, seed=derive(self.seed, *path), **how)

    def __repr__(self) -> str:
        split = f"{len(self._blocks)} of {self.n} rows singled out"
        return f"TokenMatrix({self.k}×({self.n}·{self.d}), {split})"


def _orthonormal(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """C and Q = C·rows with orthonormal rows that span what ``rows`` (m, dim) do: by a thin SVD, or
    for a single row, as after a query of one text, by its norm.
    """
    least = ROUNDING_ERRORS * torch.finfo(rows.dtype).eps
    if len(rows) == 1:
        size = rows.norm()
        keep = slice(0, int(size > least))
        return (1 / size).reshape(1, 1)[keep], (rows / size)[keep]
    U, s, Q = torch.linalg.svd(rows, full_matrices=False)
    kept = s > least
    return (U[:, kept] / s[kept]).T, Q[kept]
