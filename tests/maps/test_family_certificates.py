"""Certificates of `ws.Attention`: tiny draws of every certified kind, none violated.

`WORDSWAY_DRAWS=200` takes 200 draws of each (four minutes).
"""

from __future__ import annotations

import math
import os
from itertools import product
from typing import Any

import pytest
import torch

import wordsway as ws
from violations import disc
from wordsway.maps.attention.certificates.heads_gain import head_gain, parts_of
from wordsway.maps.attention.ingredients import Projections
from wordsway.maps.attention.scores.registry import SCORES

DRAWS = int(os.environ.get("WORDSWAY_DRAWS", "12"))
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
#: Kinds with heads, or seen as heads.
HEADS: dict[str, dict[str, Any]] = {
    "heads": {"heads": 2},
    "one-head": {"heads": 1},
    "heads-sink": {"heads": 2, "scores": "sink"},
    "heads-1/d": {"heads": 2, "scores": "softmax-1/d"},
    "heads-log-n": {"heads": 2, "scores": "softmax-log-n"},
    "heads-causal": {"heads": 2, "mask": "causal"},
    "heads-window": {"heads": 2, "mask": "window", "window": 2},
    "heads-padding": {"heads": 2, "mask": "padding", "visible": 1},
    "heads-alibi": {"heads": 2, "positions": "alibi"},
    "heads-rope": {"heads": 1, "positions": "rope"},
    "rope": {"positions": "rope"},
    "heads-differential": {"heads": 2, "scores": "differential"},
    "differential": {"scores": "differential"},
    "heads-l2": {"heads": 2, "scores": "l2"},
    "l2": {"scores": "l2"},
    "heads-qk-norm": {"heads": 2, "scores": "qk-norm"},
    "qk-norm": {"scores": "qk-norm"},
}
KINDS |= HEADS


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_delta_of_a_grid_exceeds_the_certificate(kind: str) -> None:
    """n = 4, d = 2: small and large weights, correlated texts, three radii, every row in turn."""
    checked = 0
    for seed in range(DRAWS):
        noise = torch.Generator().manual_seed(seed)
        usual = ws.Attention(2, seed, **KINDS[kind])
        scale = (0.3, 1.0, 3.0, 30.0 if kind in HEADS else 12.0)[seed % 4]
        given = {name: scale * matrix for name, matrix in usual.given.items()}
        phi = ws.Attention(weights=given, **KINDS[kind])
        rows = torch.randn(4, 2, generator=noise, dtype=torch.float64)
        X = ws.Sample(rows + (seed % 3) * torch.tensor([0.8, 0.0]), rescale=seed % 2 == 0)
        if not float(phi(X).norm()) > 1e-9:
            continue
        row, radius = seed % 4, (0.3, math.sqrt(2), 2.5)[seed % 3]
        points = disc(radius, steps=27, angles=120)
        bound = phi.view(X).certify([row], radius)
        assert bound is not None
        assert bound.kind == "float64"
        texts = X.X.repeat(len(points), 1, 1)
        texts[:, row] += points
        before = phi.exact(X)
        reached = float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())
        assert reached <= float(bound.upper[0]) * (1 + 1e-9) + 1e-12, seed
        checked += 1
    assert checked >= DRAWS // 2


def test_kinds_without_a_proof_have_no_certificate() -> None:
    X = ws.Sample.gaussian(5, 4, 0)
    assert ws.Attention(4, scores="linear-attention").view(X).certify([0], 2.0) is None
    for scores in ("sigmoid", "relu", "relu/n", "linear/n", "linear-attention"):
        assert ws.Attention(4, scores=scores, heads=2).view(X).certify([0], 2.0) is None


def test_the_certificate_of_a_single_row_is_nearly_exact() -> None:
    """One row hears itself alone, so that φ moves by ΔC: S ≤ r‖C‖/‖φ‖, which is attained."""
    X = ws.Sample.gaussian(1, 4, 0)
    phi = ws.Attention(4, heads=2)
    C = phi.given["V"] @ phi.given["O"]
    exact = 2 * float(torch.linalg.matrix_norm(C, 2)) / float(phi(X).norm())
    bound = phi.view(X).certify([0], 2.0)
    assert bound is not None
    assert exact <= float(bound.upper[0]) <= 1.2 * exact


def corners(V: torch.Tensor, O: torch.Tensor) -> float:
    """max over p ∈ {0, 1}^H of ‖Σ_h p_h V_hO_h‖, one corner after the other."""
    H = len(V)
    return max(
        float(torch.linalg.matrix_norm((torch.tensor(p)[:, None, None] * (V @ O)).sum(0), 2))
        for p in product((0.0, 1.0), repeat=H)
    )


@pytest.mark.parametrize(("d", "heads", "key_heads"), [(6, 2, 2), (8, 4, 4), (8, 4, 2), (12, 6, 6)])
def test_the_gain_of_heads_is_above_every_corner_and_near_the_largest(
    d: int, heads: int, key_heads: int
) -> None:
    for seed in range(4):
        noise = torch.Generator().manual_seed(seed)
        m = d // heads
        Q, O = (torch.randn(d, d, generator=noise, dtype=torch.float64) for _ in range(2))
        V = torch.randn(d, key_heads * m, generator=noise, dtype=torch.float64)
        weights = Projections(Q, V, V, O, heads, key_heads)
        most, found = corners(*parts_of(weights)), head_gain(weights)[0]
        assert most <= found <= 1.25 * most


def test_the_gain_of_heads_that_agree_is_that_of_all_of_them() -> None:
    """V_hO_h of all heads point the same way: the corner (1, …, 1) is the largest, by far."""
    one = torch.ones(8, 1, dtype=torch.float64)
    Q = torch.eye(8, dtype=torch.float64)
    weights = Projections(Q, Q, one.repeat(1, 4), one.T.repeat(4, 1), 4, 4)
    assert head_gain(weights)[0] == pytest.approx(32, rel=2e-3)


@pytest.mark.slow
def test_certificates_of_heads_are_close_to_attained_values() -> None:
    """What docs/certificates.md says of d = 256 holds at a small size, too."""
    for heads, most in ((2, 2.0), (4, 2.4)):
        X = ws.Sample.gaussian(12, 64, 1)
        s = ws.sensitivity(ws.Attention(64, heads=heads), X, positions=0)
        assert s.upper is not None
        assert s.upper <= most * s.lower
