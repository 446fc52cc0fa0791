"""Attention with enormous scores: no NaN, no false alarm, and nothing that brute force beats."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.family import LARGE_SCORE, SigmoidRAF

RADIUS = math.sqrt(3)


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def saturated(make: Any, scale: float, seed: int) -> tuple[Any, ws.Sample]:
    return make(weight=scale * random(3, 3, seed=seed)), ws.Sample.gaussian(3, 3, seed)


def brute_force(phi: ws.FeatureMap, X: ws.Sample, row: int, seed: int) -> float:
    """The definition at 4,000 random Δ, then at ever smaller moves from the ten best."""
    noise = torch.Generator().manual_seed(seed)
    before = phi.exact(X)

    def change(points: torch.Tensor) -> torch.Tensor:
        texts = X.X.repeat(len(points), 1, 1)
        texts[:, row] += points
        return (phi.exact(texts) - before).flatten(1).norm(dim=1) / before.norm()

    def inside(points: torch.Tensor) -> torch.Tensor:
        size = points.norm(dim=-1, keepdim=True)
        return torch.where(size > RADIUS, points * (RADIUS * (1 - 1e-15) / size), points)

    points = inside(2 * torch.randn(4000, 3, dtype=torch.float64, generator=noise))
    best = change(points)
    for _ in range(25):
        best, place = best.topk(10)
        points = points[place]
        shape = (10, 100)
        scale = 10 ** (-8 * torch.rand(*shape, 1, dtype=torch.float64, generator=noise))
        moves = scale * torch.randn(*shape, 3, dtype=torch.float64, generator=noise)
        points = torch.cat([points, inside(points[:, None] + RADIUS * moves).flatten(0, 1)])
        best = change(points)
    return float(best.max())


@pytest.mark.slow
@pytest.mark.parametrize("make", [ws.RAF, ws.ReluRAF, SigmoidRAF])
@pytest.mark.parametrize("scale", [1e2, 1e4])
def test_brute_force_stays_in_the_interval(make: Any, scale: float) -> None:
    slack = 1.05 if make is SigmoidRAF else 1.01  # its shares become steps, at edges of measure 0
    checked = 0
    for seed in (0, 1, 3, 45, 46):
        phi, X = saturated(make, scale, seed)
        if not float(phi(X).norm()) > 0:
            continue
        found = ws.sensitivity(phi, X, positions=0, seed=seed)
        assert math.isfinite(found.lower)
        assert found.upper is not None
        best = brute_force(phi, X, 0, seed)
        assert best <= slack * found.lower, (scale, seed)
        assert best <= found.upper * (1 + 1e-9), (scale, seed)
        checked += 1
    assert checked >= 3


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e3, 1e4])
def test_saturated_maps_raise_nothing(scale: float) -> None:
    plan = ws.Plan(starts=12, rounds=1, scatter=False)
    for seed in range(20):
        phi, X = saturated(ws.RAF, scale, seed)
        found = ws.sensitivity(phi, X, positions=0, seed=seed, plan=plan)
        assert found.lower <= found.upper < math.inf


def test_large_scores_are_searched_in_double_precision() -> None:
    usual, X = ws.RAF(3, 0), ws.Sample.gaussian(3, 3, 0)
    assert usual.search_view(X).X.dtype == torch.float32
    for scale in (100.0, 1e30):
        phi, X = saturated(ws.RAF, scale, 0)
        view = phi.search_view(X)
        assert view.X.dtype == torch.float64
        assert float(view.layer.s.abs().max()) > LARGE_SCORE


@pytest.mark.parametrize("make", [ws.RAF, ws.ReluRAF, SigmoidRAF])
def test_views_and_gradients_of_saturated_rows_are_finite_and_right(make: Any) -> None:
    for seed in range(20):
        phi, X = saturated(make, 1e4, seed)
        if not float(phi(X).norm()) > 0:
            continue
        rows, delta = torch.arange(30) % 3, 0.8 * random(30, 3, seed=seed + 100)
        value, gradient = phi.view(X).value_and_gradient(rows, delta)
        assert bool(gradient.isfinite().all())
        before = phi.exact(X)
        for point, row in enumerate(rows.tolist()):
            change = phi.exact(X.replaced(row, delta[point])) - before
            expected = float(change.norm() / before.norm())
            assert float(value[point]) ** 0.5 == pytest.approx(expected, rel=1e-7, abs=1e-9)
