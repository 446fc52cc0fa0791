"""The comparison run backwards: each step of docs/proofs-drf.md against brute force."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.maps.dense import backward
from wordsway.maps.dense.backward import BackwardLayer, backward_bound, constants, gain


def test_the_comparison_holds_for_small_layers():
    """Step 1: E sup J(Gδ) ≤ E sup sup_w J(σ‖δ‖g′ + w), and so are tails up to a factor of 2."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        k, m, points, draws = 2, 3, 5, 6000
        z, T = rng.normal(size=k), rng.normal(size=(points, m))
        g = rng.normal(size=k)

        def J(u, z=z, g=g):
            change = np.maximum(z + u, 0) - np.maximum(z, 0)
            linear = np.where(z > 0, u, 0) * g
            flips = np.maximum(g, 0) * (change - np.where(z > 0, u, 0))
            q = np.where(z > 0, u, change)
            return np.linalg.norm(q, axis=-1) + 0.7 * np.maximum((linear + flips).sum(-1), 0)

        left = J(np.einsum("bkm,pm->bpk", rng.normal(size=(draws, k, m)), T)).max(1)
        angle = np.linspace(0, 2 * math.pi, 64, endpoint=False)
        circle = np.stack([np.cos(angle), np.sin(angle)], -1)
        first, second = rng.normal(size=(draws, k)), rng.normal(size=(draws, m))
        sizes, push = np.linalg.norm(T, axis=1), np.maximum(second @ T.T, 0)
        moved = sizes[None, :, None] * first[:, None]
        moved = moved[:, :, None] + push[:, :, None, None] * circle
        right = np.maximum(J(moved).max((1, 2)), J(sizes[None, :, None] * first[:, None]).max(1))
        assert left.mean() <= right.mean() * 1.02
        for share in (0.5, 0.9, 0.99):
            level = np.quantile(left, share)
            assert (left > level).mean() <= 2 * (right > level).mean() + 4 * math.sqrt(1 / draws)


def small_layer(
    k: int, first: bool, rng: np.random.Generator
) -> tuple[BackwardLayer, torch.Tensor]:
    z = torch.as_tensor(rng.normal(size=k))
    below = math.sqrt(k / 2)
    along = torch.as_tensor(rng.normal(size=k)) * math.sqrt(2 / k) if first else z / below
    return BackwardLayer.of(math.sqrt(2 / k), z, along, first=first), z


@pytest.mark.parametrize("first", [True, False])
def test_the_numbers_of_a_layer_bound_drawn_ones(first):
    """Steps 3 and 4: states after one layer, for moves and pushes that were searched for."""
    rng = np.random.default_rng(1)
    k, t = 4000, 4.5
    layer, z = small_layer(k, first, rng)
    sigma, following = layer.sigma, layer.sigma
    along = torch.where(z > 0, -1.0, 1.0) * layer.along if first else z / math.sqrt(k / 2)
    for _ in range(20):
        rho = float(rng.uniform(1, 8))
        s = float(rng.uniform(0.05, 0.4)) * rho
        now = numbers(layer, rho, s, t)
        h = torch.relu(z)
        g = torch.as_tensor(rng.normal(size=k))
        g = g - h * (h @ g) / (h @ h)
        fresh = torch.as_tensor(rng.normal(size=k))
        for share in (1.0, 0.6):
            for angle in (-1.2, -0.4, 0.0, 0.8):
                v = share * rho * (sigma * math.cos(angle) * fresh + math.sin(angle) * along)
                for weight in (0.0, 0.3, 1.0, 3.0, 100.0):
                    # Towards the gradient of ‖q‖ + weight·(what g sees), then along it again.
                    w = torch.zeros_like(v)
                    for _ in range(4):
                        u = v + w
                        after = (z + u > 0).to(z.dtype)
                        q = torch.where(z > 0, u, torch.relu(z + u))
                        seen = torch.where(z > 0, g, g.clamp_min(0)) * torch.where(
                            (z > 0) & (g < 0), torch.ones_like(after), after
                        )
                        ascent = torch.where(z > 0, q, q * after) / q.norm() + weight * seen
                        w = share * s * ascent / ascent.norm()
                    u = v + w
                    q = torch.where(z > 0, u, torch.relu(z + u)).norm()
                    change = torch.relu(z + u) - torch.relu(z)
                    awake = torch.where(z > 0, u, 0.0)
                    k_g = float(g @ awake + g.clamp_min(0) @ (change - awake))
                    assert float(change.norm()) <= float(q) + 1e-9
                    assert float(g @ change) <= k_g + 1e-9
                    assert inside(now, following, rho, s, t, float(q), following * max(0.0, k_g))


