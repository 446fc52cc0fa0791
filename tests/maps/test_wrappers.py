"""Residual streams, norms, read-outs and blocks: equal to their definitions, incremental or not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import naive
import wordsway as ws
from readings import gradients_of
from wordsway.maps.attention.family import SigmoidRAF
from wordsway.maps.block import NormedText
from wordsway.maps.wrappers import Norm


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def sharp(d: int) -> ws.FeatureMap:
    """Rows that give everything to one word."""
    return ws.RAF(weight=30 * random(d, d, seed=d))


def heads(d: int, scale: float, **choices: Any) -> ws.FeatureMap:
    """One head with weights ``scale`` times the usual."""
    usual = ws.Attention(d, 4, heads=1, **choices).given
    weights = {name: scale * matrix for name, matrix in usual.items()}
    return ws.Attention(weights=weights, heads=1, **choices)


INNER: dict[str, Callable[[int], ws.FeatureMap]] = {
    "raf": lambda d: ws.RAF(d, 1),
    "relu-raf": lambda d: ws.ReluRAF(d, 3),
    "sigmoid": lambda d: SigmoidRAF(d, 1),
    "sharp": sharp,
    "heads": lambda d: ws.Attention(d, 2, heads=d if d < 4 else d // 2),
    "sharp heads": lambda d: heads(d, 30.0, mask="causal", positions="alibi"),
    "positions": lambda d: ws.Attention(d, 1, scores="linear/n", positions="sinusoidal"),
    "callable": lambda d: ws.FeatureMap.of(lambda X: torch.sin(2 * X)),
}
WRAPPERS: dict[str, Callable[[ws.FeatureMap, int], ws.FeatureMap]] = {
    "residual": lambda phi, d: ws.residual(phi),
    "layer": lambda phi, d: ws.layer_norm(phi),
    "rms": lambda phi, d: ws.rms_norm(phi),
    "layer of residual": lambda phi, d: ws.layer_norm(ws.residual(phi)),
    "rms of residual of layer": lambda phi, d: ws.rms_norm(ws.residual(ws.layer_norm(phi))),
    "mean": lambda phi, d: ws.read_out(phi, "mean"),
    "last": lambda phi, d: ws.read_out(phi, "last"),
    "row": lambda phi, d: ws.read_out(phi, 0),
    "mean of layer": lambda phi, d: ws.read_out(ws.layer_norm(ws.residual(phi)), "mean"),
    "normed text": lambda phi, d: NormedText(phi, Norm("layer")),
    "gpt": lambda phi, d: ws.transformer_block(phi, d, hidden=5, seed=2),
    "bert": lambda phi, d: ws.transformer_block(phi, d, order="post", norm="rms", seed=2),
}
SIZES = [(1, 3), (2, 2), (5, 4), (8, 6)]


def normed(u: list[float], kind: str, epsilon: float = 1e-5) -> list[float]:
    """One row, in plain numbers."""
    centre = math.fsum(u) / len(u) if kind == "layer" else 0.0
    size = math.sqrt(math.fsum((v - centre) ** 2 for v in u) / len(u) + epsilon)
    return [(v - centre) / size for v in u]


def test_definitions_equal_the_naive_loops() -> None:
    X, W = ws.Sample.gaussian(4, 3, 0), random(3, 3, seed=1)
    phi = ws.RAF(weight=W)
    rows = naive.attention(X.X, W, "softmax").tolist()
    stream = [[a + b for a, b in zip(u, v, strict=True)] for u, v in zip(X.X, rows, strict=True)]
    expected: list[tuple[ws.FeatureMap, Any]] = [
        (ws.residual(phi), stream),
        (ws.layer_norm(phi), [normed(row, "layer") for row in rows]),
        (ws.rms_norm(ws.residual(phi)), [normed([float(v) for v in row], "rms") for row in stream]),
        (ws.read_out(phi, "mean"), [math.fsum(row[a] for row in rows) / 4 for a in range(3)]),
        (ws.read_out(phi, "last"), rows[3]),
        (ws.read_out(phi, 1), rows[1]),
        (ws.read_out(phi, "all"), rows),
    ]
    for wrapper, slow in expected:
        assert torch.allclose(wrapper(X), torch.tensor(slow, dtype=torch.float64), atol=1e-12)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_blocks_equal_plain_torch(order: str) -> None:
    X, d = ws.Sample.gaussian(5, 8, 0), 8
    block: Any = ws.transformer_block(ws.RAF(d, 1), d, order=order, hidden=11, seed=4)
    first, second = block.function.first, block.function.second
    assert float(first.var()) == pytest.approx(1 / d, rel=0.5)

    def norm(u: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(u, (d,))

    def mlp(u: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(u @ first.T) @ second.T

    attend = ws.RAF(d, 1)
    if order == "pre":
        H = X.X + attend(norm(X.X))
        expected = H + mlp(norm(H))
    else:
        H = norm(X.X + attend(X.X))
        expected = norm(H + mlp(H))
    assert torch.allclose(block(X), expected, atol=1e-12)


def points(n: int, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    sizes = torch.tensor([0, 1e-3, 0.3, 1, 1, 1.5, 3.0], dtype=torch.float64)
    return torch.arange(7) % n, random(7, d, seed=5) * sizes[:, None]


def text(n: int, d: int) -> ws.Sample:
    rows = random(n, d, seed=n) + 0.4
    if n >= 5:
        rows[3] = rows[1]
    return ws.Sample(rows)


#: Every wrapper of every kind; each of them in both ways of norms, by turns.
WAYS = [
    (inner, wrapper, 1024 * ((row + column) % 2))
    for row, inner in enumerate(INNER)
    for column, wrapper in enumerate(WRAPPERS)
]


@pytest.mark.parametrize(("inner", "wrapper", "few"), WAYS)
def test_views_gradients_and_readouts_equal_the_definition(
    inner: str, wrapper: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of norms: by products alone, and (for small rows) in full. In two dimensions a
    layer norm knows two values only, and products cancel.
    """
    monkeypatch.setattr("wordsway.maps.wrappers.FEW", few)
    checked = 0
    for n, d in SIZES if few else SIZES[2:]:
        phi, X = WRAPPERS[wrapper](INNER[inner](d), d), text(n, d)
        try:
            view = phi.view(X)
        except ws.InputError:  # a map that vanishes at this text
            continue
        checked += 1
        rows, delta = points(n, d)
        values, slopes = view.value_and_gradient(rows, delta)
        assert torch.allclose(view.value(rows, delta), values, rtol=1e-12, atol=1e-24)
        before = phi.exact(X)
        thetas = random(2, before.numel(), seed=9)
        read, read_slopes = gradients_of(view.readout(thetas), rows, delta)
        for at, row in enumerate(rows.tolist()):
            step = delta[at].clone().requires_grad_(True)
            moved = torch.cat([X.X[:row], (X.X[row] + step)[None], X.X[row + 1 :]])
            after = phi.features(moved[None], torch.float64)[0]
            change = ((after - before) ** 2).sum() / (before**2).sum()
            expected = float(change.detach()) ** 0.5
            assert float(values[at]) ** 0.5 == pytest.approx(expected, rel=1e-10, abs=1e-13)
            if at:  # at Δ = 0 ReLU maps have a kink
                (slope,) = torch.autograd.grad(change, step, retain_graph=True)
                assert torch.allclose(
                    slopes[at], slope, rtol=1e-7, atol=1e-9 * (1 + float(slope.abs().max()))
                )
            for t, theta in enumerate(thetas):
                value = theta @ after.flatten()
                size = float(theta.norm() * after.detach().norm())
                assert abs(float(read[at, t] - value.detach())) <= 1e-10 * size
                if at:
                    (slope,) = torch.autograd.grad(value, step, retain_graph=True)
                    error = float((read_slopes[at, t] - slope).norm())
                    assert error <= 1e-8 * (size + float(slope.norm()))
    assert checked >= 1


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_single_precision_batches_and_factors(wrapper: str) -> None:
    n, d = 8, 6
    phi, X = WRAPPERS[wrapper](ws.RAF(d, 1), d), text(n, d)
    rows, delta = points(n, d)
    view = phi.view(X)
    values = view.value(rows, delta)
    single = phi.view(X, torch.float32).value(rows, delta.float()).double()
    assert torch.allclose(single, values, rtol=2e-4, atol=1e-5)
    alone = [view.value(rows[at : at + 1], delta[at : at + 1]) for at in range(7)]
    assert torch.allclose(torch.cat(alone), values, rtol=1e-9, atol=1e-20)
    assert view.bytes_per_point > 0
    both = phi([X, X.replaced(0, delta[3])])
    assert torch.allclose(both[1], phi(X.replaced(0, delta[3])), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrapped_maps_are_searched_and_learned_from(wrapper: str) -> None:
    d = 5
    phi = WRAPPERS[wrapper](ws.RAF(d, 1), d)
    texts = [ws.Sample.gaussian(4, d, seed) for seed in range(4)]
    plan = ws.Plan(starts=6, rounds=1, steps=20, scatter=False)
    found = ws.sensitivity(phi, texts[0], positions=[0, 2], seed=0, plan=plan)
    assert found.lower > 0
    assert found.upper is None or found.lower <= found.upper
    learned = ws.learn(phi, texts[:3], [1, -1, 1], texts[3], -1, positions=0)
    assert learned[0].after_original == pytest.approx(-1, abs=1e-6)


def test_residual_of_the_identity_is_twice_the_identity() -> None:
    """2X has S = 1/√n exactly."""
    phi = ws.residual(ws.FeatureMap.of(lambda X: X))
    found = ws.sensitivity(phi, ws.Sample.gaussian(4, 3, 0), seed=0)
    assert found.lower == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ws.residual(ws.RF(3, 2)), "row of features per row"),
        (lambda: ws.layer_norm(ws.DRF(3, 2, 2)), "row of features per row"),
        (lambda: ws.read_out(ws.read_out(ws.RAF(2), "mean"), "last"), "read-out, which has none"),
        (lambda: ws.residual(torch.sin), "FeatureMap.of"),  # type: ignore[arg-type]
        (lambda: ws.read_out(ws.RAF(2), "first"), "all, mean, last"),
        (lambda: ws.read_out(ws.RAF(2), 9)(ws.Sample.gaussian(3, 2, 0)), "between 0 and 2"),
        (lambda: ws.layer_norm(ws.RAF(2), epsilon=-1.0), "epsilon ≥ 0"),
        (lambda: ws.transformer_block(ws.RAF(2), 2, order="mid"), "pre, post"),
        (lambda: ws.transformer_block(ws.RAF(2), 2, norm="batch"), "layer, rms"),
        (lambda: ws.transformer_block(ws.RAF(2), 2, hidden=0), "hidden ≥ 1"),
        (
            lambda: ws.residual(ws.FeatureMap.of(lambda X: X[..., :1]))(
                ws.Sample.gaussian(3, 2, 0)
            ),
            "as wide as the text",
        ),
        (
            lambda: ws.layer_norm(ws.FeatureMap.of(lambda X: X.sum(-2))).view(
                ws.Sample.gaussian(3, 2, 0)
            ),
            "one row per row",
        ),
    ],
)
def test_what_cannot_be_wrapped_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ws.InputError, match=message):
        make()
