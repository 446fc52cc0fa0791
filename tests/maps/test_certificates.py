"""Certificates: valid on every case we can check, and as tight as promised."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import optimize

import wordsway as ws
from violations import disc
from wordsway.maps.activation import activation
from wordsway.maps.attention.family import SigmoidRAF
from wordsway.maps.attention.one_matrix.starts import cone_weights
from wordsway.maps.dense.backward import tail
from wordsway.maps.dense.certificate import NODES, Neurons
from wordsway.maps.registry import kind_of
from wordsway.maps.rigorous import (
    eigenvalue_upper_bound,
    lanczos_guesses,
    opnorm_upper_bound,
)


def grid_search(phi: ws.FeatureMap, X: ws.Sample, word: int, points: torch.Tensor) -> float:
    texts = X.X.repeat(len(points), 1, 1)
    texts[:, word] += points
    before = phi.exact(X)
    return float((phi.exact(texts) - before).flatten(1).norm(dim=1).max() / before.norm())


TINY = {
    "rf": lambda seed: ws.RF(3, 2, seed=seed),
    "drf": lambda seed: ws.DRF(3, 2, 3, seed=seed),
    "raf": lambda seed: ws.RAF(2, seed),
    "relu-raf": lambda seed: ws.ReluRAF(2, seed),
    "sigmoid": lambda seed: SigmoidRAF(2, seed),
}

ATTENTION: dict[str, Any] = {"raf": ws.RAF, "relu-raf": ws.ReluRAF, "sigmoid": SigmoidRAF}


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_grid_search_on_tiny_cases_stays_in_the_interval(name):
    """n = 3, d = 2, every row of 15 draws per map: a grid over Δ never beats lower by more than 1 %
    and never exceeds upper.
    """
    points = disc(math.sqrt(2))
    draws = seed = 0
    while draws < 15:
        seed += 1
        X, phi = ws.Sample.gaussian(3, 2, seed), TINY[name](seed)
        if float(phi(X).norm()) == 0:
            continue
        draws += 1
        for row in ws.sensitivity(phi, X, seed=seed).words:
            best = grid_search(phi, X, row.position, points)
            assert best <= 1.01 * row.lower, (name, seed)
            assert best <= row.upper * (1 + 1e-9), (name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.parametrize("scale", [0.2, 3.0, 12.0])
def test_attention_certificates_hold_for_weights_and_texts_far_from_the_usual(name, scale):
    """Small and large weights, correlated rows, other radii: draws at n = 4, d = 2 against a
    grid.
    """
    make = ATTENTION[name]
    checked = 0
    for seed in range(9):
        noise = torch.Generator().manual_seed(seed)
        phi = make(weight=scale * torch.randn(2, 2, generator=noise, dtype=torch.float64))
        X = ws.Sample(
            torch.randn(4, 2, generator=noise, dtype=torch.float64) + torch.tensor([1.5, 0.0]),
            rescale=seed % 2 == 0,
        )
        if float(phi(X).norm()) == 0:
            continue
        radius = (0.3, 1.0, 2.5)[seed % 3]
        bound = phi.view(X).certify([0, 2], radius)
        assert bound is not None
        assert bound.kind == "float64"
        for row, word in enumerate((0, 2)):
            assert grid_search(phi, X, word, disc(radius, 81)) <= float(bound.upper[row]) * (
                1 + 1e-9
            )
        checked += 1
    assert checked >= 6


@pytest.mark.parametrize(
    "activation_name",
    ["relu"]
    + [
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("leaky-relu", "tanh", "gelu", "sigmoid", "erf", "identity")
    ],
)
@pytest.mark.parametrize("draw", ["dense", "on-demand"])
def test_fully_connected_certificates_hold_for_every_activation(activation_name, draw):
    options = {"seed": 0, "activation": activation_name, "draw": draw}
    for phi in (ws.RF(4, 5, 30, **options), ws.DRF(4, 5, 3, 30, **options)):
        s = ws.sensitivity(phi, ws.Sample.gaussian(4, 5, 0), seed=0)
        assert s.lower <= s.upper
        assert s.certificate == "1 − 1e-9" or draw == "dense"


def test_given_weights_never_get_a_probabilistic_certificate():
    """Weights nobody drew: rank one, where a Gaussian bound would be far too small."""
    V = torch.ones(40, 12, dtype=torch.float64)
    s = ws.sensitivity(
        ws.RF(weight=V, n=3),
        ws.Sample(torch.randn(3, 4, generator=torch.Generator().manual_seed(2)) + 1),
        seed=0,
    )
    assert s.certificate == "float64"
    assert s.lower <= s.upper


@pytest.mark.slow
def test_probable_certificates_hold_for_every_draw():
    """Every row of 60 draws of RF and DRF, certified at 1 − 1e-9 each: a single failure would have
    probability below 1e-6.
    """
    for seed in range(30):
        for phi in (
            ws.RF(5, 20, seed=seed, draw="on-demand"),
            ws.DRF(5, 20, 2, seed=seed, draw="on-demand"),
        ):
            s = ws.sensitivity(phi, ws.Sample.gaussian(5, 20, seed), seed=seed)
            assert all(row.lower <= row.upper for row in s.words)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "d", "limit"),
    [
        ("rf", 90, 192, 1.15),
        ("raf", 10, 192, 2.0),
        ("raf", 250, 192, 2.0),
        ("raf", 120, 768, 1.6),
        ("relu-raf", 10, 192, 2.0),
        ("relu-raf", 250, 192, 2.0),
        ("sigmoid", 16, 256, 1.4),
        ("sigmoid", 250, 256, 2.1),
    ],
)
def test_certificates_are_tight_at_the_papers_sizes(name, n, d, limit):
    for seed in range(2 if n * d < 50_000 else 1):
        phi = kind_of(name).build(n, d, seed)
        s = ws.sensitivity(phi, ws.Sample.gaussian(n, d, seed + 50), positions=0, seed=seed)
        assert s.lower <= s.upper <= limit * s.lower


@pytest.mark.slow
def test_the_attention_dual_bounds_random_and_attracting_deltas():
    """Random Δ, attracting Δ, erased words: at n = 20, d = 10 none exceeds the certificate, for all
    words.
    """
    X = ws.Sample.gaussian(20, 10, 0)
    for phi in (ws.RAF(10, 1), ws.ReluRAF(10, 1), SigmoidRAF(10, 1)):
        view = phi.view(X)
        upper = view.certify(list(range(20)), math.sqrt(10)).upper
        noise = torch.Generator().manual_seed(0)
        for word in range(20):
            tried = torch.cat(
                [
                    torch.randn(300, 10, generator=noise, dtype=torch.float64),
                    torch.rand(300, 20, generator=noise, dtype=torch.float64) @ view.layer.keys,
                    -X.X[word] + 0.1 * torch.randn(300, 10, generator=noise, dtype=torch.float64),
                ]
            )
            tried = math.sqrt(10) * tried / tried.norm(dim=1, keepdim=True)
            reached = view.value(torch.full((900,), word), tried).sqrt().max()
            assert float(reached) <= float(upper[word])


def test_a_relu_score_at_the_edge_of_reach_is_not_taken_as_zero():
    """s ≈ −r‖k‖ with R = 0: the score cancels to rounding, and beyond it the whole row jumps."""
    X = ws.Sample([[0.4826309513276337, -1.7369707438009951], [1.0, 0.0]], rescale=False)
    W = [[-1.4284465939330802, 0.4685914300693942], [-0.2129187865660211, 0.19851418004759613]]
    phi, delta, r = (
        ws.ReluRAF(weight=W),
        [-0.9501806360089621, 0.3116997897875521],
        0.9999999999999999,
    )
    reached = float((phi(X.replaced(0, delta)) - phi(X)).norm() / phi(X).norm())
    assert reached <= float(phi.view(X).certify([0], r).upper[0])


@pytest.mark.slow
def test_saturated_neurons_and_zero_rows_are_bounded_too():
    steep = ws.RF(weight=[[18.515]], n=1, activation="tanh")
    true = (
        5.4e-7 * 4 * math.exp(-2 * 18.515) / math.tanh(18.515)
    )  # the slope at the near end, to first order
    assert float(steep.view(ws.Sample([[1.0]])).certify([0], 5.4e-7).upper[0]) >= true * 0.99999
    empty = ws.Sample([[0.0, 0.0], [1.0, 0.0]], rescale=False)
    for phi in (
        ws.ReluRAF(weight=torch.eye(2)),
        ws.RAF(weight=torch.eye(2)),
        ws.RF(2, 2, seed=0, draw="on-demand"),
        ws.DRF(2, 2, 2, seed=3),
    ):
        s = ws.sensitivity(phi, empty)
        assert s.lower <= s.upper < math.inf
        for word in (0, 1):
            assert grid_search(phi, empty, word, disc(math.sqrt(2), 61)) <= s.upper


@pytest.mark.slow
@pytest.mark.parametrize("radius", [1e-7, 1e-4, 1e3])
def test_intervals_are_never_inverted_at_odd_radii(radius):
    for seed in range(5):
        for phi in (ws.RF(3, 4, seed=seed), ws.RAF(4, seed), ws.ReluRAF(4, seed)):
            s = ws.sensitivity(
                phi,
                ws.Sample.gaussian(3, 4, seed),
                radius=radius,
                plan=ws.Plan(starts=6, rounds=0, scatter=False),
            )
            assert all(row.lower <= row.upper for row in s.words)


def test_numbers_too_large_or_small_to_square_are_refused():
    X = ws.Sample.gaussian(3, 2, 1)
    for scale in (1e154, 1e-161):
        with pytest.raises(ws.InputError, match=r"between 1e-140 and 1e140|φ\(X\) ≠ 0"):
            ws.sensitivity(ws.RF(3, 2, seed=0), ws.Sample(scale * X.X, rescale=False), positions=0)


def test_opnorm_upper_bound_is_above_and_close():
    for shape in ((30, 7), (7, 30), (1, 1), (5, 5)):
        M = torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        exact = float(torch.linalg.svdvals(M)[0])
        assert exact <= opnorm_upper_bound(M) <= exact * (1 + 1e-12)
    assert opnorm_upper_bound(torch.zeros(3, 0)) == 0.0


@pytest.mark.parametrize("rows", [5, 200, 300])
def test_guesses_of_eigenvalues_are_proved_and_within_a_percent(rows: int):
    noise = torch.Generator().manual_seed(rows)
    M = torch.randn(rows, 40, generator=noise, dtype=torch.float64)
    for first in (1.0, 30.0, 0.0):  # a crowd of eigenvalues, one far above the others, all zero
        scaled = torch.cat([first * M[:, :1], (first > 0) * M[:, 1:]], 1)
        exact = float(torch.linalg.svdvals(scaled)[0]) ** 2
        gram = scaled @ scaled.T
        found = eigenvalue_upper_bound(gram, guesses=lanczos_guesses(gram, 14))
        assert exact * (1 - 1e-12) <= found <= exact * 1.01


def test_directions_of_sharp_and_of_common_rows_are_those_of_the_definition():
    """y_j = x_i − m_j with m_j the mean over the other keys, whatever share key i has."""
    X = ws.Sample.gaussian(n=6, d=4, seed=0)
    for weight in (1.0, 30.0):
        layer = ws.RAF(weight=weight * ws.RAF(d=4, seed=1).weight).view(X).layer
        for i in range(6):
            rows = layer.rows_attending_to(i)
            s = layer.s[rows].clone()
            s[:, i] = -math.inf
            naive = X.X[i] - torch.softmax(s, -1) @ X.X
            torch.testing.assert_close(layer.directions(i, rows), naive, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relu", "leaky-relu", "tanh", "gelu"])
def test_the_convex_majorant_and_its_mean(name):
    """E F of the Gaussian comparison, by Monte Carlo on the true change: never above the closed
    form (z = 4 sd, 20,000 draws).
    """
    act = activation(name)
    noise = torch.Generator().manual_seed(1)
    z = torch.randn(300, generator=noise, dtype=torch.float64)
    mean, sd = 0.1 * z, 0.2
    g = torch.randn(20_000, 300, generator=noise, dtype=torch.float64)
    true = (act(z + mean + sd * g) - act(z)).norm(dim=1)
    found = Neurons.of(act, z, z).mean_norm(0.1, sd)
    assert float(true.mean()) <= found + 4 * float(true.std()) / math.sqrt(20_000)
    first, second = tail(mean, sd)
    draws = torch.relu(mean + sd * g)
    assert torch.allclose(draws.mean(0), first, atol=6 * sd / math.sqrt(20_000))
    assert torch.allclose((draws**2).mean(0), second, atol=6 * 2 * sd**2 / math.sqrt(20_000))


@pytest.mark.parametrize("name", ["relu", "leaky-relu", "tanh"])
def test_binned_neurons_match_single_neurons(name):
    """Awake ones in two sums, sleeping ones of ReLU at the points around them: never less, and
    less than a millionth more. Naive: the majorant's mean square, neuron by neuron.
    """
    act = activation(name)
    noise = torch.Generator().manual_seed(2)
    z = torch.randn(5 * NODES, generator=noise, dtype=torch.float64)
    z[:9] = 0
    together = Neurons.along_themselves(act, z, 7.0)
    assert (together.weight is not None) == (name == "relu")
    for along, sd in [(0.0, 0.3), (3.0, 0.02), (-3.0, 0.5), (-9.0, 0.1), (2.0, 0.0), (0.1, 1e-4)]:
        naive = Neurons(act, z, z / 7.0).mean_norm(along, sd)
        if name == "relu":  # the majorant is the change itself, on the side that moves
            m = along * z / 7.0
            awake = float((m * m + sd * sd)[z > 0].sum())
            plain = math.sqrt(awake + float(tail(m + z, sd)[1][z <= 0].sum()))
            assert naive == pytest.approx(plain, rel=1e-11)
        found = together.mean_norm(along, sd)
        assert naive * (1 - 1e-12) <= found <= naive * (1 + 1e-6), (along, sd)


def test_neurons_that_all_sleep_at_zero_are_counted_one_by_one():
    z = torch.zeros(2 * NODES, dtype=torch.float64)
    together = Neurons.along_themselves(activation("relu"), z, 1.0)
    assert together.mean_norm(0.5, 0.2) == pytest.approx(0.2 * math.sqrt(NODES), rel=1e-11)


def test_nonnegative_least_squares_against_scipy():
    noise = np.random.default_rng(0)
    K, target = noise.normal(size=(12, 8)), noise.normal(size=8)
    expected = optimize.nnls(K.T, target)[1]
    free = torch.zeros(1, 12, dtype=torch.bool)
    found = cone_weights(torch.from_numpy(K), torch.from_numpy(target)[None], free, steps=2000)[0]
    assert (found >= 0).all()
    assert float(
        (torch.from_numpy(target) - torch.from_numpy(K).T @ found).norm()
    ) == pytest.approx(expected, rel=1e-4)


def test_vectors_that_are_free_are_left_out():
    """λ = 0 at some entries is the problem without those vectors."""
    noise = np.random.default_rng(1)
    K, target = noise.normal(size=(12, 8)), noise.normal(size=8)
    free = torch.zeros(1, 12, dtype=torch.bool)
    free[0, [2, 7]] = True
    found = cone_weights(torch.from_numpy(K), torch.from_numpy(target)[None], free, steps=4000)[0]
    kept = ~free[0].numpy()
    assert not found[free[0]].any()
    left = target - K.T @ found.numpy()
    assert np.linalg.norm(left) == pytest.approx(optimize.nnls(K[kept].T, target)[1], rel=1e-4)