def numbers(layer, rho, s, t):
    Q = gain(layer, rho)
    now = constants(layer, Q, rho, rho + s / Q, s, s / rho, t)
    assert now is not None
    return now


def inside(now, following, rho, s, t, after, push) -> bool:
    """Whether a state is below the frontier of the control problem, its variables at their box."""
    angle = np.linspace(0, math.pi / 2, 400)
    Q = now.Q + now.sigma * t
    along = now.lipschitz[0]
    x = now.d * s * math.exp(t * (along / now.Q / now.low / 2 + now.varies))
    most = np.sqrt((Q * rho) ** 2 + 2 * Q * rho * x * np.cos(angle) + x * x)
    pushed = now.most * (rho + s * np.cos(angle) / now.Q)
    pushed = following * (1 + t / now.N) * (pushed + now.N * x * np.sin(angle))
    return bool(((after <= most * 1.001) & (push <= pushed * 1.001)).any())


def test_the_value_is_above_every_policy():
    """Step 5 with all variables at zero: random angles of the adversary."""
    rng = np.random.default_rng(2)
    k = 6000
    layers = [small_layer(k, number == 0, rng)[0] for number in range(3)]
    sigmas = [layer.sigma for layer in layers] * 2
    known = [numbers(layer, 4.0, 0.8, 6.0) for layer in layers]
    ends = (None, 1 + backward.GRID / 2, backward.GRID + backward.SHARE)
    found, reached, pushed = (backward.value(known, sigmas, 0.2, None, end) for end in ends)
    for _ in range(2000):
        rho, s = 1.0, 0.2
        for now, following in zip(known, sigmas[1:], strict=False):
            straight = now.Q * rho + s
            angle = float(rng.uniform(0, math.pi / 2))
            x = now.d * s
            push = now.P * (rho + s * math.cos(angle) / now.Q) + now.N * x * math.sin(angle)
            rho = math.sqrt((now.Q * rho) ** 2 + 2 * now.Q * rho * x * math.cos(angle) + x * x)
            s = following * push
        assert straight <= found
        assert rho + s / 2 <= reached
        assert s + backward.SHARE * rho <= pushed


def test_the_value_with_noise_is_above_every_policy():
    """Step 5 with noise: the logarithm of the value grows by no more than the rates say."""
    rng = np.random.default_rng(5)
    k, t = 6000, 6.0
    layers = [small_layer(k, number == 0, rng)[0] for number in range(4)]
    sigmas = [layer.sigma for layer in layers] * 2
    known = [numbers(layer, 4.0, 2.4, t) for layer in layers]
    worst = 0.0
    for draw in range(400):
        drawn = np.abs(rng.normal(size=(4, 5))) * rng.integers(0, 2, size=(4, 5)) * (1 + draw % 2)
        # The largest value of the noisy problem, on the same grid, without a floor.
        f = np.ones_like(backward.GRID)
        for l in range(3, -1, -1):
            now, following = known[l], sigmas[l + 1]
            gained, number, copied, typical, woken = drawn[l]
            if l == 3:
                f = backward.step(f, now, following, top=True)
                continue
            along = now.lipschitz[0]
            ds = backward.GRID[:, None] * now.d
            ds = ds * (1 + typical * along / (2 * now.low * now.Q)) * np.exp(woken * now.varies)
            angle = np.linspace(0, math.pi / 2, backward.ANGLES + 1)
            Q = now.Q + gained * now.sigma
            rho = np.sqrt(Q**2 + 2 * Q * ds * np.cos(angle) + ds**2)
            reach = 1 + backward.GRID[:, None] * np.cos(angle) / now.Q
            s = (now.P + typical * along) * reach / (1 - min(0.5, copied / now.low))
            s = following * (1 + number / now.N) * (s + now.N * ds * np.sin(angle))
            clean = backward.step(f, now, following, top=False)
            noisy = (rho * backward.interpolated(f, s / rho)).max(1)
            by_push = backward.growth(f) * following / now.Q
            inside = backward.GRID <= 0.6
            scaled = backward.elasticity(clean, now.ratio)
            counted = backward.elasticity(f, float((s / rho)[inside].max()))
            rate = (
                gained * now.sigma / now.Q
                + counted * number / now.N
                + copied / (now.low - copied) * min(1.0, by_push * (now.P + typical * along))
                + typical * (by_push * along + scaled * along / (2 * now.low * now.Q))
                + woken * scaled * now.varies
            )
            grown = np.log(noisy / clean)[inside].max()
            assert grown <= rate + 1e-9
            worst = max(worst, grown / rate if rate > 0.01 else 0.0)
            f = clean
    assert worst > 0.3, "the test must be able to fail"


