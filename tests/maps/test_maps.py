"""The contract every map keeps. A new map is one line in CASES: a constructor, and its naive
version.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

import naive
import wordsway as ws
from tolerances import TOLERANCE
from wordsway.maps.activation import activation
from wordsway.maps.attention.family import SigmoidRAF


class Case(NamedTuple):
    make: Callable[..., ws.FeatureMap]  # (n, d, seed, dtype) → map
    naive: Callable[[Any], Callable[[torch.Tensor], torch.Tensor]]


def fully_connected(**options) -> Case:
    depth, name = options.pop("depth", 1), options.get("activation", "relu")

    def make(n, d, seed, dtype):
        if depth == 1:
            return ws.RF(
                n,
                d,
                options.get("k"),
                seed,
                activation=name,
                dtype=dtype,
                draw=options.get("draw", "auto"),
            )
        return ws.DRF(
            n,
            d,
            depth,
            options.get("k"),
            seed,
            activation=name,
            dtype=dtype,
            draw=options.get("draw", "auto"),
        )

    def slow(phi):
        weights = [phi.first.dense().double()] + [V.dense().double() for V in phi.later]
        return lambda X: naive.layers(X, weights, name)

    return Case(make, slow)


def attention(kind: str) -> Case:
    kinds: dict[str, Any] = {"softmax": ws.RAF, "relu": ws.ReluRAF, "sigmoid": SigmoidRAF}
    make = kinds[kind]
    return Case(
        lambda n, d, seed, dtype: make(d, seed, dtype=dtype),
        lambda phi: lambda X: naive.attention(X, phi.weight.double(), kind),
    )


def sharp_attention(n, d, seed, dtype):
    """Weights thirty times the usual: rows that give everything to one word."""
    noise = torch.Generator().manual_seed(seed)
    return ws.RAF(weight=30 * torch.randn(d, d, generator=noise, dtype=torch.float64), dtype=dtype)


CASES = {
    "rf": fully_connected(),
    "rf-narrow": fully_connected(k=3),
    "rf-drawn": fully_connected(draw="on-demand"),
    "drf": fully_connected(depth=3),
    "drf-drawn": fully_connected(depth=3, draw="on-demand", k=7),
    "raf": attention("softmax"),
    "relu-raf": attention("relu"),
    "sigmoid": attention("sigmoid"),
    "raf-sharp": Case(
        sharp_attention, lambda phi: lambda X: naive.attention(X, phi.weight.double(), "softmax")
    ),
    "callable": Case(
        lambda n, d, seed, dtype: ws.FeatureMap.of(lambda X: torch.sin(2 * X), dtype=dtype),
        lambda phi: lambda X: torch.sin(2 * X),
    ),
    **{f"rf-{name}": fully_connected(activation=name) for name in naive.ACTIVATIONS},
    **{
        f"drf-{name}": fully_connected(activation=name, depth=2)
        for name in ("tanh", "gelu", "leaky-relu")
    },
}
SIZES = [(1, 3), (2, 2), (5, 4), (8, 3)]


def texts(n: int, d: int, seed: int = 0) -> ws.Sample:
    """Off-centre values, and from n = 5 on a repeated token."""
    noise = torch.Generator().manual_seed(seed)
    rows = torch.randn(n, d, generator=noise, dtype=torch.float64) + 0.4
    if n >= 5:
        rows[3] = rows[1]
    return ws.Sample(rows)


def batch(n: int, d: int, dtype=torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Words and Δ: small, of the ball's size, beyond it, and zero."""
    noise = torch.Generator().manual_seed(1)
    delta = (
        torch.randn(7, d, generator=noise, dtype=torch.float64)
        * torch.tensor([0, 1e-3, 0.3, 1, 1, 1.5, 3.0])[:, None].double()
    )
    return torch.arange(7) % n, delta.to(dtype)


