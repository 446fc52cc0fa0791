"""The bound for small moves of softmax attention: never exceeded, and the best constant at 0."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.certificates.small_moves import small_move_bound
from wordsway.maps.attention.one_matrix.layer import Layer


def map_of(seed: int, noise: torch.Generator) -> tuple[ws.Attention, ws.Sample]:
    n, d = (int(size) for size in torch.randint(1, 6, (2,), generator=noise))
    W = 4 * float(torch.rand(1, generator=noise)) * torch.randn(d, d, generator=noise).double()
    return ws.Attention(weight=W, mask=("none", "causal")[seed % 2]), ws.Sample.gaussian(n, d, seed)


def test_no_random_move_exceeds_the_bound() -> None:
    for seed in range(60):
        noise = torch.Generator().manual_seed(seed)
        phi, X = map_of(seed, noise)
        radius, i = float(torch.rand(1, generator=noise)) * math.sqrt(X.d), seed % X.n
        moves = torch.nn.functional.normalize(torch.randn(2000, X.d, generator=noise).double())
        moves *= radius * torch.rand(2000, 1, generator=noise).double() ** 0.3
        texts = X.X.repeat(2000, 1, 1)
        texts[:, i] += moves
        before = phi.exact(X)
        largest = float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())
        layer = phi.view(X).layer
        assert isinstance(layer, Layer) and largest <= small_move_bound(layer, i, radius)


@pytest.mark.parametrize("temperature", [1e-4, 1e-3, 3e-3, 1e-2])
def test_shares_that_underflow_have_no_bound(temperature: float) -> None:
    """At temperature 1e-3 a share of 0 in float64 can become 1 under a small Δ."""
    bounded = 0
    for seed in range(40):
        phi = ws.Attention(d=8, seed=100 + seed, temperature=temperature)
        X, radius, i = ws.Sample.gaussian(n=6, d=8, seed=seed), 10 * temperature, seed % 6
        layer = phi.view(X).layer
        assert isinstance(layer, Layer)
        bound = small_move_bound(layer, i, radius)
        noise = torch.Generator().manual_seed(seed)
        moves = torch.nn.functional.normalize(torch.randn(500, 8, generator=noise).double())
        texts = X.X.repeat(500, 1, 1)
        texts[:, i] += radius * moves
        before = phi.exact(X)
        largest = float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())
        assert largest <= bound
        bounded += math.isfinite(bound)
    assert (bounded > 0) == (temperature >= 3e-3)
    phi, X = ws.Attention(d=8, seed=105, temperature=1e-3), ws.Sample.gaussian(n=6, d=8, seed=5)
    s = ws.sensitivity(phi, X, positions=2, radius=1.0)
    assert s.upper is not None and s.lower <= s.upper


def test_the_slope_at_zero_is_the_norm_of_the_jacobian() -> None:
    for seed in range(20):
        phi, X = ws.RAF(4, seed), ws.Sample.gaussian(5, 4, seed)
        jacobian = torch.autograd.functional.jacobian(
            lambda x, phi=phi, X=X: phi.features(
                torch.cat([x[None], X.X[1:]])[None], torch.float64
            ).flatten(),
            X.X[0],
        )
        steep = float(torch.linalg.matrix_norm(jacobian, 2)) / float(phi.exact(X).norm())
        assert small_move_bound(phi.view(X).layer, 0, 1e-5) / 1e-5 == pytest.approx(steep, rel=1e-3)


def test_it_is_the_certificate_where_it_is_smaller() -> None:
    phi, X = ws.RAF(16, 11), ws.Sample.gaussian(4, 16, 10)
    s = ws.sensitivity(phi, X, positions=0, radius=0.04)
    assert s.upper is not None and s.lower <= s.upper < 1.2 * s.lower


def test_hot_attention_is_bounded_closely_at_the_full_radius() -> None:
    """Scores hardly move at high temperatures, however large the ball is."""
    for n, d, temperature in [(15, 64, 1000.0), (60, 64, 200.0), (4, 6, 50.0)]:
        phi = ws.Attention(d=d, seed=1, temperature=temperature)
        s = ws.sensitivity(phi, ws.Sample.gaussian(n, d, 0), positions=0)
        assert s.upper is not None and s.lower <= s.upper < 1.1 * s.lower


def test_steep_scores_have_no_bound() -> None:
    layer = ws.RAF(64, 0).view(ws.Sample.gaussian(8, 64, 0)).layer
    assert math.isfinite(small_move_bound(layer, 0, 1.0))
    assert small_move_bound(layer, 0, 1e3) == math.inf
