"""Row i of sigmoid attention hears many keys at once: each way to bound it holds by itself."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from violations import disc
from wordsway.maps.attention.certificates.dual import minimise_duals
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, problem_of
from wordsway.maps.attention.certificates.problem import Joined
from wordsway.maps.attention.family import SigmoidRAF
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.scores.sigmoid import SigmoidBounds

BOUNDS = SigmoidBounds()


@pytest.mark.slow
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("split", BOUNDS.young_parameters)
def test_every_young_parameter_bounds_every_delta_of_a_grid(split: float, residual: bool) -> None:
    for seed in range(8):
        noise = torch.Generator().manual_seed(seed)
        W = (0.5, 2.0, 8.0)[seed % 3] * torch.randn(2, 2, generator=noise, dtype=torch.float64)
        rows = torch.randn(5, 2, generator=noise, dtype=torch.float64)
        X = ws.Sample(rows + (seed % 2) * torch.tensor([0.9, 0.0]))
        phi, row, radius = SigmoidRAF(weight=W), seed % 5, (0.4, math.sqrt(2), 2.5)[seed % 3]
        layer = phi.view(X).layer
        assert isinstance(layer, Layer)
        around = WrapperContext(layer.norm, residual)
        problem = problem_of(layer, BOUNDS, row, radius, split, around)
        points = disc(radius, steps=13, angles=73)
        texts = X.X.repeat(len(points), 1, 1)
        texts[:, row] += points
        moved = phi.exact(texts) - phi.exact(X)
        if residual:
            moved[:, row] += points
        reached = float(moved.square().sum((1, 2)).max())
        for tilt in BOUNDS.reweightings:
            bound, _, _ = minimise_duals([problem.reweighted(tilt)], radius, None)
            assert reached <= bound * (1 + 1e-9), (seed, tilt)


def test_the_joint_norm_lies_between_the_truth_and_the_sum() -> None:
    noise = torch.Generator().manual_seed(0)
    A = torch.randn(9, 6, generator=noise, dtype=torch.float64)
    B = 3 * torch.randn(4, 6, generator=noise, dtype=torch.float64)
    joined = Joined.of(A, B)
    assert joined is not None
    for kappa in (1e-9, 1e-3, 0.03, 0.2, 1.0, 20.0):
        lam = 0.7
        truth = float(torch.linalg.eigvalsh(lam * A.T @ A + kappa * B.T @ B)[-1])
        apart = lam * joined.value[0] + kappa * joined.slope
        one = torch.ones(1, dtype=torch.float64)
        found = float(joined(math.log(lam) * one, math.log(kappa) * one))
        assert truth <= found <= apart * (1 + 1e-6)
        assert found <= 1.25 * truth
