"""One small protocol for matrices: given ones, drawn ones, and blocks of either.

A batch of vectors is a batch of rows, as everywhere in wordsway, so that W h for each row h of H is
``H @ W.T`` and Wᵀg for each row g of G is ``G @ W``, whether W is a tensor or an `Operator`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch


class Operator(ABC):
    """A linear map ℝ^cols → ℝ^rows that can be applied, from both sides, and may be no more."""

    shape: tuple[int, int]
    dtype: torch.dtype

    @abstractmethod
    def apply(self, H: torch.Tensor) -> torch.Tensor:
        """W h for every vector h in the last axis of H: (…, cols) → (…, rows)."""

    @abstractmethod
    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        """Wᵀg for every vector g in the last axis of G: (…, rows) → (…, cols)."""

    @abstractmethod
    def dense(self) -> torch.Tensor:
        """The whole matrix, rows×cols."""

    def reserve(self, *, forward: int = 0, backward: int = 0) -> None:
        """Reserve space for that many more vectors on either side, if needed."""
        return

    @property
    def T(self) -> Operator:
        """Wᵀ."""
        return Transposed(self)

    def __matmul__(self, X: torch.Tensor) -> torch.Tensor:
        """W X for X (cols,) or (…, cols, m)."""
        return self.apply(X) if X.ndim == 1 else self.apply(X.mT).mT

    def __rmatmul__(self, G: torch.Tensor) -> torch.Tensor:
        """G W for G (…, rows)."""
        return self.apply_transposed(G)


class Transposed(Operator):
    """Wᵀ, by asking W from the other side."""

    def __init__(self, of: Operator) -> None:
        self.of = of
        self.shape = (of.shape[1], of.shape[0])
        self.dtype = of.dtype

    def apply(self, H: torch.Tensor) -> torch.Tensor:
        return self.of.apply_transposed(H)

    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        return self.of.apply(G)

    def dense(self) -> torch.Tensor:
        return self.of.dense().T

    @property
    def T(self) -> Operator:
        return self.of


class BlockOperator(ABC):
    """V ∈ ℝ^{k×(n·d)} on whole texts, whose columns come in n blocks of d: one for each row."""

    k: int
    n: int
    d: int

    @abstractmethod
    def apply(self, X: torch.Tensor) -> torch.Tensor:
        """V·vec X for texts X (…, n, d) → (…, k)."""

    @abstractmethod
    def block(self, i: int) -> Operator:
        """V_i ∈ ℝ^{k×d}, the columns that belong to row i, as a separate matrix."""

    def part(self, X: torch.Tensor, i: int) -> torch.Tensor:
        """The part of a text X (n, d) that block i is multiplied with."""
        return X[i]

    def reserve(self, *, forward: int = 0, backward: int = 0) -> None:
        """Reserve space for that many vectors on either side of each block, if needed."""
        return

    @abstractmethod
    def dense(self) -> torch.Tensor:
        """The whole matrix, k×(n·d)."""


class SideBySide(Operator):
    """[W_1 … W_m], matrices with equally many rows next to each other."""

    def __init__(self, parts: Sequence[Operator]) -> None:
        self.parts = parts
        self.shape = (parts[0].shape[0], sum(part.shape[1] for part in parts))
        self.dtype = parts[0].dtype

    def apply(self, H: torch.Tensor) -> torch.Tensor:
        pieces = H.split([part.shape[1] for part in self.parts], -1)
        products = [part.apply(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return torch.stack(products).sum(0)

    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        return torch.cat([part.apply_transposed(G) for part in self.parts], -1)

    def dense(self) -> torch.Tensor:
        return torch.cat([part.dense() for part in self.parts], 1)


class RowsTogether(BlockOperator):
    """V with the blocks of some rows as one block, which every i names."""

    def __init__(self, V: BlockOperator, rows: Sequence[int]) -> None:
        self.V, self.rows = V, list(rows)
        self.k, self.n, self.d = V.k, V.n, V.d

    def apply(self, X: torch.Tensor) -> torch.Tensor:
        return self.V.apply(X)

    def block(self, i: int) -> Operator:
        return SideBySide([self.V.block(row) for row in self.rows])

    def part(self, X: torch.Tensor, i: int) -> torch.Tensor:
        return X[self.rows].flatten()

    def reserve(self, *, forward: int = 0, backward: int = 0) -> None:
        self.V.reserve(forward=forward, backward=backward)

    def dense(self) -> torch.Tensor:
        return self.V.dense()
