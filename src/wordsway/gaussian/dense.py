"""Matrices as the fully connected maps see them: dense ones here, drawn-on-demand ones in
`wordsway.gaussian`.
"""

from __future__ import annotations

import torch

from wordsway.gaussian import GaussianMatrix, TokenMatrix
from wordsway.seeds import generator

#: A matrix up to this size is drawn whole: it costs less than the bookkeeping, and its certificate
#: is exact.
DENSE_BYTES = 2**26


class Dense:
    """A matrix that is there: given by the user, or small."""

    def __init__(self, W: torch.Tensor) -> None:
        self.W = W
        self.rows, self.cols = W.shape

    def right(self, H: torch.Tensor) -> torch.Tensor:
        return H @ self.W.to(H.dtype).T

    def left(self, G: torch.Tensor) -> torch.Tensor:
        return G @ self.W.to(G.dtype)

    def dense(self) -> torch.Tensor:
        return self.W


class DenseTokens:
    """V ∈ ℝ^{k×(n·d)} that is there, with the block of each token."""

    def __init__(self, V: torch.Tensor, n: int) -> None:
        self.V, self.n, self.d = V, n, V.shape[1] // n

    def right(self, X: torch.Tensor) -> torch.Tensor:
        return X.flatten(-2) @ self.V.to(X.dtype).T

    def word(self, i: int) -> Dense:
        return Dense(self.V[:, i * self.d : (i + 1) * self.d])

    def dense(self) -> torch.Tensor:
        return self.V


def gaussian_tokens(
    k: int,
    n: int,
    d: int,
    *,
    scale: float,
    seed: int,
    dtype: torch.dtype,
    device: torch.device,
    on_demand: bool,
) -> TokenMatrix | DenseTokens:
    if on_demand:
        return TokenMatrix(k, n, d, scale=scale, seed=seed, dtype=dtype, device=device)
    return DenseTokens(_dense(k, n * d, scale, seed, dtype, device), n)


def gaussian(
    rows: int,
    cols: int,
    *,
    scale: float,
    seed: int,
    dtype: torch.dtype,
    device: torch.device,
    on_demand: bool,
) -> GaussianMatrix | Dense:
    if on_demand:
        return GaussianMatrix(rows, cols, scale=scale, seed=seed, dtype=dtype, device=device)
    return Dense(_dense(rows, cols, scale, seed, dtype, device))


def _dense(
    rows: int, cols: int, scale: float, seed: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    noise = generator(seed, "dense", rows, cols, device=device)
    return torch.randn(rows, cols, dtype=dtype, device=device, generator=noise).mul_(scale)
