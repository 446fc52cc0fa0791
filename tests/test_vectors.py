"""Vectors in balls: a witness is inside by whatever formula one asks; checked radii and seeds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.core.errors import InputError
from wordsway.core.seeds import check_seed
from wordsway.core.vectors import exactly_inside, gram, into_ball, unit

F64 = torch.float64


@pytest.mark.parametrize("d", [1, 2, 3, 7, 16, 100, 768])
@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_exactly_inside_by_every_formula(d: int, dtype: torch.dtype):
    noise = torch.Generator().manual_seed(d)
    for radius in (math.sqrt(d), 1.0, 1 / 3, 1e-9, 1e9):
        for length in (1.0, 1 + 1e-7, 3.0):
            raw = torch.randn(d, generator=noise, dtype=dtype)
            delta = exactly_inside(length * radius * unit(raw), radius)
            array = delta.numpy()
            norms = {
                "torch.norm": float(delta.norm()),
                "torch, a batch": float(delta[None].norm(dim=1)[0]),
                "torch, squares": float((delta * delta).sum().sqrt()),
                "vector_norm": float(torch.linalg.vector_norm(delta)),
                "numpy": float(np.linalg.norm(array)),
                "numpy, squares": math.sqrt(float(np.square(array).sum())),
                "fsum": math.sqrt(math.fsum(x * x for x in array.tolist())),
                "hypot": math.hypot(*array.tolist()),
                "dist": math.dist(array.tolist(), [0.0] * d),
            }
            too_long = {name: norm for name, norm in norms.items() if norm > radius}
            assert not too_long, (radius, length)
            assert norms["fsum"] >= radius * (1 - (1e-6 if dtype == torch.float32 else 1e-14))


def test_what_is_inside_already_is_left_alone():
    delta = torch.tensor([0.3, 0.4], dtype=F64)
    assert torch.equal(exactly_inside(delta, 1.0), delta)
    assert torch.equal(exactly_inside(torch.zeros(3), 1.0), torch.zeros(3, dtype=F64))


def test_radii_may_differ_along_a_batch():
    x = torch.tensor([[3.0, 4.0], [3.0, 4.0], [0.0, 0.0]], dtype=F64)
    radius = torch.tensor([[1.0], [10.0], [1.0]], dtype=F64)
    torch.testing.assert_close(
        into_ball(x, radius).norm(dim=1), torch.tensor([1.0, 5, 0], dtype=F64)
    )


def test_seeds_are_whole_numbers():
    assert check_seed(np.int64(3)) == 3 and check_seed(-1) == -1
    for wrong in (1.5, 1.0, "1", None, True, math.nan, torch.tensor(1.5)):
        with pytest.raises(InputError, match=r"seed (to be|that is) a whole number"):
            check_seed(wrong)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: ws.RAF(4, seed),
        lambda seed: ws.ReluRAF(4, seed),
        lambda seed: ws.Attention(4, seed),
        lambda seed: ws.RF(3, 4, seed=seed),
        lambda seed: ws.DRF(3, 4, seed=seed),
        lambda seed: ws.Sample.gaussian(3, 4, seed),
        lambda seed: ws.draw(ws.corpus(["a", "b"]), 1, seed),
    ],
)
def test_nothing_takes_a_broken_seed_for_a_whole_one(draw: Any):
    """Maps took 1.5 for 1."""
    for wrong in (1.5, None, True):
        with pytest.raises(InputError, match=r"seed (to be|that is) a whole number"):
            draw(wrong)
    draw(np.int64(1))


def test_gram_is_the_product():
    rows = torch.randn(600, 5, dtype=F64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(gram(rows), rows @ rows.T)
