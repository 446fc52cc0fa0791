"""Certificates under wrappers: no grid search exceeds them, and they are as tight as promised."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import pytest
import torch

import wordsway as ws
from violations import Wrap, violations
from wordsway.maps.attention.family import SigmoidRAF
from wordsway.maps.block import NormedText, longest_move
from wordsway.maps.wrappers import Norm


def two_heads(weight: torch.Tensor) -> ws.FeatureMap:
    """Two heads of one dimension, from one matrix."""
    parts = {"Q": weight, "K": weight.T, "V": weight.flip(0), "O": weight.flip(1)}
    return ws.Attention(weights=parts, heads=2)


def causal_heads(weight: torch.Tensor) -> ws.FeatureMap:
    """Two heads of one dimension each, under a causal mask."""
    turned = torch.tensor([[0.6, -0.8], [0.8, 0.6]], dtype=weight.dtype)
    weights = {"Q": weight, "K": turned, "V": turned.T + 0.5, "O": turned - 0.3}
    return ws.Attention(weights=weights, heads=2, mask="causal")


INNER: dict[str, Any] = {
    "raf": ws.RAF,
    "relu-raf": ws.ReluRAF,
    "sigmoid": SigmoidRAF,
    "heads": two_heads,
    "causal heads": causal_heads,
    "sparsemax": partial(ws.Attention, scores="sparsemax"),
    "sink": partial(ws.Attention, scores="sink", positions="sinusoidal"),
    "relu/n": partial(ws.Attention, scores="relu/n", mask="causal"),
}
#: What studies certify, and compositions that use what is known of any certified map.
MAIN: dict[str, Wrap] = {
    "residual": ws.residual,
    "layer of residual": lambda phi: ws.layer_norm(ws.residual(phi)),
    "mean": lambda phi: ws.read_out(phi, "mean"),
    "row": lambda phi: ws.read_out(phi, 1),
}
MORE: dict[str, Wrap] = {
    "rms": ws.rms_norm,
    "own row": lambda phi: ws.read_out(phi, 0),
    "last of residual": lambda phi: ws.read_out(ws.residual(phi), "last"),
    "mean of residual": lambda phi: ws.read_out(ws.residual(phi), "mean"),
    "mean of layer": lambda phi: ws.read_out(ws.layer_norm(ws.residual(phi)), "mean"),
    "rms twice": lambda phi: ws.rms_norm(ws.residual(ws.rms_norm(phi))),
    "normed text": lambda phi: ws.residual(NormedText(phi, Norm("layer"))),
}


#: Every kind under what studies certify (softmax has more draws below), and softmax and heads
#: under all compositions.
PAIRS = [(inner, wrap) for inner in INNER for wrap in MAIN if inner != "raf"]
PAIRS += [(inner, wrap) for inner in ("raf", "heads") for wrap in MORE]


@pytest.mark.slow
@pytest.mark.parametrize("wrap", MAIN)
def test_eighty_draws_stay_below_the_certificate(wrap: str) -> None:
    checked, exceeded = violations(ws.RAF, MAIN[wrap], range(80))
    assert checked == 80
    assert not exceeded


@pytest.mark.slow
@pytest.mark.parametrize(("inner", "wrap"), PAIRS)
def test_every_wrapper_of_every_kind_stays_below_the_certificate(inner: str, wrap: str) -> None:
    checked, exceeded = violations(INNER[inner], (MAIN | MORE)[wrap], range(1000, 1005))
    assert checked >= 2
    assert not exceeded


@pytest.mark.parametrize("wrap", [*MAIN, *MORE])
def test_every_wrapper_has_a_certificate(wrap: str) -> None:
    checked, exceeded = violations(ws.RAF, (MAIN | MORE)[wrap], range(2))
    assert (checked, exceeded) == (2, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrap", "n", "limit"),
    [
        ("residual", 16, 1.5),
        ("residual", 256, 1.6),
        ("row", 16, 1.2),
        ("mean", 64, 2.0),
    ],
)
def test_wrapped_certificates_are_tight(wrap: str, n: int, limit: float) -> None:
    phi = MAIN[wrap](ws.RAF(256, 0))
    found = ws.sensitivity(phi, ws.Sample.gaussian(n, 256, 50), positions=0, seed=0)
    assert found.upper is not None
    assert found.lower <= found.upper <= limit * found.lower


def test_a_map_without_a_certificate_stays_without_one() -> None:
    sine = ws.FeatureMap.of(torch.sin)
    X = ws.Sample.gaussian(3, 4, 0)
    for phi in (ws.residual(sine), ws.layer_norm(sine), ws.read_out(sine, "mean")):
        assert phi.view(X).certify([0], 1.0) is None


def test_how_far_a_norm_moves_a_row() -> None:
    """Random rows and moves never exceed it, and the tangent attains it."""
    noise = torch.Generator().manual_seed(0)
    v = torch.tensor([2.0, 0.0, 0.0], dtype=torch.float64)
    norm = Norm("rms", 0.0)
    size = norm.size(v).squeeze()[None]
    for radius in (0.3, 1.7, 2.5):
        most = float(longest_move(size, 3, radius))
        w = torch.randn(5000, 3, generator=noise, dtype=torch.float64)
        w = radius * w / w.norm(dim=1, keepdim=True)
        assert float((norm(v + w) - norm(v)).norm(dim=1).max()) <= most
        if radius < 2:
            sine = radius / 2
            tangent = torch.tensor([-radius * sine, radius * math.sqrt(1 - sine**2), 0.0])
            assert float((norm(v + tangent) - norm(v)).norm()) == pytest.approx(most, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mask",
    [{"mask": "causal"}, {"mask": "window", "window": 2}, {"mask": "padding", "visible": 2}],
)
@pytest.mark.parametrize("residual", [False, True])
def test_the_mean_of_masked_rows_is_certified(mask: Any, residual: bool) -> None:
    """Rows that do not see the moved one do not move; the certificate raised an error here."""
    for seed, scores in enumerate(("softmax", "sink", "relu")):
        inner = ws.Attention(3, seed, scores=scores, **mask)
        phi = ws.read_out(ws.residual(inner) if residual else inner, "mean")
        X = ws.Sample.gaussian(4, 3, seed)
        found = ws.sensitivity(phi, X, seed=0, effort=0.1)
        assert found.upper is not None and found.lower <= found.upper
        noise = torch.randn(600, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        texts = X.X.repeat(600, 1, 1)
        texts[range(600), [k % 4 for k in range(600)]] += (
            3**0.5 * noise / noise.norm(dim=1, keepdim=True)
        )
        moved = (phi.exact(texts) - phi.exact(X)).flatten(1).norm(dim=1) / phi.exact(X).norm()
        assert float(moved.max()) <= found.upper * (1 + 1e-9)
