"""Infinite-width limits against sampled networks, and the curves."""

from __future__ import annotations

import math

import pytest
import torch

import wordsway as ws
from wordsway.theory import (
    erf_kernel,
    infinite_width,
    infinite_width_change,
    relu_kernel,
    wide_relu_rf,
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "function"), [(relu_kernel, torch.relu), (erf_kernel, torch.erf)]
)
def test_kernels_are_the_expectations_they_claim(kernel, function):
    """Monte Carlo with 4 million pairs: within 5 standard errors (false alarm below 1e-5 for three
    pairs).
    """
    noise = torch.Generator().manual_seed(0)
    g = torch.randn(2, 4_000_000, generator=noise, dtype=torch.float64)
    for a, b, c in ((1.0, 1.0, 0.9), (0.5, 2.0, -0.7), (1.3, 0.8, 0.0)):
        u = math.sqrt(a) * g[0]
        v = c / math.sqrt(a) * g[0] + math.sqrt(b - c * c / a) * g[1]
        product = function(u) * function(v)
        exact = kernel(*(torch.tensor(value, dtype=torch.float64) for value in (a, b, c)))
        assert abs(float(product.mean()) - float(exact)) < 5 * float(product.std()) / 2000


@pytest.mark.parametrize(("depth", "name"), [(1, "relu"), (3, "relu"), (1, "erf"), (2, "erf")])
def test_wide_maps_approach_the_limit_at_a_fixed_delta(depth, name):
    """One Δ chosen beforehand, k = 4,000: the change is within 3 % of the limit."""
    n, d, k = 6, 10, 4000
    X = ws.Sample.gaussian(n, d, 0)
    phi = (
        ws.RF(n, d, k, seed=1, activation=name)
        if depth == 1
        else ws.DRF(n, d, depth, k, seed=1, activation=name, draw="on-demand")
    )
    delta = torch.randn(d, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    delta *= 0.9 * math.sqrt(d) / delta.norm()
    cosine = delta @ X.X[2] / (delta.norm() * X.X[2].norm())
    limit = infinite_width_change(n, torch.tensor(0.9), cosine, depth=depth, activation=name)
    sampled = phi.view(X).value(torch.tensor([2]), delta[None]).sqrt()
    assert float(sampled) == pytest.approx(float(limit), rel=0.03)


def test_the_maximum_over_delta_is_a_maximum():
    for n in (3, 40):
        for depth in (1, 4):
            for name in ("relu", "erf"):
                best = infinite_width(n, depth=depth, activation=name)
                length, cosine = (
                    torch.linspace(0, 1, 201)[:, None],
                    torch.linspace(-1, 1, 401)[None, :],
                )
                assert best >= float(
                    infinite_width_change(n, length, cosine, depth=depth, activation=name).max()
                ) * (1 - 1e-6)


def test_the_limit_decays_like_one_over_root_n():
    for depth in (1, 2, 4, 8):
        slope = math.log(
            infinite_width(4000, depth=depth) / infinite_width(1000, depth=depth)
        ) / math.log(4)
        assert slope == pytest.approx(-0.5, abs=0.02)


def test_the_worst_delta_of_a_drawn_map_reaches_the_wide_curve():
    """d = 768: attained S within 2 % below (1 + √(2/n))/√n, which infinite width alone would miss
    by 10 %.
    """
    n, d = 90, 768
    s = ws.sensitivity(ws.RF(n, d, seed=0), ws.Sample.gaussian(n, d, 1), positions=0)
    assert 0.975 * wide_relu_rf(n, d) <= s.lower <= 1.01 * wide_relu_rf(n, d)
    assert infinite_width(n) < 0.9 * s.lower


def test_reference_curves():
    assert wide_relu_rf(100, 10, k=20) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("options", "message"), [({"activation": "tanh"}, "known kernel"), ({"depth": 0}, "depth ≥ 1")]
)
def test_bad_requests_are_refused(options, message):
    with pytest.raises(ws.InputError, match=message):
        infinite_width(10, **options)
