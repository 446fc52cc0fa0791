"""Gaussian matrices drawn on demand: one single matrix for life, exact in distribution, orthogonal
for thousands of queries.
"""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

import wordsway as ws
from wordsway.gaussian import Basis, GaussianMatrix, TokenMatrix
from wordsway.gaussian.matrix import BLOCK, MANY, fill_normal

#: With seeds fixed these tests cannot flake; α is the chance that a fresh seed of correct code
#: would fail a single test.
ALPHA = 1e-4


def randn(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (7, 3), (3, 7), (40, 40), (200, 30)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_recorded_answer_agrees_with_the_fully_revealed_matrix(rows, cols, dtype):
    W = GaussianMatrix(rows, cols, scale=0.7, seed=3, dtype=dtype)
    asked = []
    for step in range(8):
        H = randn(1 + step % 3, cols, seed=step, dtype=dtype)
        asked.append((H, W.apply(H), "right"))
        # Queries chosen from earlier answers, as a search does.
        G = torch.relu(asked[-1][1]) + 1e-3 * randn(len(H), rows, seed=50 + step, dtype=dtype)
        asked.append((G, W.apply_transposed(G), "left"))
    dense = W.dense()
    assert W.revealed
    assert dense.shape == (rows, cols)
    tolerance = 1e-10 if dtype == torch.float64 else 2e-3
    for query, answer, side in asked:
        expected = query @ dense.T if side == "right" else query @ dense
        assert (expected - answer).norm() <= tolerance * expected.norm()


def test_a_batch_of_any_shape_equals_its_rows_one_by_one():
    W = GaussianMatrix(9, 6, seed=1)
    H = randn(2, 3, 6)
    batch = W.apply(H)
    assert batch.shape == (2, 3, 9)
    for a in range(2):
        for b in range(3):
            assert torch.allclose(W.apply(H[a, b]), batch[a, b], atol=1e-12)


def test_asking_again_reveals_and_stores_nothing():
    W = GaussianMatrix(50, 40, seed=0)
    H = randn(5, 40)
    first = W.apply(H)
    rank, size = W.rank, W.nbytes
    again = W.apply(3 * H[:2] - H[2:4])
    assert W.rank == rank
    assert W.nbytes == size
    assert torch.allclose(again, 3 * first[:2] - first[2:4], atol=1e-12)


def test_dependent_vectors_inside_one_batch_are_told_apart_from_new_ones():
    basis = Basis(4, dtype=torch.float64, device=torch.device("cpu"))
    H = torch.tensor(
        [
            [1.0, 0, 0, 0],
            [2.0, 0, 0, 0],
            [1.0, 1.0, 0, 0],
            [0.0, 1.0, 0, 0],
            [0, 0, 0, 0],
            [0, 0, 1.0, 1e-9],
        ]
    )
    assert len(basis.extend(H.double())) == 3
    assert torch.allclose(basis.rows @ basis.rows.T, torch.eye(3, dtype=torch.float64), atol=1e-14)


def test_queries_that_differ_by_ever_less_do_not_spoil_the_basis():
    """Differences down to rounding error, in batches, until little of the space is left: what a
    converging search asks.
    """
    W = GaussianMatrix(63, 63, seed=0)
    h, first = randn(1, 63), W.apply(randn(1, 63))
    for step in range(60):
        H = h * (1 + 1e-9) + 10.0 ** -(step % 17) * randn(3, 63, seed=step % 11)
        W.apply_transposed(torch.relu(W.apply(H)))
        for basis in (W._right.basis.rows, W._left.basis.rows):
            assert (
                basis @ basis.T - torch.eye(len(basis), dtype=torch.float64)
            ).abs().max() < 1e-13
    assert torch.allclose(W.apply(randn(1, 63)), first, atol=1e-12)
    assert torch.allclose(randn(1, 63) @ W.dense().T, first, atol=1e-12)


@pytest.mark.parametrize("size", [1, 15, 17, MANY - 16, MANY, MANY + 1, MANY + 16, 3 * BLOCK + 32])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_normals_are_those_of_torch(size, dtype):
    """The same generator gives the same numbers, to a few units in the last place, and goes on
    where torch would.
    """
    ours, theirs = (torch.Generator().manual_seed(11) for _ in range(2))
    for _ in range(2):
        found = fill_normal(torch.empty(2, size, dtype=dtype)[:1], 0.3, ours)
        expected = 0.3 * torch.randn(1, size, dtype=dtype, generator=theirs)
        torch.testing.assert_close(found, expected, rtol=0, atol=2e-15 if size >= MANY else 1e-7)
        assert torch.equal(ours.get_state(), theirs.get_state())


def test_one_vector_at_a_time_gives_the_basis_of_a_batch():
    """Coordinates are those of the vector, and the rows those of QR, up to rounding: new vectors,
    repeated ones, nearly parallel ones, 0, and more of them than dimensions.
    """
    H = randn(12, 8)
    H[3], H[5], H[7] = 2 * H[1] - H[0], 0, H[2] + 1e-9 * H[6]
    one, many = (Basis(8, dtype=torch.float64, device=torch.device("cpu")) for _ in range(2))
    many.extend(H)
    for h in H:
        c = one.coordinates(h[None])
        torch.testing.assert_close(c @ one.rows, h[None], rtol=1e-13, atol=1e-13)
    assert len(one) == len(many) == 8
    torch.testing.assert_close(one.rows @ one.rows.T, torch.eye(8, dtype=torch.float64))
    torch.testing.assert_close((one.rows @ many.rows.T).abs(), torch.eye(8, dtype=torch.float64))


@pytest.mark.parametrize(("side", "count"), [("right", 4), ("left", 6)])
def test_it_notices_that_it_has_seen_the_whole_matrix(side, count):
    W = GaussianMatrix(6, 4, seed=0)
    ask = {"right": W.apply, "left": W.apply_transposed}[side]
    ask(randn(count - 1, count))
    assert not W.revealed
    ask(randn(10, count, seed=9))
    assert W.revealed
    stored = W.nbytes
    W.apply(randn(20, 4, seed=1)), W.apply_transposed(randn(20, 6, seed=2))
    assert W.nbytes == stored, "a revealed matrix must store nothing more"


def test_same_seed_and_queries_same_answers_and_another_seed_differs():
    H = randn(3, 8)
    answers = [GaussianMatrix(5, 8, seed=seed).apply(H) for seed in (4, 4, 5)]
    assert torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float64, 1e-13), (torch.float32, 2e-5)])