def made(name: str, n: int, d: int, dtype=torch.float64) -> tuple[Any, ws.Sample]:
    """The case's map and a text with φ(X) ≠ 0 (tiny ReLU maps may vanish: take the next seed)."""
    for seed in range(20):
        phi, X = CASES[name].make(n, d, seed, dtype), texts(n, d, seed)
        if float(phi(X).norm()) > 0:
            return phi, X
    raise AssertionError("no seed gives a map that does not vanish")


#: Cases that differ from another one in the activation alone, which the first tests compare.
ACTIVATIONS = {f"{family}-{name}" for family in ("rf", "drf") for name in naive.ACTIVATIONS}


def contract(test):
    """For every case at every size."""
    return pytest.mark.parametrize("name", CASES)(pytest.mark.parametrize(("n", "d"), SIZES)(test))


def outer_contract(test):
    """For every kind of map, with one row and with more rows than dimensions."""
    names = [name for name in CASES if name not in ACTIVATIONS]
    return pytest.mark.parametrize("name", names)(
        pytest.mark.parametrize(("n", "d"), [SIZES[0], SIZES[-1]])(test)
    )


@contract
def test_definition_equals_the_naive_loop(name, n, d):
    phi, X = made(name, n, d)
    fast = phi(X)
    slow = CASES[name].naive(phi)(X.X)
    assert fast.shape == slow.shape
    assert (fast - slow).norm() <= 1e-10 * slow.norm()


@contract
def test_view_equals_definition(name, n, d):
    phi, X = made(name, n, d)
    words, delta = batch(n, d)
    value = phi.view(X).value(words, delta).sqrt()
    before = phi.exact(X)
    for row in range(len(words)):
        after = phi.exact(X.replaced(int(words[row]), delta[row]))
        expected = float((after - before).norm() / before.norm())
        assert float(value[row]) == pytest.approx(expected, rel=1e-10, abs=1e-13)


@contract
def test_gradient_matches_autograd_of_the_definition(name, n, d):
    phi, X = made(name, n, d)
    words, delta = batch(n, d)
    words, delta = words[1:], delta[1:]  # at Δ = 0 a ReLU map has a kink in S
    value, gradient = phi.view(X).value_and_gradient(words, delta)
    slow = differentiable(name, phi)
    for row in range(len(words)):
        step = delta[row].clone().requires_grad_(True)
        moved = torch.cat(
            [X.X[: words[row]], (X.X[words[row]] + step)[None], X.X[words[row] + 1 :]]
        )
        before = slow(X.X)
        change = ((slow(moved) - before) ** 2).sum() / (before**2).sum()
        (expected,) = torch.autograd.grad(change, step, allow_unused=True)
        expected = torch.zeros_like(step) if expected is None else expected
        assert float(value[row]) == pytest.approx(float(change.detach()), rel=1e-10, abs=1e-15)
        assert torch.allclose(
            gradient[row], expected, rtol=1e-7, atol=1e-9 * (1 + float(expected.abs().max()))
        )


