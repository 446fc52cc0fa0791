"""Weights of other laws: their moments and structure, and maps made of them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway.gaussian.laws import LAWS, draw_by_law


@pytest.mark.parametrize("law", LAWS)
def test_entries_have_mean_0_and_variance_1(law: str) -> None:
    W = torch.stack([draw_by_law(law, 24, 40, seed) for seed in range(60)])
    assert abs(float(W.mean())) < 0.02
    assert float(W.var()) == pytest.approx(1, abs=0.15)  # t has no fourth moment
    assert torch.equal(W[3], draw_by_law(law, 24, 40, 3))
    assert not torch.equal(W[3], draw_by_law(law, 24, 40, 3, "other"))


def test_structure() -> None:
    for shape in ((6, 9), (9, 6), (5, 5)):
        W = draw_by_law("orthogonal", *shape, 0) / math.sqrt(max(shape))
        few = W @ W.T if shape[0] <= shape[1] else W.T @ W
        assert torch.allclose(few, torch.eye(min(shape)).double(), atol=1e-12)
    assert torch.linalg.matrix_rank(draw_by_law("low-rank", 32, 24, 0)) == 3
    assert float((draw_by_law("sparse", 100, 100, 0) == 0).double().mean()) == pytest.approx(
        0.9, abs=0.02
    )


MAPS = ("rf", "drf", "raf", "relu-raf", "attention")


@pytest.mark.parametrize(
    ("law", "name"),
    [(law, MAPS[(at + turn) % 5]) for at, law in enumerate(LAWS[1:]) for turn in (0, 2)],
)
def test_maps_are_certified_given_what_was_drawn(law: str, name: str) -> None:
    found = ws.measure(name, n=4, d=6, weights=law)
    for trial in found:
        assert trial.certificate == "float64" and trial.upper is not None
        assert trial.lower <= trial.upper
    assert found.to_dict()["weights"] == law


def test_a_law_of_your_own_is_a_function_of_the_seed() -> None:
    def ones(rows: int, cols: int, seed: int) -> torch.Tensor:
        return torch.full((rows, cols), float(seed % 7 + 1)).double()

    first, second = (ws.RAF(d=4, seed=seed, law=ones) for seed in (0, 0))
    assert torch.equal(first.weight, second.weight)
    assert float(first.weight.std()) == 0
    assert first.describe()["law"] == "ones"
    phi = ws.RF(n=3, d=2, k=5, seed=1, law=ones, activation="tanh")
    s = ws.sensitivity(phi, ws.Sample.gaussian(n=3, d=2, seed=0))
    assert s.certificate == "float64"


def test_wrong_laws_are_refused() -> None:
    wrong: list[Any] = ["cauchy", 3, lambda rows, cols, seed: torch.zeros(rows, cols + 1)]
    for law in wrong:
        with pytest.raises(ws.InputError):
            ws.RAF(d=4, law=law)
        with pytest.raises(ws.InputError):
            ws.RF(n=2, d=4, law=law)
    with pytest.raises(ws.InputError, match="dense"):
        ws.RF(n=100, d=100, law="rademacher")
    with pytest.raises(ws.InputError):
        ws.measure("rf", n=4, d=6, activation="softplus")


def test_the_default_is_the_paper_s_law() -> None:
    assert torch.equal(ws.RAF(d=4, seed=3).weight, ws.RAF(d=4, seed=3, law="gaussian").weight)
    assert "law" not in ws.RAF(d=4).describe()
    assert "weights" not in ws.measure("rf", n=3, d=2).to_dict()
