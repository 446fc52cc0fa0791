"""The price of all heads together, and the weights of the moves."""

from __future__ import annotations

import itertools

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.certificates.heads import HeadsCertificate, row_of
from wordsway.maps.attention.certificates.heads_gain import Together, joins, parts_of
from wordsway.maps.attention.certificates.heads_table import tuned
from wordsway.maps.attention.heads import HeadsLayer
from wordsway.maps.attention.ingredients import Projections


def gaussian(*shape: int, seed: int) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=noise, dtype=torch.float64)


def projections(d: int, heads: int, key_heads: int, seed: int, out: bool = True) -> Projections:
    m = d // heads
    Q, O = gaussian(d, d, seed=seed) / d**0.5, gaussian(d, d, seed=seed + 1) / d**0.5
    V = gaussian(d, key_heads * m, seed=seed + 2) / d**0.5
    return Projections(Q, V, V, O if out else None, heads, key_heads)


def tau(C: torch.Tensor, x: torch.Tensor) -> float:
    """The definition: the largest eigenvalue of the Gram matrix of the C_hᵀx."""
    e = torch.einsum("hab,a->hb", C, x)
    return float(torch.linalg.eigvalsh(e @ e.T)[-1])


def climbed(C: torch.Tensor, steps: torch.Tensor, mu: float, head: int) -> float:
    """‖Ax‖² + μτ(x) after u and x were improved in turn from one head."""
    u = torch.eye(len(C), dtype=C.dtype)[head]
    for _ in range(12):
        Cu = torch.einsum("h,hab->ab", u, C)
        x = torch.linalg.eigh(steps + mu * Cu @ Cu.T).eigenvectors[:, -1]
        e = torch.einsum("hab,a->hb", C, x)
        u = torch.linalg.eigh(e @ e.T).eigenvectors[:, -1]
    return float(x @ steps @ x) + mu * tau(C, x)


@pytest.mark.parametrize(
    ("d", "heads", "key_heads"), [(4, 2, 2), (8, 4, 2), (24, 4, 4), (48, 8, 8)]
)
def test_the_price_of_all_heads_is_an_upper_bound_and_nearly_attained(
    d: int, heads: int, key_heads: int
) -> None:
    for seed, mu in itertools.product((0, 10), (0.1, 1.0, 10.0)):
        weights = projections(d, heads, key_heads, seed)
        V, O = parts_of(weights)
        C, A = V @ O, gaussian(2 * d, d, seed=seed + 3) / d**0.5
        steps, together = A.T @ A, Together(weights)
        above = together.above(steps, mu)
        for x in torch.nn.functional.normalize(gaussian(200, d, seed=seed + 4)):
            assert tau(C, x) <= together.most
            assert float(x @ steps @ x) + mu * tau(C, x) <= above
        best = max(climbed(C, steps, mu, head) for head in range(heads))
        assert best <= above <= 1.25 * best
        best = max(climbed(C, 0 * steps, 1.0, head) for head in range(heads))
        assert best <= together.most <= 1.25 * best


def test_heads_side_by_side_are_carried_no_farther_than_the_one_that_is_carried_farthest() -> None:
    weights = projections(8, 2, 2, 0, out=False)
    V, _ = parts_of(weights)
    longest = max(float(torch.linalg.matrix_norm(v, 2)) ** 2 for v in V)
    assert Together(weights).most == pytest.approx(longest, rel=1e-6)


def test_heads_are_priced_together_where_the_matrix_is_small() -> None:
    assert joins(256, 8)
    assert not joins(256, 1)
    assert not joins(768, 12)


@pytest.mark.parametrize(("n", "heads"), [(8, 2), (20, 4)])
def test_tuned_weights_give_a_smaller_bound_than_those_they_start_from(n: int, heads: int) -> None:
    phi, X = ws.Attention(32, 1, heads=heads), ws.Sample.gaussian(n, 32, 2)
    layer = phi.view(X, torch.float64).layer
    assert isinstance(layer, HeadsLayer)
    certificate = HeadsCertificate(layer.setting.weights)
    r = 32**0.5
    row = row_of(layer, 0, r)
    assert certificate.together is not None
    most = r * r * certificate.together.most
    need = (3 - row.logit).clamp(1, 60)
    start = (need.mean() / need) ** 0.8
    before = certificate._weighted(row, start, r, most, 0.0).total
    after = certificate._priced(row, r, 0.0, float("inf")).total
    assert after <= before


def test_weights_are_positive_whatever_the_scale() -> None:
    keys, values = gaussian(5, 2, 6, seed=0), torch.eye(6, dtype=torch.float64)
    gained, squares = gaussian(5, 2, 9, seed=1).abs(), gaussian(5, 2, 9, seed=2).square()
    squares[..., 0] = 0
    for scale in (1e-30, 1.0, 1e30):
        start = torch.ones(5, 2, dtype=torch.float64)
        found = tuned(scale * keys, gained, squares, values, 2.0, 1.0, start)
        assert bool((found > 0).all())
        assert bool(found.isfinite().all())