def differentiable(name, phi):
    """The definition in plain torch, for autograd."""
    if not hasattr(phi, "first") and hasattr(phi, "weight"):
        W, d = phi.weight.double(), phi.d

        def attend(X):
            scores = X @ W @ X.T / math.sqrt(d)
            if phi.name == "raf":
                return torch.softmax(scores, -1) @ X
            if phi.name == "sigmoid":
                return torch.sigmoid(scores - math.log(len(X))) @ X
            w = torch.relu(scores)
            total = w.sum(-1, keepdim=True)
            return w / torch.where(total > 0, total, 1.0) @ X

        return attend
    if phi.name == "callable":
        return lambda X: torch.sin(2 * X)
    weights = [phi.first.dense().double()] + [V.dense().double() for V in phi.later]

    def chain(X):
        h = X.flatten()
        for V in weights:
            h = phi.activation(V @ h)
        return h

    return chain


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("n", "d"), [SIZES[0], SIZES[-1]])
def test_gradient_matches_finite_differences(name, n, d):
    phi, X = made(name, n, d)
    view = phi.view(X)
    words, delta = batch(n, d)
    words, delta = words[2:6], delta[2:6]
    direction = torch.randn(4, d, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    _, gradient = view.value_and_gradient(words, delta)
    h = 1e-6
    slope = (
        view.value(words, delta + h * direction) - view.value(words, delta - h * direction)
    ) / (2 * h)
    expected = (gradient * direction).sum(1)
    assert torch.allclose(slope, expected, rtol=1e-5, atol=1e-6 * (1 + float(gradient.abs().max())))


@outer_contract
def test_a_batch_equals_its_rows_one_by_one(name, n, d):
    phi, X = made(name, n, d)
    view = phi.view(X)
    words, delta = batch(n, d)
    value, gradient = view.value_and_gradient(words, delta)
    for row in range(len(words)):
        one, slope = view.value_and_gradient(words[row : row + 1], delta[row : row + 1])
        assert torch.allclose(one, value[row : row + 1], rtol=1e-10, atol=1e-15)
        assert torch.allclose(slope, gradient[row : row + 1], rtol=1e-9, atol=1e-12)
    stacked = phi([X, X.replaced(0, delta[3])])
    assert torch.allclose(stacked[0], phi(X), atol=1e-12)
    assert torch.allclose(stacked[1], phi(X.replaced(0, delta[3])), atol=1e-12)


@outer_contract
def test_points_of_a_plane_equal_points_asked_one_by_one(name, n, d):
    phi, X = made(name, n, d)
    view = phi.view(X)
    rows, a = batch(n, d)
    b = a.flip(1) * 0.7
    plane = view.plane(rows, a, b)
    noise = torch.Generator().manual_seed(3)
    for _ in range(2):
        c, s = torch.randn(2, len(rows), dtype=torch.float64, generator=noise)
        x = c[:, None] * a + s[:, None] * b
        value, gradient = view.value_and_gradient(rows, x)
        torch.testing.assert_close(plane.value(c, s), value)
        for found in (plane.value_and_gradient(c, s), plane.value_and_gradient(c, s)):
            torch.testing.assert_close(found[0], value)
            torch.testing.assert_close(found[1], gradient, rtol=1e-9, atol=1e-9)


@outer_contract
def test_single_precision_agrees(name, n, d):
    phi, X = made(name, n, d)
    words, delta = batch(n, d)
    words, delta = words[2:], delta[2:]
    if getattr(phi, "on_demand", False):
        single = CASES[name].make(n, d, 0, torch.float32)
        assert single(X).dtype == torch.float32
        return
    single = (
        CASES[name].make(n, d, 0, torch.float32) if name == "callable" else phi
    )  # a callable computes in its own precision
    double, half = phi.view(X), single.view(X, torch.float32)
    expected, got = double.value(words, delta), half.value(words, delta.float()).double()
    assert torch.allclose(got, expected, rtol=50 * TOLERANCE[torch.float32], atol=1e-5)


@outer_contract
def test_same_seed_same_numbers(name, n, d):
    X = texts(n, d)
    first, second, other = (CASES[name].make(n, d, seed, torch.float64)(X) for seed in (3, 3, 4))
    assert torch.equal(first, second)
    if name != "callable" and float(first.norm()) + float(other.norm()) > 0 and n >= 5:
        assert not torch.equal(first, other)


@outer_contract
def test_a_constant_factor_changes_nothing(name, n, d):
    """S(cφ) = S(φ)."""
    phi, X = made(name, n, d)
    words, delta = batch(n, d)
    scaled = ws.FeatureMap.of(lambda Y: -7.0 * torch.stack([phi.exact(text) for text in Y]))
    assert torch.allclose(
        scaled.view(X).value(words, delta), phi.view(X).value(words, delta), rtol=1e-9, atol=1e-13
    )


@pytest.mark.parametrize("name", ["rf", "drf", "raf", "relu-raf", "sigmoid"])
def test_given_weights_reproduce_the_drawn_map(name):
    phi, X = made(name, 5, 4)
    if name in ("raf", "relu-raf", "sigmoid"):
        twin = type(phi)(weight=phi.weight)
    elif name == "rf":
        twin = ws.RF(weight=phi.first.dense(), n=5)
    else:
        twin = ws.DRF(weights=[phi.first.dense()] + [V.dense() for V in phi.later], n=5)
    assert torch.equal(twin(X), phi(X))
    assert twin.describe()["seed"] is None


def test_all_answers_of_a_drawn_map_agree_with_one_matrix():
    phi, X = ws.DRF(6, 5, 3, 12, seed=1, draw="on-demand"), texts(6, 5)
    view = phi.view(X)
    words, delta = batch(6, 5)
    values = view.value(words, delta).sqrt()
    other = phi(ws.Sample.gaussian(6, 5, 9))
    dense = ws.DRF(weights=[phi.first.dense()] + [V.dense() for V in phi.later], n=6)
    assert torch.allclose(dense(X), phi(X), atol=1e-12)
    assert torch.allclose(dense(ws.Sample.gaussian(6, 5, 9)), other, atol=1e-12)
    assert torch.allclose(dense.view(X).value(words, delta).sqrt(), values, rtol=1e-10, atol=1e-13)


def test_weights_in_memory_can_be_read_and_others_are_refused():
    phi, x = ws.RF(3, 2, k=5, seed=0), ws.Sample.gaussian(3, 2, seed=0)
    assert torch.allclose(phi(x), torch.relu(phi.weight @ x.X.ravel()))
    assert [len(V) for V in ws.DRF(3, 2, k=5, depth=3, seed=0).weights] == [5, 5, 5]
    with pytest.raises(ws.InputError, match='draw="dense"'):
        _ = ws.RF(3, 2, seed=0, draw="on-demand").weight


def test_sizes_may_be_numpy_numbers():
    import numpy as np

    n: Any = np.int64(3)
    d: Any = np.int32(2)
    for phi in (ws.RF(n, d, n + 1, seed=0), ws.DRF(n, d, n, seed=0), ws.RAF(d, 0)):
        assert phi(ws.Sample.gaussian(n, d, 0)).dtype == torch.float64


def test_variances_are_the_papers():
    n, d, k = 10, 40, 400
    rf = ws.RF(n, d, seed=0).first.dense()
    drf = ws.DRF(n, d, 3, seed=0)
    assert float(rf.var()) == pytest.approx(1 / (n * d), rel=0.02)
    assert float(drf.first.dense().var()) == pytest.approx(2 / (n * d), rel=0.02)
    assert float(drf.later[1].dense().var()) == pytest.approx(2 / k, rel=0.02)
    assert float(ws.DRF(n, d, 2, seed=0, activation="tanh").first.dense().var()) == pytest.approx(
        1 / (n * d), rel=0.02
    )
    assert float(ws.RAF(200, 0).weight.var()) == pytest.approx(1 / 200, rel=0.03)


def test_relu_attention_rows_without_a_positive_score_stay_zero():
    W = -torch.eye(2, dtype=torch.float64)
    X = ws.Sample([[1.0, 0.0], [1.0, 0.1]])
    assert torch.equal(ws.ReluRAF(weight=W)(X), torch.zeros(2, 2, dtype=torch.float64))
    with pytest.raises(ws.InputError, match="φ\\(X\\) ≠ 0"):
        ws.sensitivity(ws.ReluRAF(weight=W), X)


@pytest.mark.parametrize("name", naive.ACTIVATIONS)
def test_activations_match_their_formula_and_bound_their_moves(name):
    phi = activation(name)
    z = torch.linspace(-4, 4, 81, dtype=torch.float64)
    assert torch.allclose(
        phi(z),
        torch.tensor([naive.ACTIVATIONS[name](v) for v in z.tolist()], dtype=torch.float64),
        atol=1e-14,
    )
    off = z + 1e-3  # away from the kink
    slope = (phi(off + 1e-7) - phi(off - 1e-7)) / 2e-7
    assert torch.allclose(phi.derivative(off), slope, atol=1e-6)
    assert float(slope.abs().max()) <= phi.lipschitz * (1 + 1e-6)
    for c in (0.1, 0.7, 2.0, 5.0):
        u = torch.linspace(-c, c, 401, dtype=torch.float64)
        u = u[u.abs() > 1e-9]
        ratio = ((phi(z[:, None] + u) - phi(z)[:, None]).abs() / u.abs()).amax(1)
        gain = phi.gain(z, torch.full_like(z, c))
        assert (ratio <= gain * (1 + 1e-9) + 1e-12).all()
        assert (gain <= phi.lipschitz + 1e-12).all()
        dense = torch.linspace(-c, c, 4001, dtype=torch.float64)
        inside = phi.derivative(z[:, None] + dense).abs().amax(1)
        bound = phi.slope(z - c, z + c)
        assert (inside <= bound + 1e-9).all()
    if name in ("relu", "leaky-relu", "tanh", "gelu", "sigmoid", "erf"):
        assert float(phi.gain(torch.tensor([-8.0]), torch.tensor([0.5]))) < 0.05, (
            "a saturated neuron hardly moves"
        )


def test_a_callable_activation_works_and_has_a_certificate_only_with_a_lipschitz_constant():
    X = ws.Sample.gaussian(4, 5, 0)
    free = ws.RF(4, 5, seed=0, activation=torch.sin)
    stated = ws.RF(4, 5, seed=0, activation=ws.activation(torch.sin, lipschitz=1.0))
    without, with_bound = ws.sensitivity(free, X, seed=1), ws.sensitivity(stated, X, seed=1)
    assert without.upper is None
    assert without.certificate is None
    assert with_bound.upper >= with_bound.lower == pytest.approx(without.lower)


def test_a_layer_of_zeros_has_no_bound_by_probability():
    """Theorem 2 divides by the norm of every layer but the last."""
    spike = ws.activation(lambda z: (1 - (1e6 * z).abs()).clamp_min(0), lipschitz=1e6)
    phi, X = ws.DRF(3, 4, depth=2, seed=0, activation=spike), ws.Sample.gaussian(3, 4, 0)
    assert ws.sensitivity(phi, X, positions=0).certificate == "float64"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ws.RF(), "n and d"),
        (lambda: ws.RF(3, 0), "d ≥ 1"),
        (lambda: ws.RF(3, 2, k=0), "k ≥ 1"),
        (lambda: ws.RF(3, 2, activation="swish"), "activation among"),
        (lambda: ws.RF(3, 2, activation=3), "or a function"),  # type: ignore[arg-type]
        (lambda: ws.RF(3, 2, draw="lazy"), "draw to be a string among"),
        (lambda: ws.RF(weight=torch.zeros(4, 7), n=3), "divides"),
        (lambda: ws.DRF(weights=[], n=3), "at least one"),
        (lambda: ws.DRF(weights=[torch.ones(4, 6), torch.ones(5, 3)], n=3), "4 columns"),
        (lambda: ws.DRF(3, 2, depth=0), "depth ≥ 1"),
        (lambda: ws.DRF(3, 2, beta=-1.0), "beta > 0"),
        (lambda: ws.RAF(), "d ≥ 1"),
        (lambda: ws.RAF(weight=torch.zeros(2, 3)), "square"),
        (lambda: ws.RAF(3, weight=torch.zeros(2, 2)), "d=2"),
        (lambda: ws.RAF(4)(ws.Sample.gaussian(2, 3, 0)), "d=4"),
        (lambda: ws.RF(3, 2)(ws.Sample.gaussian(2, 2, 0)), "n=3, d=2"),
        (lambda: ws.RAF(2)([1.0, 2.0]), r"\(…, n, d\)"),
        (lambda: ws.RAF(2)("text"), "a text of numbers"),
        (
            lambda: ws.RAF(2)([ws.Sample.gaussian(2, 2, 0), ws.Sample.gaussian(3, 2, 0)]),
            "one shape",
        ),
        (lambda: ws.FeatureMap.of(3), "function to be a function"),
        (lambda: ws.FeatureMap.of(lambda X: X.sum())(torch.ones(2, 3, 4)), "keep the leading axes"),
    ],
)
def test_bad_maps_are_refused(make, message):
    with pytest.raises(ws.InputError, match=message):
        make()
