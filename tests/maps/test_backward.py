"""The comparison run backwards: each step of docs/proofs-drf.md against brute force."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.maps.dense import backward
from wordsway.maps.dense.backward import BackwardLayer, backward_bound, constants
from wordsway.maps.dense.certificate import backward_layers


@pytest.mark.slow
def test_the_comparison_holds_for_small_layers():
    """Step 1 for a function that is not convex: tails up to a factor of 2, and means."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        k, m, points, draws = 2, 3, 5, 4000
        z, T = rng.normal(size=k), rng.normal(size=(points, m))
        g = rng.normal(size=k)

        def J(u, z=z, g=g):
            change = np.maximum(z + u, 0) - np.maximum(z, 0)
            return np.linalg.norm(change, axis=-1) + 0.7 * np.maximum((g * change).sum(-1), 0)

        left = J(np.einsum("bkm,pm->bpk", rng.normal(size=(draws, k, m)), T)).max(1)
        angle = np.linspace(0, 2 * math.pi, 32, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)], -1)
        disc = np.concatenate([share * circle for share in (0.0, 0.5, 1.0)])
        first, second = rng.normal(size=(draws, k)), rng.normal(size=(draws, m))
        push = np.maximum(second @ T.T, 0)
        moved = np.linalg.norm(T, axis=1)[None, :, None] * first[:, None]
        right = J(moved[:, :, None] + push[:, :, None, None] * disc).max((1, 2))
        assert left.mean() <= right.mean() * 1.02
        for share in (0.5, 0.9, 0.99):
            level = np.quantile(left, share)
            assert (left > level).mean() <= 2 * (right > level).mean() + 4 * math.sqrt(1 / draws)


def small_layer(k: int, rng: np.random.Generator) -> tuple[BackwardLayer, torch.Tensor]:
    z = torch.as_tensor(rng.normal(size=k))
    return BackwardLayer.of(math.sqrt(2 / k), z, math.sqrt(k / 2)), z


@pytest.mark.slow
@pytest.mark.parametrize(("k", "q", "x", "draws"), [(60, 0.5, 0.5, 40), (1500, 0.15, 0.2, 15)])
def test_states_after_one_layer_stay_within_the_bounds(k, q, x, draws):
    """Steps 3 and 4: moves and pushes that were searched for, with all numbers as they were drawn,
    and the means of these numbers.
    """
    rng = np.random.default_rng(1)
    layer, z = small_layer(k, rng)
    rho, sigma, h = q / layer.slope, layer.sigma, torch.relu(z)
    s = x * rho
    now = constants(layer, rho, s, x, 0.0)
    numbers = []
    for _ in range(draws):
        fresh, g = (torch.as_tensor(rng.normal(size=k)) for _ in range(2))
        g = g - h * (h @ g) / (h @ h)
        moves = []
        for angle, share in itertools.product(np.linspace(-1.5, 1.5, 11), (0.1, 0.4, 0.7, 0.85, 1)):
            v = sigma * math.cos(angle) * fresh + math.sin(angle) * z * layer.slope
            moves.append((share * rho, share * rho * v))
        R = E = T = 0.0
        for size, v in moves:
            change, active = torch.relu(z + v) - h, z + v > 0
            R = max(R, float(change.norm()) / size)
            E = max(E, float((g * change)[active].sum()) / size)
            left = (g + (z + v) * now.N / s)[~active].clamp_min(0)
            T = max(T, float(g[active] @ g[active] + left @ left))
        Q, most = max(now.Q, R), 0.0
        for (size, v), part, weight in itertools.product(moves, (0.5, 1.0), (0, 0.1, 1.0, 10.0)):
            change, active, w = torch.relu(z + v) - h, z + v > 0, torch.zeros_like(v)
            for _ in range(3):  # along the gradient of ‖δ‖ + weight·⟨g, δ⟩, and over thresholds
                near = (z + v + w > -2 * s / now.N) & (active | (g > 0))
                ascent = near * ((torch.relu(z + v + w) - h) / R / size + weight * g)
                w = part * s * ascent / ascent.norm().clamp_min(1e-30)
            after = torch.relu(z + v + w) - h
            along = min(1.0, max(0.0, float(change @ (after - change)) / (Q * size * part * s)))
            across = math.sqrt(1 - along**2)
            square = (Q * size) ** 2 + 2 * Q * size * part * s * along + (part * s) ** 2
            assert float(after.norm()) <= math.sqrt(square) + 1e-9
            pushed = across * (now.N + max(0.0, T - now.N**2) / (2 * now.N)) + along * E / Q
            assert float(g @ (after - change)) <= part * s * pushed + 1e-9
            square = (Q * rho) ** 2 + 2 * Q * rho * s * along + s * s
            gone = float(g @ after) - s * (now.N * across + now.E * along)
            most = max(most, gone / math.sqrt(square))
        numbers.append((R, E, T, most))
    R, E, T, most = np.array(numbers).mean(0)
    assert 0.9 * now.Q < R < now.Q
    assert 0.1 * now.E < E / now.Q < now.E
    assert 0.4 * now.N**2 < T < now.N**2
    assert most < now.M


