"""Matrices held in memory: given by the user, or small enough to be drawn in full."""

from __future__ import annotations

from typing import final

import torch

from wordsway.core.seeds import generator
from wordsway.gaussian.operator import BlockOperator, Operator

#: A matrix up to this size is drawn whole: it costs less than the bookkeeping, and its certificate
#: is exact.
DENSE_BYTES = 2**26
#: Matrices of more numbers than this are taken some rows at a time, which then stay in the cache
#: while they are made more precise and multiplied with several vectors.
LARGE, ROWS = 2**22, 512


@final
class DenseMatrix(Operator):
    """A matrix held in memory; it takes the precision of its operand.

    >>> W = DenseMatrix(torch.tensor([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> h = torch.tensor([1.0, 1.0])
    >>> (h @ W.T).tolist(), (W @ h).tolist(), W.shape
    ([3.0, 1.0, 1.0], [3.0, 1.0, 1.0], (3, 2))
    """

    def __init__(self, W: torch.Tensor) -> None:
        self._W = W
        self.shape = (W.shape[0], W.shape[1])
        self.dtype = W.dtype

    def apply(self, H: torch.Tensor) -> torch.Tensor:
        if self._W.numel() <= LARGE or H.ndim != 2:
            return H @ self._W.to(H.dtype).T
        return torch.cat([H @ W.to(H.dtype).T for W in self._W.split(ROWS)], 1)

    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        if self._W.numel() <= LARGE:
            return G @ self._W.to(G.dtype)
        parts = zip(G.split(ROWS, -1), self._W.split(ROWS), strict=True)
        return sum((g @ W.to(G.dtype) for g, W in parts), start=G.new_zeros(()))

    def dense(self) -> torch.Tensor:
        return self._W


@final
class DenseBlocks(BlockOperator):
    """V ∈ ℝ^{k×(n·d)}, held in memory."""

    def __init__(self, V: torch.Tensor, n: int) -> None:
        self._V = V
        self.k = len(V)
        self.n = n
        self.d = V.shape[1] // n

    def apply(self, X: torch.Tensor) -> torch.Tensor:
        return X.flatten(-2) @ self._V.to(X.dtype).T

    def block(self, i: int) -> DenseMatrix:
        return DenseMatrix(self._V[:, i * self.d : (i + 1) * self.d])

    def dense(self) -> torch.Tensor:
        return self._V


def draw_gaussian(
    rows: int, cols: int, *, scale: float, seed: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A matrix (rows×cols) of i.i.d. N(0, scale²)."""
    noise = generator(seed, "dense", rows, cols, device=device)
    return torch.randn(rows, cols, dtype=dtype, device=device, generator=noise).mul_(scale)
