"""Drawn on demand equals dense, in distribution: two-sample tests on S itself.

600 draws each; Kolmogorov–Smirnov and the mean, at α = 1e-3 for each of the four tests: a correct
implementation with fresh seeds would fail this file with probability below 4e-3. Seeds are fixed,
so it cannot flake. The search is short, yet each of its steps asks where the last answers led.
"""

from __future__ import annotations

from functools import cache

import pytest
import torch
from scipy import stats

import wordsway as ws

DRAWS = 600
ALPHA = 1e-3
PLAN = ws.Plan(starts=2, explore=4, keep=1, steps=8, rounds=0, tolerance=1e-4, scatter=False)
N, D, K = 4, 3, 40


def attained(maps) -> list[float]:
    X = ws.Sample.gaussian(N, D, 0)
    return [
        ws.sensitivity(phi, X, positions=1, seed=0, plan=PLAN, certificate=False).lower
        for phi in maps
    ]


def draws(depth: int, draw: str, first_seed: int):
    for seed in range(first_seed, first_seed + DRAWS):
        yield (
            ws.RF(N, D, K, seed, draw=draw)
            if depth == 1
            else ws.DRF(N, D, depth, K, seed, draw=draw)
        )


@cache
def attained_by_dense(depth: int) -> list[float]:
    return attained(draws(depth, "dense", 0))


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_sensitivity_has_the_same_distribution(depth):
    dense = attained_by_dense(depth)
    drawn = attained(draws(depth, "on-demand", 10_000))
    assert len(dense) == len(drawn) == DRAWS
    assert stats.ks_2samp(dense, drawn).pvalue > ALPHA
    assert stats.ttest_ind(dense, drawn, equal_var=False).pvalue > ALPHA


@pytest.mark.slow
def test_the_comparison_would_notice_a_wrong_variance():
    """The same test rejects features whose weights for the searched word are 10 % too large: it can
    fail.
    """

    def inflated():
        for phi in draws(1, "dense", 20_000):
            V = phi.first.dense().clone()
            V[:, D : 2 * D] *= 1.1
            yield ws.RF(weight=V, n=N)

    assert stats.ks_2samp(attained_by_dense(1), attained(inflated())).pvalue < ALPHA