@pytest.mark.slow
def test_the_constants_of_a_layer_bound_sampled_ones():
    """Step 4 for t = 0, neuron by neuron instead of by intervals of |z|, for many sizes r."""
    rng = np.random.default_rng(6)
    k, q, x = 800, 0.3, 0.4
    layer, preactivations = small_layer(k, rng)
    z = preactivations.numpy()
    rho = q / layer.slope
    top, theta, active = rho / math.sqrt(1 - q * q), np.abs(z), z > 0
    r = torch.as_tensor(top * backward.RATIO ** -np.arange(backward.CELLS + 1.0))[:, None]
    sizes = np.geomspace(top / 2000, top, 400)
    window = x * rho / (1 - q) / math.sqrt(active.sum())
    found = []
    for _ in range(200):
        fresh, g = rng.normal(size=(2, k))
        toward = layer.sigma * np.where(active, -fresh, fresh)
        moved = z + sizes[:, None] * layer.sigma * fresh
        over = np.maximum(toward - theta / sizes[:, None], 0)
        U, D = (over**2)[:, ~active].sum(1), (over * (over + 2 * theta / sizes[:, None]))[:, active]
        slept = (active & (moved <= 0)) * theta @ g / sizes
        left = np.maximum(g + moved / window, 0) ** 2 * (moved <= 0)
        found.append(
            (
                (U - D.sum(1) / (1 + q)).max(),
                (g**2 * (moved > 0)).sum(1).max(),
                left.sum(1).max(),
                max(0.0, (over @ g).max()),
                max(0.0, slept.max()),
            )
        )
    drawn = np.array(found).mean(0)
    bounds = [
        backward.gained(layer, r, q),
        backward.number(layer, r, 0.0),
        backward.activated(layer, r, x * rho / (1 - q), 0.0),
        *backward.typical(layer, r, 0.0),
    ]
    assert (drawn < bounds).all()
    assert drawn[1] > 0.9 * bounds[1] and (drawn[2:] > 0.1 * np.array(bounds[2:])).all()


@pytest.mark.slow
def test_sums_stay_below_chernoffs_bound():
    rng = np.random.default_rng(4)
    m, sd = -torch.rand(300, dtype=torch.float64) / 10, 0.04
    drawn = np.maximum(m.numpy() + sd * rng.normal(size=(50_000, 300)), 0).sum(1)
    chance = np.linspace(0.01, 0.3, 40)
    counts = (rng.random((50_000, 40)) < chance).sum(1)
    for t in (1.0, 2.0, 3.0):
        bound = backward.flips(torch.ones_like(m), m, sd, t)
        assert (drawn > bound).mean() <= math.exp(-t * t / 2)
        assert bound < drawn.mean() + 3 * t * drawn.std()
        bound = float(backward.chernoff(lambda x: torch.tensor(math.expm1(x) * chance.sum()), t))
        assert (counts > bound).mean() <= math.exp(-t * t / 2)
        assert bound < counts.mean() + 3 * t * counts.std()


def test_a_step_is_that_of_a_plain_loop():
    now = backward.Constants(0.01, 1.02, 0.9, 80.0, 1.5)
    f = 1 + 0.5 * backward.GRID**2
    found = backward.step(f, now, 0.012, top=False)
    angles = np.linspace(0, math.pi / 2, 4001)
    for place in (0, 40, 200, 400):
        x, best = backward.GRID[place], 0.0
        for angle in angles:
            rho = math.sqrt(1.02**2 + 2 * 1.02 * x * math.cos(angle) + x * x)
            s = 0.012 * (0.9 * rho + x * (80 * math.sin(angle) + 1.5 * math.cos(angle)))
            best = max(best, rho * (1 + 0.5 * (s / rho) ** 2))
        assert best <= found[place] <= best * 1.005


def drawn_problem(rng: np.random.Generator, depth: int) -> tuple[list, list[float]]:
    layers = [small_layer(3000, rng)[0] for _ in range(depth)]
    known = [constants(layer, 4.0, 0.8, 0.2, 6.0) for layer in layers]
    return known, [layer.sigma for layer in layers] * 2


def test_the_value_bounds_every_policy():
    """Step 5, with all variables at zero: random angles of the adversary."""
    rng = np.random.default_rng(2)
    known, sigmas = drawn_problem(rng, 3)
    ends = (None, backward.GRID + backward.SHARE)
    found, pushed = (backward.value(known, sigmas, 0.2, None, end) for end in ends)
    best = 0.0
    for _ in range(2000):
        rho, s = 1.0, 0.2
        for now, following in zip(known, sigmas[1:], strict=False):
            straight, angle = now.Q * rho + s, float(rng.uniform(0, math.pi / 2))
            along, across = math.cos(angle), math.sin(angle)
            rho = math.sqrt((now.Q * rho) ** 2 + 2 * now.Q * rho * s * along + s * s)
            s = following * (now.M * rho + s * (now.N * across + now.E * along))
        best = max(best, straight)
        assert straight <= found
        assert s + backward.SHARE * rho <= pushed
    assert best > 0.98 * found


