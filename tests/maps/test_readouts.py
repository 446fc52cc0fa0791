"""Readouts φ(X^i(Δ))·θ: equal to the definition, sharp rows included, and learning from them."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import wordsway as ws
from readings import gradients_of
from wordsway.maps.attention.family import SigmoidRAF

N, D = 8, 6
#: The usual weights, some sharp rows, nothing but sharp rows.
SCALES = (1.0, 15.0, 60.0)
MAKE: dict[str, Any] = {"softmax": ws.RAF, "relu": ws.ReluRAF, "sigmoid": SigmoidRAF}


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sharp(kind: str, scale: float, seed: int) -> tuple[Any, ws.Sample]:
    """Weights scale·N(0, 1): from 15 on, some rows give nearly everything to one key."""
    return MAKE[kind](weight=scale * random(D, D, seed=seed)), ws.Sample.gaussian(N, D, seed)


def moved(X: ws.Sample, row: int, delta: torch.Tensor) -> torch.Tensor:
    return torch.cat([X.X[:row], (X.X[row] + delta)[None], X.X[row + 1 :]])


def definition(phi: Any, Y: torch.Tensor) -> torch.Tensor:
    """The map in plain torch, for autograd."""
    scores = Y @ phi.weight @ Y.T / math.sqrt(Y.shape[1])
    if phi.name == "raf":
        return torch.softmax(scores, -1) @ Y
    if phi.name == "sigmoid":
        return torch.sigmoid(scores - math.log(len(Y))) @ Y
    w = torch.relu(scores)
    total = w.sum(-1, keepdim=True)
    return w / torch.where(total > 0, total, 1.0) @ Y


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("scale", SCALES)
def test_readouts_and_their_gradients_equal_the_definition(kind: str, scale: float) -> None:
    for seed in range(2):
        phi, X = sharp(kind, scale, seed)
        thetas = random(2, N * D, seed=seed + 10)
        rows = torch.arange(3 * N) % N
        delta = random(3 * N, D, seed=seed + 20) * torch.tensor([0.1, 1.0, 2.0]).repeat(N)[:, None]
        values, gradients = gradients_of(phi.view(X).readout(thetas), rows, delta)
        for point, row in enumerate(rows.tolist()):
            step = delta[point].clone().requires_grad_(True)
            features = definition(phi, moved(X, row, step)).flatten()
            size = float(features.detach().norm() * thetas.norm(dim=1).max())
            for index, theta in enumerate(thetas):
                expected = theta @ features
                assert abs(float(values[point, index] - expected.detach())) <= 1e-9 * size
                (slope,) = torch.autograd.grad(expected, step, retain_graph=True)
                error = float((gradients[point, index] - slope).norm())
                assert error <= 1e-9 * (float(slope.norm()) + size)


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("scale", [1.0, 60.0])
@pytest.mark.parametrize("n", [1, 2, N, 5 * D])
def test_points_of_one_row_and_of_several_have_the_same_readouts(
    kind: str, scale: float, n: int
) -> None:
    """Rows are known before their points: one text has a row twice, and may have no other row."""
    X = ws.Sample.gaussian(n, D, 1)
    X.X[-1] = X.X[0]
    W = scale * random(D, D, seed=1)
    phi = MAKE[kind](weight=W if float(X.X[0] @ W @ X.X[0]) > 0 else -W)
    look = phi.view(X).readout(random(3, n * D, seed=2))
    rows, delta = torch.arange(2 * n) % n, random(2 * n, D, seed=3)
    values, pull = look.at(rows, delta)
    weights = random(2 * n, 3, seed=4)
    slopes = pull(weights)
    for row in range(n):
        some = rows == row
        alone, back = look.at(rows[some], delta[some])
        torch.testing.assert_close(alone, values[some], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(back(weights[some]), slopes[some], rtol=1e-9, atol=1e-7)
        step = delta[row].clone().requires_grad_(True)
        features = definition(phi, moved(X, row, step)).flatten()
        expected = (look.theta.flatten(1) @ features) @ weights[row]
        (slope,) = torch.autograd.grad(expected, step)
        size = float(features.detach().norm() * look.theta.norm() * weights.norm())
        assert abs(float(values[row] @ weights[row] - expected.detach())) <= 1e-9 * size
        assert float((slopes[row] - slope).norm()) <= 1e-9 * (float(slope.norm()) + size)


def test_the_sharp_cases_are_sharp() -> None:
    """At 30·N(0, 1) rows give more than 0.9 of themselves to another key: the rewrite is in use."""
    found = [sharp("softmax", 30.0, seed) for seed in range(4)]
    layers = [phi.view(X).layer for phi, X in found]
    assert all(layer.sharp is not None and len(layer.sharp.rows) >= 3 for layer in layers)


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("scale", SCALES)
def test_changes_and_gradients_of_sharp_views_equal_the_definition(kind: str, scale: float) -> None:
    for seed in range(2):
        phi, X = sharp(kind, scale, seed)
        rows, delta = torch.arange(N), random(N, D, seed=seed + 30)
        before = definition(phi, X.X)
        values, gradients = phi.view(X).value_and_gradient(rows, delta)
        for row in range(N):
            step = delta[row].clone().requires_grad_(True)
            change = definition(phi, moved(X, row, step)) - before
            expected = (change**2).sum() / (before**2).sum()
            assert float(values[row]) == pytest.approx(float(expected.detach()), rel=1e-9)
            (slope,) = torch.autograd.grad(expected, step)
            assert float((gradients[row] - slope).norm()) <= 1e-9 * (1 + float(slope.norm()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "update", "loss"),
    [
        (0, "fine-tune", "align"),
        (1, "fine-tune", "direct"),
        (2, "fine-tune", "penalised"),
        (1, "retrain", "align"),
        (2, "retrain", "direct"),
        (0, "retrain", "penalised"),
    ],
)
def test_learning_on_sharp_rows_reports_what_happens(seed: int, update: str, loss: str) -> None:
    """Weights 30·N(0, 1): the predictions are those of plain linear algebra on dense features."""
    phi, _ = sharp("softmax", 30.0, seed)
    texts = [ws.Sample.gaussian(N, D, 100 * seed + index) for index in range(6)]
    labels, y = [1, -1, 1, -1, 1], -1
    penalty = 0.1 if loss == "penalised" else 0.0
    options: dict[str, Any] = {"update": update, "loss": loss, "positions": [0, 3]}
    options["penalty"] = penalty
    found = ws.learn(phi, texts[:5], labels, texts[5], y, **options)

    features = torch.stack([definition(phi, X.X).flatten() for X in texts])
    known = torch.tensor(labels, dtype=torch.float64)
    start = torch.linalg.pinv(features[:5]) @ known
    if update == "fine-tune":
        own = features[5]
        after = start + own * (y - own @ start) / (own @ own)
    else:
        after = torch.linalg.pinv(features) @ torch.cat([known, known.new_tensor([y])])
    for entry in found:
        changed = definition(phi, moved(texts[5], entry.position, entry.delta)).flatten()
        assert entry.before_changed == pytest.approx(float(start @ changed), abs=1e-8)
        assert entry.after_changed == pytest.approx(float(after @ changed), abs=1e-8)
        assert entry.after_original == pytest.approx(float(after @ features[5]), abs=1e-8)
        assert entry.error == pytest.approx((float(after @ changed) + y) ** 2, abs=1e-7)
