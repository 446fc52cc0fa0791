"""Certificates of `ws.Attention`: tiny draws of every certified kind, none violated.

`WORDSWAY_DRAWS=200` takes 200 draws of each (four minutes).
"""

from __future__ import annotations

import math
import os
from typing import Any

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.choices import SCORES

DRAWS = int(os.environ.get("WORDSWAY_DRAWS", "24"))
#: Kinds with one matrix, and masks and positions on top of them.
KINDS: dict[str, dict[str, Any]] = {
    **{name: {"scores": name} for name, choice in SCORES.items() if choice.bounds},
    "causal": {"mask": "causal"},
    "causal-sigmoid": {"scores": "sigmoid", "mask": "causal"},
    "causal-relu": {"scores": "relu", "mask": "causal"},
    "causal-linear": {"scores": "linear/n", "mask": "causal"},
    "window-sink": {"scores": "sink", "mask": "window", "window": 2},
    "padding": {"mask": "padding", "visible": 1},
    "alibi": {"positions": "alibi"},
}


def disc(radius: float) -> torch.Tensor:
    """About 700 Δ in the plane, the circle among them."""
    angle = torch.linspace(0, 2 * math.pi, 120, dtype=torch.float64)
    circle = torch.stack([angle.cos(), angle.sin()], 1)
    sizes = torch.tensor([1.0, 0.9, 0.7, 0.5, 0.3, 0.1], dtype=torch.float64)
    return radius * (1 - 1e-12) * (sizes[:, None, None] * circle).flatten(0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_delta_of_a_grid_exceeds_the_certificate(kind: str) -> None:
    """n = 4, d = 2: small and large weights, correlated texts, three radii, every row in turn."""
    checked = 0
    for seed in range(DRAWS):
        noise = torch.Generator().manual_seed(seed)
        usual = ws.Attention(2, seed, **KINDS[kind])
        scale = (0.3, 1.0, 3.0, 12.0)[seed % 4]
        given = {name: scale * matrix for name, matrix in usual.given.items()}
        phi = ws.Attention(weights=given, **KINDS[kind])
        rows = torch.randn(4, 2, generator=noise, dtype=torch.float64)
        X = ws.Sample(rows + (seed % 3) * torch.tensor([0.8, 0.0]), rescale=seed % 2 == 0)
        if not float(phi(X).norm()) > 1e-9:
            continue
        row, radius = seed % 4, (0.3, math.sqrt(2), 2.5)[seed % 3]
        points = disc(radius)
        bound = phi.view(X).certify([row], radius)
        assert bound is not None
        assert bound.kind == "exact"
        texts = X.X.repeat(len(points), 1, 1)
        texts[:, row] += points
        before = phi.exact(X)
        reached = float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())
        assert reached <= float(bound.upper[0]) * (1 + 1e-9) + 1e-12, seed
        checked += 1
    assert checked >= DRAWS // 2


def test_kinds_without_a_proof_have_no_certificate() -> None:
    X = ws.Sample.gaussian(5, 4, 0)
    for scores in ("linear-attention", "l2", "qk-norm"):
        assert ws.Attention(4, scores=scores).view(X).certify([0], 2.0) is None
    assert ws.Attention(4, heads=2).view(X).certify([0], 2.0) is None
