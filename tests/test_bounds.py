"""A comparison of bounds: what the benchmark compares is what its page says."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from benchmarks.bounds import ball_lipschitz, distance_lipschitz, distribution_lipschitz
from benchmarks.lirpa import MovedWord


def test_the_rewritten_layer_is_attention() -> None:
    X, phi = ws.Sample.gaussian(5, 4, 0), ws.RAF(4, 1)
    for i in (0, 2, 4):
        x = X.X[i] + torch.arange(4) / 3
        expected = phi(X.replaced(i, x - X.X[i]))
        others = torch.cat([expected[:i], expected[i + 1 :], expected[i : i + 1]])
        found = MovedWord(X.X, phi.weight, i)(x[None])
        assert torch.allclose(found.reshape(5, 4), others, atol=1e-12)


def test_no_jacobian_exceeds_the_lipschitz_bounds() -> None:
    """Steep and flat weights; the Jacobian in all rows at once, at places inside the ball."""
    for seed in range(12):
        scale = (0.3, 1.0, 4.0)[seed % 3]
        W, X = scale * ws.RAF(3, seed).weight, ws.Sample.gaussian(4, 3, seed).X
        soft = ws.RAF(weight=W)
        values = {"Q": W, "V": W @ W.T / math.sqrt(3), "O": torch.eye(3, dtype=W.dtype)}
        far = ws.Attention(weights=values, heads=1, scores="l2")
        for phi, bound in (
            (soft, ball_lipschitz(X, W, 1.0)),  # a move of length one
            (far, distance_lipschitz(4, 3, W)),
        ):
            jacobian = torch.autograd.functional.jacobian(
                lambda Y, phi=phi: phi.features(Y[None], Y.dtype).flatten(), X
            )
            assert float(torch.linalg.matrix_norm(jacobian.flatten(1), 2)) <= bound


@pytest.mark.slow
def test_the_bound_by_the_distribution_holds_and_its_norm_of_softmax() -> None:
    noise = torch.Generator().manual_seed(0)
    for n in range(2, 9):
        p = torch.softmax(3 * torch.randn(200, n, generator=noise).double(), 1)
        jacobians = torch.diag_embed(p) - p[:, :, None] * p[:, None]
        first, second = p.topk(2, dim=1).values.unbind(1)
        norms = torch.linalg.matrix_norm(jacobians, 2)
        assert bool((norms <= first * (1 - first + second) * (1 + 1e-9) + 1e-15).all())
    for seed in range(12):
        W, X = (0.3, 1.0, 4.0)[seed % 3] * ws.RAF(3, seed).weight, ws.Sample.gaussian(4, 3, seed)
        phi = ws.RAF(weight=W)
        s = ws.sensitivity(phi, X, positions=1, radius=0.2, certificate=False)
        layer = phi.view(X).layer
        assert s.lower * layer.norm <= distribution_lipschitz(layer, 1, 0.2)
