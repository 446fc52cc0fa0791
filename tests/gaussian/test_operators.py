"""One contract for every matrix: applied from both sides, it is the matrix it says it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from wordsway.gaussian import BlockOperator, GaussianMatrix, Operator, TokenMatrix
from wordsway.gaussian.dense import DenseBlocks, DenseMatrix

N, D, K = 3, 4, 6


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


OPERATORS: dict[str, Callable[[], Operator]] = {
    "dense": lambda: DenseMatrix(random(K, D)),
    "drawn": lambda: GaussianMatrix(K, D, seed=1),
    "transposed": lambda: GaussianMatrix(D, K, seed=1).T,
    "block of a dense matrix": lambda: DenseBlocks(random(K, N * D), N).block(1),
    "block of a drawn matrix": lambda: TokenMatrix(K, N, D, seed=1).block(1),
}
BLOCKS: dict[str, Callable[[], BlockOperator]] = {
    "dense": lambda: DenseBlocks(random(K, N * D), N),
    "drawn": lambda: TokenMatrix(K, N, D, seed=1),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_products_from_both_sides_are_those_of_one_matrix(name: str) -> None:
    W = OPERATORS[name]()
    assert W.shape == (K, D)
    assert W.dtype == torch.float64
    W.reserve(forward=3, backward=2)
    H, G = random(2, 3, D, seed=2), random(2, 3, K, seed=3)
    forward, backward, column, transposed = H @ W.T, G @ W, W @ H[0, 0], W.T @ G[0].mT
    dense = W.dense()
    assert dense.shape == W.shape
    torch.testing.assert_close(forward, H @ dense.T, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(backward, G @ dense, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(column, dense @ H[0, 0], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(transposed, dense.T @ G[0].mT, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(W.T.dense(), dense.T)
    assert torch.equal(W.T.T.dense(), dense)


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_add_up_to_the_whole(name: str) -> None:
    V = BLOCKS[name]()
    X = random(2, N, D, seed=4)
    whole = V.apply(X)
    parts = sum(X[:, i] @ V.block(i).T for i in range(N))
    torch.testing.assert_close(whole, parts, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(whole, X.flatten(1) @ V.dense().T, rtol=1e-10, atol=1e-12)


def test_single_precision_follows_what_it_is_applied_to() -> None:
    W = DenseMatrix(random(K, D))
    assert (random(2, D).float() @ W.T).dtype == torch.float32
    assert (random(2, K) @ W).dtype == torch.float64
