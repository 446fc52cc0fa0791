"""The price of fourth powers: above what any direction spends, and worth it where n > d."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.certificates import dual, one_matrix
from wordsway.maps.attention.certificates.problem import quartic_price


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def spent(A: torch.Tensor, seed: int) -> float:
    """Σ_j (A_j·u)⁴ at random unit vectors and after power steps u ← Σ_j (A_j·u)³A_j."""
    u = torch.cat([random(400, A.shape[1], seed=seed), A])
    for _ in range(60):
        u = u / u.norm(dim=1, keepdim=True).clamp_min(1e-300)
        u = (u @ A.T) ** 3 @ A
    u = u / u.norm(dim=1, keepdim=True).clamp_min(1e-300)
    return float(((u @ A.T) ** 4).sum(1).max())


@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 2), (5, 3), (60, 4), (40, 40), (200, 10)])
def test_no_direction_exceeds_the_quartic_price(n: int, d: int) -> None:
    for seed in range(6):
        A = random(n, d, seed=seed) * (1 + 3 * random(n, 1, seed=seed + 50).abs())
        if n > 4:
            A[1] = A[0]
        if seed == 5:
            A = A + 5  # one direction that all rows share
        price = quartic_price(A)
        assert spent(A, seed) <= price * (1 + 1e-9)
        squares = float(torch.linalg.matrix_norm(A, 2)) ** 2 * float((A * A).sum(1).max())
        assert price <= 3 * squares + 1e-9, "never absurd: Σ a⁴ ≤ max a² Σ a²"


def test_scales_and_degenerate_rows() -> None:
    A = random(30, 5, seed=0)
    assert quartic_price(10 * A) == pytest.approx(1e4 * quartic_price(A), rel=1e-6)
    assert quartic_price(torch.zeros(4, 3, dtype=torch.float64)) == math.inf
    same = torch.ones(7, 1, dtype=torch.float64)
    assert quartic_price(same) == pytest.approx(7.0, rel=0.05)


def test_narrow_cells_lower_the_bound_and_never_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for splits in (0, dual.FINE_SPLITS):
        monkeypatch.setattr(dual, "FINE_SPLITS", splits)
        views = [ws.RAF(8, seed).view(ws.Sample.gaussian(64, 8, seed)) for seed in range(3)]
        found.append(torch.cat([view.certify([0], math.sqrt(8)).upper for view in views]))
    wide, narrow = found
    assert (narrow <= wide).all()
    assert float((narrow / wide).min()) < 0.99
    tried = random(2000, 8, seed=1)
    tried = math.sqrt(8) * tried / tried.norm(dim=1, keepdim=True)
    for view, upper in zip(views, narrow.tolist(), strict=True):
        reached = view.value(torch.zeros(2000, dtype=torch.long), tried).max().sqrt()
        assert float(reached) <= upper


@pytest.mark.slow
def test_fourth_powers_tighten_the_certificate_where_rows_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, phi = ws.Sample.gaussian(640, 64, 0), ws.RAF(64, 1)
    view, radius = phi.view(X), 8.0
    with_both = view.certify([0, 5], radius).upper
    monkeypatch.setattr(one_matrix, "QUARTIC_FROM", math.inf)
    squares = view.certify([0, 5], radius).upper
    assert (with_both <= squares).all()
    assert float((with_both / squares).min()) < 0.985
    tried = random(3000, 64, seed=1)
    tried = radius * tried / tried.norm(dim=1, keepdim=True)
    for at, row in enumerate((0, 5)):
        crowd = torch.rand(1000, 640, generator=torch.Generator().manual_seed(row)).double()
        drawn = crowd**8 @ view.layer.keys
        both = torch.cat([tried, radius * drawn / drawn.norm(dim=1, keepdim=True)])
        reached = view.value(torch.full((4000,), row), both).sqrt().max()
        assert float(reached) <= float(with_both[at])


@pytest.mark.slow
def test_tiny_texts_of_many_rows_stay_below_the_certificate() -> None:
    """n = 6, d = 2, 12 draws against a fine circle and disc of Δ."""
    angle = torch.linspace(0, 2 * math.pi, 1441, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    points = torch.cat([size * circle for size in (0.25, 0.5, 0.75, 0.9, 1 - 1e-12)])
    for seed in range(12):
        phi = ws.RAF(weight=(0.7, 2.0, 6.0)[seed % 3] * random(2, 2, seed=seed))
        view, radius = phi.view(ws.Sample.gaussian(6, 2, seed)), (math.sqrt(2), 3.0)[seed % 2]
        reached = view.value(torch.zeros(len(points), dtype=torch.long), radius * points)
        assert float(reached.max().sqrt()) <= float(view.certify([0], radius).upper[0])
