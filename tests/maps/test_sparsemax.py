"""Sparsemax: its threshold, its support, and certificates that no grid exceeds."""

from __future__ import annotations

from functools import partial

import pytest
import torch

import naive_attention
import wordsway as ws
from violations import violations
from wordsway.maps.attention.scores.sparsemax import threshold


def test_weights_sum_to_one_and_are_the_nearest_point_of_the_simplex() -> None:
    noise = torch.Generator().manual_seed(0)
    for scale in (0.01, 1.0, 50.0):
        s = scale * torch.randn(40, 6, generator=noise, dtype=torch.float64)
        weights = torch.relu(s - threshold(s))
        assert torch.allclose(weights.sum(1), torch.ones(40, dtype=torch.float64), atol=1e-12)
        slow = torch.stack([naive_attention.sparsemax(row) for row in s])
        assert torch.allclose(weights, slow, atol=1e-12)


def test_hidden_keys_get_nothing() -> None:
    s = torch.tensor([[0.3, -torch.inf, 0.1], [-torch.inf, 2.0, -torch.inf]], dtype=torch.float64)
    weights = torch.relu(s - threshold(s))
    assert torch.allclose(weights, torch.tensor([[0.6, 0, 0.4], [0, 1.0, 0]]).double())


def test_some_draws_stay_below_the_certificate() -> None:
    sparse = partial(ws.Attention, scores="sparsemax")
    for wrap in (lambda phi: phi, ws.residual):
        assert violations(sparse, wrap, range(6)) == (6, [])


@pytest.mark.slow
@pytest.mark.parametrize("mask", ["none", "causal"])
def test_eighty_draws_stay_below_the_certificate(mask: str) -> None:
    sparse = partial(ws.Attention, scores="sparsemax", mask=mask)
    assert violations(sparse, lambda phi: phi, range(80)) == (80, [])


def test_heads_have_no_certificate_yet() -> None:
    phi, X = ws.Attention(4, 0, scores="sparsemax", heads=2), ws.Sample.gaussian(3, 4, 0)
    assert phi.view(X).certify([0], 1.0) is None