def test_orthogonal_over_thousands_of_nearly_parallel_queries(dtype, limit):
    W = GaussianMatrix(2600, 2400, seed=0, dtype=dtype)
    W.reserve(forward=2100)
    centre = randn(1, 2400, dtype=dtype)
    for step in range(70):
        W.apply(centre + 1e-3 * randn(30, 2400, seed=step, dtype=dtype))
    Q, _ = W.known()
    assert len(Q) == 2100
    assert (Q @ Q.T - torch.eye(len(Q), dtype=dtype)).abs().max() < limit


def test_entries_are_independent_gaussians_whatever_the_queries():
    """n = 300 matrices of 12×10 asked adaptively; all entries: Kolmogorov–Smirnov, and every
    pairwise correlation.
    """
    flat = []
    for seed in range(300):
        W = GaussianMatrix(12, 10, scale=2.0, seed=seed)
        h = randn(10, seed=1)
        for _ in range(3):
            u = W.apply(h)
            h = W.apply_transposed(torch.relu(u))  # the next question depends on the last answer
        flat.append(W.dense().flatten() / 2.0)
    entries = torch.stack(flat)
    assert stats.kstest(entries.flatten().numpy(), "norm").pvalue > ALPHA
    correlation = torch.corrcoef(entries.T) - torch.eye(120, dtype=torch.float64)
    # 7,140 correlations of 300 pairs each; Bonferroni at α with sd 1/√300.
    assert correlation.abs().max() < stats.norm.isf(ALPHA / 2 / 7140) / math.sqrt(300) * 1.05
    squares = (entries**2).sum(1)
    assert stats.kstest(squares.numpy(), stats.chi2(120).cdf).pvalue > ALPHA