def test_the_tail_is_above_a_drawn_quantile():
    """Positive parts, the largest of several, and sums above their mean that depend on others."""
    rng = np.random.default_rng(3)
    factors = [[0.03], [0.02], [0.05, 0.05, 0.01], [0.01, 0.01]]
    drawn = sum(
        np.maximum(np.array(some) * rng.normal(size=(200_000, len(some))), 0).max(1)
        for some in factors
    )
    shared = rng.normal(size=(200_000, 4))
    several = shared[:, :2].clip(-2, 2)
    drawn = drawn + 0.02 * np.maximum(shared[:, 0], 0) + 0.01 * np.maximum(several, 0).max(1)
    terms = [partial(backward.positive, some) for some in factors]
    terms.append(partial(backward.of_layer, 0.02, 0.01, (1.0, 1.0)))
    for failure in (0.1, 0.01, 0.001):
        y = backward.quantile(terms, failure)
        assert np.quantile(drawn, 1 - failure) <= y <= 2.5 * np.quantile(drawn, 1 - failure)


@pytest.mark.parametrize("q", [0.0, 0.3, 0.9])
def test_no_angle_takes_a_neuron_further_than_the_lowered_threshold(q):
    """Beyond the first layer: one threshold for all angles, touched by one of them."""
    angle = np.linspace(-math.pi / 2, math.pi / 2, 2001)[:, None]
    drawn = np.linspace(-4, 4, 81)
    gaps = np.cos(angle) * drawn - 1.3 * (1 - q * np.sin(angle))
    lowered = np.maximum(drawn - 1.3 * math.sqrt(1 - q * q), 0)
    assert (np.maximum(gaps, 0) <= lowered + 1e-12).all()
    left = 1.3 * (1 - q * np.sin(angle)) - np.cos(angle) * drawn.clip(0)
    rest = (1 - q) * np.maximum(1.3 - drawn.clip(0) / math.sqrt(1 - q * q), 0)
    assert (np.maximum(left, 0) >= rest - 1e-12).all()


def test_flips_stay_below_their_variance():
    """E exp(λ(Σp − mean)) ≤ exp(λ²V/2), in the mean over draws."""
    rng = np.random.default_rng(4)
    m, sd = -torch.rand(300, dtype=torch.float64) / 10, 0.04
    count = torch.ones_like(m)
    _, mean, V = backward.flips(count, m, sd, 5.0)
    drawn = np.maximum(m.numpy() + sd * rng.normal(size=(20_000, 300)), 0).sum(1)
    above = drawn - mean * math.sqrt(2 * math.pi)
    assert abs(above.mean()) < 4 * above.std() / math.sqrt(len(above))
    for rate in (0.5, 2.0, 4.0):
        assert np.exp(rate * above).mean() <= math.exp(rate**2 * V / 2) * 1.05


def test_a_layer_with_hardly_enough_awake_neurons_is_bounded():
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
        seen = X.X[0] / X.X[0].norm() @ phi.first.block(0).T
        layers = [BackwardLayer.of(math.sqrt(2 / (n * d)), trace.z[0], seen, first=True)]
        for z, h in zip(trace.z[1:], trace.h[:-1], strict=True):
            layers.append(BackwardLayer.of(math.sqrt(2 / phi.k), z, z / h.norm(), first=False))
        bounds = [backward_bound(layers, d, math.sqrt(d), one) for one in (None, 0.5, 1e-9)]
        assert s.lower * trace.norm <= bounds[0] <= bounds[1] <= bounds[2]
        finite += [depth] * math.isfinite(bounds[1])
    assert bounds[0] < math.inf and finite == [2] * 10, "the test must be able to fail"
