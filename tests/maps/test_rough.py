"""The rough view that searches of many rows explore with, against a loop over the definition."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.view import ROUGH_FROM, AttentionView, RoughView


def rough_view(n: int, d: int, scale: float = 1.0) -> tuple[RoughView, ws.Sample, torch.Tensor]:
    X = ws.Sample.gaussian(n=n, d=d, seed=3)
    W = scale * ws.RAF(d=d, seed=4).weight
    view = ws.RAF(weight=W).view(X)
    assert isinstance(view, AttentionView)
    return RoughView(view), X, W


def naive(X: torch.Tensor, W: torch.Tensor, i: int, delta: torch.Tensor) -> torch.Tensor:
    """S² where row i hears its own key as it would, and the others as before but for one common
    rise of their scores, row after row.
    """
    n, d = X.shape
    moved = X.clone()
    moved[i] = moved[i] + delta
    scores, before = moved @ W @ moved.T / math.sqrt(d), X @ W @ X.T / math.sqrt(d)
    queries = X @ W.T / math.sqrt(d)
    rise = (delta @ delta) / 2 * (queries * queries).mean()
    total = torch.zeros((), dtype=X.dtype)
    phi = torch.softmax(before, 1) @ X
    for j in range(n):
        row = scores[j] if j != i else torch.cat([before[i, :i] + rise, scores[i, i : i + 1]])
        if j == i:
            row = torch.cat([row, before[i, i + 1 :] + rise])
        total = total + ((torch.softmax(row, 0) @ moved - phi[j]) ** 2).sum()
    return total / (phi**2).sum()


@pytest.mark.parametrize("scale", [1.0, 30.0], ids=["plain", "saturated"])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 3), (7, 4), (5, 12)])
def test_rough_view_is_its_definition(n: int, d: int, scale: float) -> None:
    view, X, W = rough_view(n, d, scale)
    noise = torch.Generator().manual_seed(0)
    for i in {0, n - 1}:
        delta = torch.randn(d, dtype=torch.float64, generator=noise).requires_grad_()
        expected = naive(X.X, W, i, delta)
        (slope,) = torch.autograd.grad(expected, delta)
        rows, points = torch.tensor([i]), delta.detach()[None]
        value, gradient = view.change_and_gradient(rows, points)
        tolerance = 1e-9 * (1 + scale)
        assert torch.allclose(value[0], expected.detach(), rtol=tolerance, atol=tolerance)
        assert torch.allclose(view.change(rows, points), value)
        close = tolerance * (1 + float(slope.norm()))
        assert torch.allclose(gradient[0], slope, rtol=1e-6, atol=close)


def test_few_rows_are_explored_as_they_are() -> None:
    few, many = (
        ws.RAF(d=8, seed=1).view(ws.Sample.gaussian(n=n, d=8, seed=2))
        for n in (ROUGH_FROM - 1, ROUGH_FROM)
    )
    assert few.exploring is few
    assert isinstance(many.exploring, RoughView)


def test_what_is_found_roughly_is_worth_as_much() -> None:
    """Twelve draws: on average the rough search finds what the whole one finds. Single draws differ
    by up to 3 % (there are many local maxima), so the mean's standard error is below 0.5 %; the
    mean of 32 other draws was 1.002.
    """
    ratios = []
    for seed in range(12):
        X, phi = ws.Sample.gaussian(n=64, d=48, seed=seed), ws.RAF(d=48, seed=100 + seed)
        rough = ws.sensitivity(phi, X, positions=0, seed=seed, certificate=False)
        view = phi.search_view(X)
        view.rough = False
        whole = _search_whole(view, X, seed)
        ratios.append(rough.lower / whole)
    assert sum(ratios) / len(ratios) > 0.985


def _search_whole(view: AttentionView, X: ws.Sample, seed: int) -> float:
    from wordsway.maps.attention.view import plan_for
    from wordsway.maps.change import Change
    from wordsway.optimize.driver import maximise

    found = maximise(
        Change(view, math.sqrt(X.d)),
        torch.tensor([0]),
        plan_for(X.n, X.d),
        seed=seed,
        memory=2**30,
    )
    return float(found.value[0].sqrt())
