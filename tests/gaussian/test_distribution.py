"""Drawn on demand equals dense, in distribution: two-sample tests on S after an adaptive search.

1,200 draws each, four steps uphill: every question depends on the answers before, forwards and
backwards, so that a draw that forgot one of them would show. Kolmogorov–Smirnov and the mean, at
α = 1e-3 for each of the four tests: a correct implementation with fresh seeds would fail this file
with probability below 4e-3. Seeds are fixed, so it cannot flake.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import pytest
import torch
from scipy import stats

import wordsway as ws
from wordsway.core.vectors import unit

DRAWS, ALPHA, STEPS = 1200, 1e-3, 4
N, D, K = 4, 3, 40
X = ws.Sample.gaussian(N, D, 0)
ROW = torch.tensor([1])


def attained(maps: Iterable[ws.FeatureMap]) -> list[float]:
    """S of each map after some steps uphill on the sphere, from the same Δ."""
    found = []
    for phi in maps:
        view = phi.view(X)
        delta = torch.ones(1, D, dtype=torch.float64)
        for _ in range(STEPS):
            _, gradient = view.value_and_gradient(ROW, delta)
            delta = math.sqrt(D) * unit(gradient)
        found.append(math.sqrt(float(view.value(ROW, delta))))
    return found


def draws(depth: int, draw: str, first_seed: int) -> Iterator[ws.RF | ws.DRF]:
    for seed in range(first_seed, first_seed + DRAWS):
        yield (
            ws.RF(N, D, K, seed, draw=draw)
            if depth == 1
            else ws.DRF(N, D, depth, K, seed, draw=draw)
        )


@pytest.fixture(scope="module")
def shallow() -> list[float]:
    """S of dense random features."""
    return attained(draws(1, "dense", 0))


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 3])
def test_sensitivity_has_the_same_distribution(depth: int, shallow: list[float]) -> None:
    dense = shallow if depth == 1 else attained(draws(depth, "dense", 0))
    drawn = attained(draws(depth, "on-demand", 10_000))
    assert len(dense) == len(drawn) == DRAWS
    assert stats.ks_2samp(dense, drawn).pvalue > ALPHA
    assert stats.ttest_ind(dense, drawn, equal_var=False).pvalue > ALPHA


@pytest.mark.slow
def test_the_comparison_would_notice_a_wrong_variance(shallow: list[float]) -> None:
    """The same test rejects features whose weights for the searched row are 10 % too large: it can
    fail.
    """

    def inflated() -> Iterator[ws.RF]:
        for phi in draws(1, "dense", 20_000):
            V = phi.first.dense().clone()
            V[:, D : 2 * D] *= 1.1
            yield ws.RF(weight=V, n=N)

    assert stats.ks_2samp(shallow, attained(inflated())).pvalue < ALPHA