@pytest.mark.slow
def test_the_value_with_noise_bounds_every_policy():
    """Step 5 with noise: the logarithm of the value grows by no more than the rates say."""
    rng = np.random.default_rng(5)
    known, sigmas = drawn_problem(rng, 4)
    worst, angle = 0.0, np.linspace(0, math.pi / 2, backward.ANGLES + 1)
    for draw in range(100):
        f = backward.step(np.ones_like(backward.GRID), known[3], sigmas[4], top=True)
        for l in range(2, -1, -1):
            gained, pushed = (
                np.abs(rng.normal(size=2)) * rng.integers(0, 2, size=2) * (1 + draw % 2)
            )
            now, following, x = known[l], sigmas[l + 1], backward.GRID[:, None]
            Q = now.Q + gained * now.sigma
            rho = np.sqrt(Q**2 + 2 * Q * x * np.cos(angle) + x**2)
            s = (now.M + pushed) * rho + x * (now.N * np.sin(angle) + now.E * np.cos(angle))
            noisy = (rho * backward.interpolated(f, following * s / rho)).max(1)
            clean = backward.step(f, now, following, top=False)
            rate = gained * now.sigma / now.Q + pushed * backward.growth(f) * following
            grown = np.log(noisy / clean).max()
            assert grown <= rate + 1e-9
            worst = max(worst, grown / rate if rate > 0.01 else 0.0)
            f = clean
    assert worst > 0.3, "the test must be able to fail"


def test_the_tail_is_above_a_drawn_quantile():
    """Positive parts of normal variables, and of a Lipschitz function that is not convex."""
    rng = np.random.default_rng(3)
    factors = [0.03, 0.02, 0.05, 0.01]
    drawn = np.maximum(np.array(factors) * rng.normal(size=(200_000, 4)), 0).sum(1)
    folded = -np.abs(rng.normal(size=200_000) - 1)
    drawn += 0.04 * np.maximum(folded - folded.mean(), 0)
    terms = [partial(backward.positive, factor) for factor in factors]
    terms.append(partial(backward.gain, 0.04))
    for failure in (0.1, 0.01, 0.001):
        y = backward.quantile(terms, failure)
        assert np.quantile(drawn, 1 - failure) <= y <= 2.5 * np.quantile(drawn, 1 - failure)


def test_neurons_are_counted_in_their_interval():
    z = torch.tensor([-2.0, -1e-9, 0.0, 1e-3, 0.7, 2.0], dtype=torch.float64)
    layer = BackwardLayer.of(0.1, z, 3.0)
    assert float(layer.active.sum()) == float(layer.inactive.sum()) == 3
    for some, count in ((z[z > 0], layer.active), (-z[z <= 0], layer.inactive)):
        for place in count.nonzero()[:, 0]:
            inside = (some >= layer.low[place]) & (some <= layer.high[place])
            assert inside.sum() == count[place]


@pytest.mark.slow
def test_a_narrow_map_is_bounded():
    X, phi = ws.Sample.gaussian(13, 10, 2), ws.DRF(13, 10, 2, seed=3)  # 65 of 130 neurons are awake
    s = ws.sensitivity(phi, X, positions="all", effort=0.1)
    assert s.upper is not None and s.lower <= s.upper < math.inf


@pytest.mark.slow
def test_no_attained_value_exceeds_the_bound():
    finite: list[int] = []
    for seed in range(20):
        n, d, depth = 40, 16, 2 + seed % 2
        X, phi = ws.Sample.gaussian(n, d, seed), ws.DRF(n, d, depth, seed=seed + 50)
        s = ws.sensitivity(phi, X, positions=0, effort=0.5, certificate=False)
        trace = phi.view(X, torch.float64).trace
        layers = backward_layers(trace)
        bounds = [backward_bound(layers, d, math.sqrt(d), one) for one in (None, 0.5, 1e-9)]
        assert s.lower * trace.norm <= bounds[0] <= bounds[1] <= bounds[2]
        finite += [depth] * math.isfinite(bounds[1])
    assert bounds[0] < math.inf and finite.count(2) == 10, "the test must be able to fail"


@pytest.mark.slow
def test_small_changes_have_finite_bounds_in_proportion():
    X, phi = ws.Sample.gaussian(100, 4, 0), ws.DRF(100, 4, 2, k=400, seed=1)
    layers = backward_layers(phi.view(X, torch.float64).trace)
    radii = [10.0**-power for power in range(5)]
    gains = [backward_bound(layers, 4, radius, 0.5e-9) / radius for radius in radii]
    assert max(gains) <= 1.2 * gains[0] < math.inf


def test_a_failure_that_underflows_proves_nothing():
    layer = BackwardLayer.of(0.1, torch.linspace(-1, 1, 8, dtype=torch.float64), 3.0)
    assert backward_bound([layer] * 1100, 4, 1.0, 1e-9) == math.inf
