from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import wordsway as ws


def test_rows_have_norm_root_d_and_keep_their_direction():
    raw = torch.tensor([[3.0, 4.0], [-1e-200, 0.0], [1e200, 1e200]], dtype=torch.float64)
    X = ws.Sample(raw)
    assert torch.allclose(
        X.X.norm(dim=1), torch.full((3,), math.sqrt(2), dtype=torch.float64), rtol=1e-14
    )
    assert torch.allclose(X.X[0] / X.X[0].norm(), torch.tensor([0.6, 0.8], dtype=torch.float64))
    assert X.X[1, 0] < 0
    assert X.X[2, 0] == X.X[2, 1]


def test_accepts_numpy_lists_and_tensors_alike():
    rows = [[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]]
    samples = [
        ws.Sample(rows),
        ws.Sample(np.array(rows)),
        ws.Sample(torch.tensor(rows)),
        ws.Sample(np.array(rows, dtype=np.float32)),
    ]
    for other in samples[1:]:
        assert torch.allclose(samples[0].X, other.X)
    assert np.asarray(samples[0]).shape == (2, 3)


def test_python_numbers_keep_all_their_digits():
    X = ws.Sample([[0.1, 0.2]], rescale=False)
    assert X.X.tolist() == [[0.1, 0.2]]
    assert X.replaced(0, [0.1, 0.7]).X[0, 0] == 0.1 + 0.1


def test_gaussian_is_reproducible_and_depends_on_the_seed():
    assert torch.equal(ws.Sample.gaussian(4, 3, 7).X, ws.Sample.gaussian(4, 3, 7).X)
    assert not torch.equal(ws.Sample.gaussian(4, 3, 7).X, ws.Sample.gaussian(4, 3, 8).X)


def test_replaced_moves_one_row_and_nothing_else():
    X = ws.Sample.gaussian(4, 3, 0)
    delta = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    Y = X.replaced(2, delta)
    assert torch.equal(Y.X[2], X.X[2] + delta)
    others = [0, 1, 3]
    assert torch.equal(Y.X[others], X.X[others])
    assert torch.equal(X.X, ws.Sample.gaussian(4, 3, 0).X), "the original must not change"


def test_a_sample_does_not_share_memory_with_its_input():
    array = np.ones((2, 2))
    X = ws.Sample(array, rescale=False)
    array[0, 0] = 5
    assert X.X[0, 0] == 1


def test_repeated_words_stay_distinct():
    X = ws.Sample(torch.randn(3, 4), words=["very", "very", "good"])
    assert X.word(0) == X.word(1) == "very"
    assert X.word(2) == "good"


@pytest.mark.parametrize(
    ("array", "words", "message"),
    [
        ([1.0, 2.0], None, r"rank 2.*shape \(2,\)"),
        (torch.zeros(2, 3, 4), None, r"rank 2.*shape \(2, 3, 4\)"),
        ([[1.0, float("nan")]], None, r"finite numbers.*nan at row 0, column 1"),
        ([[1.0, float("inf")]], None, r"finite numbers.*inf"),
        ([[1.0, 2.0], [0.0, 0.0]], None, r"zero row at position 1.*rescale=False"),
        (torch.zeros(0, 3), None, r"n ≥ 1 and d ≥ 1.*\(0, 3\)"),
        (torch.zeros(3, 0), None, r"n ≥ 1 and d ≥ 1.*\(3, 0\)"),
        ([[1.0, 2.0]], ["two", "words"], r"1 words, one per row, got 2 words"),
        ([[1.0, 2.0]], "word", r"a list of strings"),
        ("text", None, r"numbers, got str"),
        ([["a", "b"]], None, r"numbers, got list"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(array, words, message):
    with pytest.raises(ws.InputError, match=message):
        ws.Sample(array, words)


@pytest.mark.parametrize(("n", "d"), [(0, 3), (3, 0), (-1, 2), (2.5, 3), (True, 3)])
def test_gaussian_refuses_bad_sizes(n, d):
    with pytest.raises(ws.InputError, match="whole number"):
        ws.Sample.gaussian(n, d)


@pytest.mark.parametrize(
    ("i", "delta"),
    [
        (3, [0.0, 0.0]),
        (-1, [0.0, 0.0]),
        (0, [0.0]),
        (0, [float("nan"), 0.0]),
        (True, [0.0, 0.0]),
        ("0", [0.0, 0.0]),
    ],
)
def test_replaced_refuses_bad_positions_and_deltas(i, delta):
    with pytest.raises(ws.InputError):
        ws.Sample.gaussian(3, 2, 0).replaced(i, delta)


@pytest.mark.parametrize("backward", [np.s_[::-1], np.s_[:, ::-1], np.s_[::2, ::-1]])
def test_views_with_negative_strides_are_taken(backward):
    array = np.arange(1.0, 13.0).reshape(4, 3)
    expected = torch.tensor(array[backward].tolist(), dtype=torch.float64)
    assert torch.equal(ws.Sample(array[backward], rescale=False).X, expected)
    X = ws.Sample.gaussian(2, 3, 0)
    assert torch.equal(
        X.replaced(0, np.array([1.0, 2.0, 3.0])[::-1]).X[0] - X.X[0] > 0,
        torch.ones(3, dtype=torch.bool),
    )


@pytest.mark.filterwarnings("error")
def test_memory_that_may_not_be_written_is_taken():
    array = np.ones((2, 2))
    array.flags.writeable = False
    assert ws.Sample(array).n == 2


@pytest.mark.parametrize(
    "array",
    [[[1j, 2.0]], np.array([[1 + 0j, 2.0]]), torch.tensor([[1j, 2.0]])],
    ids=["list", "numpy", "torch"],
)
def test_complex_numbers_are_refused(array):
    with pytest.raises(ws.InputError, match=r"expected real numbers, got complex ones"):
        ws.Sample(array)
    with pytest.raises(ws.InputError, match=r"expected real numbers, got complex ones"):
        ws.Sample.gaussian(1, 2, 0).replaced(0, array[0])


def test_masked_numbers_are_refused_and_unmasked_ones_taken():
    """A masked entry was taken as if it counted."""
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [False, False]])
    with pytest.raises(ws.InputError, match="masked ones: fill them"):
        ws.Sample(masked)
    assert torch.equal(ws.Sample(np.ma.array([[1.0, 2.0]])).X, ws.Sample([[1.0, 2.0]]).X)


def test_sparse_tensors_are_taken_as_they_are_meant():
    X = torch.tensor([[0.0, 2.0], [3.0, 0.0]])
    assert torch.equal(ws.Sample(X.to_sparse()).X, ws.Sample(X).X)