def test_token_matrix_is_one_matrix_whatever_the_order_of_questions():
    V = TokenMatrix(k=30, n=4, d=5, scale=0.5, seed=2)
    X = randn(3, 4, 5)
    asked = [(X, V.apply(X))]
    words = []
    for i in (2, 0, 3):
        H, G = randn(2, 5, seed=i), randn(2, 30, seed=i)
        words.append((i, H, V.block(i).apply(H), G, V.block(i).apply_transposed(G)))
        Y = randn(2, 4, 5, seed=20 + i)
        asked.append((Y, V.apply(Y)))
    dense = V.dense()
    for Y, answer in asked:
        assert torch.allclose(Y.flatten(-2) @ dense.T, answer, atol=1e-12)
    for i, H, right, G, left in words:
        block = dense[:, 5 * i : 5 * i + 5]
        assert torch.allclose(H @ block.T, right, atol=1e-12)
        assert torch.allclose(G @ block, left, atol=1e-12)


def test_token_matrix_when_a_word_was_the_only_thing_that_differed():
    """Two texts that differ in word 1 alone: the split must see that the rest was asked in one
    direction only.
    """
    V = TokenMatrix(k=20, n=3, d=4, seed=5)
    X = ws.Sample.gaussian(3, 4, 0)
    moved = X.replaced(1, [1.0, 0.0, -1.0, 0.5])
    z = V.apply(torch.stack([X.X, moved.X]))
    step = V.block(1).apply(moved.X[1] - X.X[1])
    assert torch.allclose(z[1] - z[0], step, atol=1e-12)
    assert torch.allclose(V.dense() @ moved.X.flatten(), z[1], atol=1e-12)


@pytest.mark.slow
def test_split_words_have_gaussian_entries():
    """400 matrices, each asked for two texts and then word 1: entries of V_1 and their independence
    from z's residual.
    """
    X = randn(2, 3, 2)
    blocks = []
    for seed in range(400):
        V = TokenMatrix(k=6, n=3, d=2, seed=seed)
        V.apply(X)
        V.block(1).apply_transposed(randn(6, seed=1))
        blocks.append(V.dense().flatten())
    entries = torch.stack(blocks)
    assert stats.kstest(entries.flatten().numpy(), "norm").pvalue > ALPHA
    correlation = torch.corrcoef(entries.T) - torch.eye(36, dtype=torch.float64)
    assert correlation.abs().max() < stats.norm.isf(ALPHA / 2 / 630) / math.sqrt(400) * 1.05


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianMatrix(0, 3), "rows ≥ 1"),
        (lambda: GaussianMatrix(2, 3, scale=float("nan")), "scale ≥ 0, a finite number"),
        (lambda: GaussianMatrix(2, 3, dtype=torch.float16), "float32 or float64"),
        (lambda: GaussianMatrix(2, 3).apply(torch.zeros(2)), "vectors of length 3"),
        (lambda: GaussianMatrix(2, 3).apply_transposed(torch.zeros(3)), "vectors of length 2"),
        (lambda: TokenMatrix(2, 3, 4).apply(torch.zeros(4, 3)), r"\(…, 3, 4\)"),
        (lambda: TokenMatrix(2, 3, 4).block(3), "between 0 and 2"),
    ],
)
def test_bad_questions_are_refused(make, message):
    with pytest.raises(ws.InputError, match=message):
        make()
