"""The dual function over cells of β, against the formula written out."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.certificates.dual import Cells
from wordsway.maps.attention.certificates.one_matrix import WrapperContext, problem_of
from wordsway.maps.attention.certificates.problem import Problem


def problem_at(n: int, d: int, scale: float) -> tuple[Problem, float]:
    phi = ws.RAF(weight=scale * ws.RAF(d, seed=1).weight)
    view = phi.view(ws.Sample.gaussian(n, d, seed=2), torch.float64)
    assert isinstance(view.bounds, RowBounds)
    radius = math.sqrt(d)
    return problem_of(
        view.layer, view.bounds, 0, radius, 1.0, WrapperContext(view.layer.norm)
    ), radius


def naive(
    problem: Problem, r: float, lo: float, hi: float, lam: float, kap: float, nu: float | None
) -> float:
    """room·price + Σ_j max(grid points, low tail, high tail), number by number."""
    q, prices = problem.rows, problem.prices
    smallest = 0.0 if lo * hi < 0 else min(abs(lo), abs(hi))
    room = max(0.0, r * r - smallest**2)
    total = room * (lam * prices.norm_a**2 + kap * prices.norm_y**2)
    total += 0.0 if nu is None else nu * prices.fourth * room**2
    half, middle = (hi - lo) / 2, (hi + lo) / 2
    for j in range(len(q.a)):
        centre, spread = middle * float(q.ae[j]), half * abs(float(q.ae[j]))
        square, linear = problem.raised[j].tolist(), q.linear[j].tolist()
        poly = [
            s + 2 * middle * b + 2 * half * abs(b) + k / kap
            for s, b, k in zip(square, linear, problem.raised_quartic[j].tolist(), strict=True)
        ]
        if problem.ceiling < math.inf:
            sides = [poly[0], *poly, poly[-1]]
            poly = [min(problem.ceiling, max(sides[at : at + 3])) for at in range(len(poly))]
        found = []
        for value, a, w in zip(poly, q.a[j].tolist(), q.price_width2[j].tolist(), strict=True):
            t = max(0.0, abs(a - centre) - spread)
            value += lam * (2 * w - t * t)
            if nu is not None:
                value -= nu * (t**4 - 12 * (t + math.sqrt(8 * w)) ** 2 * w)
            found.append(value)
        ends = (centre - spread - float(q.a[j, 0]), float(q.a[j, -1]) - centre - spread)
        for tail, end in zip((q.low, q.high), ends, strict=True):
            t = max(0.0, end)
            value = float(tail.value[j]) + float(tail.kappa_term[j]) / kap - lam * t * t
            found.append(value - (0.0 if nu is None else nu * t**4))
        total += problem.repeat * max(found)
    return total


@pytest.mark.parametrize("ceiling", [math.inf, 3.0])
@pytest.mark.parametrize("fourth", [False, True])
@pytest.mark.parametrize(("n", "d", "scale"), [(6, 5, 1.0), (4, 3, 60.0), (9, 2, 0.1), (2, 3, 5.0)])
def test_every_evaluation_matches_the_formula(
    n: int, d: int, scale: float, fourth: bool, ceiling: float
) -> None:
    problem, r = problem_at(n, d, scale)
    with_fourth = replace(problem.prices, fourth=2.5)
    problem = replace(problem, prices=with_fourth, ceiling=ceiling, repeat=1.5)
    edges = torch.tensor([-r, -0.4 * r, 0.3 * r, r], dtype=torch.float64)
    log_lambda = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    log_kappa = torch.tensor([0.3, -2.0, 1.0], dtype=torch.float64)
    log_nu = torch.tensor([-3.0, 0.0, 1.0], dtype=torch.float64) if fourth else None
    cells = Cells(problem, r, edges[:-1], edges[1:])
    prices = (log_lambda.exp().tolist(), log_kappa.exp().tolist())
    nus = [None] * 3 if log_nu is None else log_nu.exp().tolist()
    ends = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    true = [
        naive(problem, r, lo, hi, lam, kap, nu)
        for (lo, hi), lam, kap, nu in zip(ends, *prices, nus, strict=True)
    ]
    found = [
        cells.others(log_lambda, log_kappa, log_nu),
        cells.along_lambda(log_kappa, log_nu)(log_lambda),
        cells.along_kappa(log_lambda, log_nu)(log_kappa),
    ]
    if log_nu is not None:
        found.append(cells.along_nu(log_lambda, log_kappa)(log_nu))
    for values in found:
        torch.testing.assert_close(
            values, torch.tensor(true, dtype=torch.float64), rtol=1e-10, atol=1e-10
        )
