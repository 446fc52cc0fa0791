"""`ws.Attention`: every choice against its naive version, where attention is hard, too."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

import naive_attention
import wordsway as ws
from readings import gradients_of
from wordsway.maps.attention.ingredients import MASKS, POSITIONS, learned
from wordsway.maps.attention.scores.registry import SCORES
from wordsway.maps.registry import kind_of

MASKED: dict[str, dict[str, Any]] = {
    "none": {},
    "causal": {"mask": "causal"},
    "window": {"mask": "window", "window": 2},
    "padding": {"mask": "padding", "visible": 3},
}


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def text(n: int, d: int, seed: int) -> ws.Sample:
    """Off-centre rows; from five on, one of them twice."""
    rows = random(n, d, seed=seed) + 0.4
    if n >= 5:
        rows[3] = rows[1]
    return ws.Sample(rows)


def made(scale: float, d: int, seed: int, **choices: Any) -> Any:
    """Weights ``scale`` times the usual: at 30, rows give everything to one word."""
    usual = ws.Attention(d, seed, **choices)
    if scale == 1:
        return usual
    return ws.Attention(weights={k: scale * v for k, v in usual.given.items()}, **choices)


def moved(X: torch.Tensor, row: int, delta: torch.Tensor) -> torch.Tensor:
    return torch.cat([X[:row], (X[row] + delta)[None], X[row + 1 :]])


def check_against_naive(phi: Any, X: ws.Sample, seed: int) -> None:
    """Definition, change to 1e-10 and gradient, three Δ of different size for some rows."""
    slow = naive_attention.attention(phi, X.X)
    assert float((phi(X) - slow).norm()) <= 1e-10 * float(slow.norm())
    rows = torch.arange(3 * X.n)[:6] % X.n
    sizes = torch.tensor([1e-2, 1.0, 2.5], dtype=torch.float64).repeat(2)[: len(rows), None]
    delta = sizes * random(len(rows), X.d, seed=seed)
    value, gradient = phi.view(X).value_and_gradient(rows, delta)
    only = phi.view(X).value(rows, delta)
    assert torch.allclose(only, value, rtol=1e-12, atol=1e-24)
    for point, row in enumerate(rows.tolist()):
        step = delta[point].clone().requires_grad_(True)
        change = naive_attention.attention(phi, moved(X.X, row, step)) - slow
        expected = (change**2).sum() / (slow**2).sum()
        # S to 1e-10; where it nearly vanishes, S² to its rounding against 1.
        square = float(expected.detach())
        assert float(value[point]) == pytest.approx(square, rel=2e-10, abs=1e-15)
        (slope,) = torch.autograd.grad(expected, step)
        assert float((gradient[point] - slope).norm()) <= 1e-7 * float(slope.norm()) + 1e-9


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("heads", [None, 2])
def test_every_kind_of_scores_equals_its_naive_version(scores: str, heads: int | None) -> None:
    for n, d, scale in ((1, 4, 1.0), (5, 4, 1.0), (5, 4, 30.0), (9, 2, 30.0)):
        phi = made(scale, d, 3, scores=scores, heads=heads)
        X = text(n, d, 5)
        if float(phi(X).norm()) > 0:
            check_against_naive(phi, X, seed=n)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scores", ["softmax", "sink", "sigmoid", "sparsemax", "linear/n", "relu", "l2"]
)
@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_positions_equal_their_naive_version(scores: str, mask: str) -> None:
    for positions, heads in itertools.product(POSITIONS, (None, 2)):
        if positions == "alibi" and not SCORES[scores].shifts:
            continue
        phi = made(3.0, 4, 1, scores=scores, heads=heads, positions=positions, **MASKED[mask])
        check_against_naive(phi, text(5, 4, 2), seed=4)


def test_temperature_divides_the_scores() -> None:
    phi = ws.Attention(4, 1, temperature=0.5, heads=2)
    check_against_naive(phi, text(5, 4, 0), seed=1)
    sharper = ws.Attention(weights={**phi.given, "Q": 2 * phi.given["Q"]}, heads=2)
    assert torch.allclose(phi(text(5, 4, 0)), sharper(text(5, 4, 0)), atol=1e-12)


@pytest.mark.slow
def test_the_default_is_the_papers_map() -> None:
    X = ws.Sample.gaussian(9, 8, 0)
    for scores, twin in (("softmax", ws.RAF(8, 3)), ("relu", ws.ReluRAF(8, 3))):
        phi = ws.Attention(8, 3, scores=scores)
        assert torch.allclose(phi(X), twin(X), atol=1e-12)
        ours, theirs = (ws.sensitivity(one, X, positions=0, seed=1) for one in (phi, twin))
        assert ours.lower == pytest.approx(theirs.lower, rel=1e-3)
        assert ours.upper == pytest.approx(theirs.upper, rel=1e-6)


def test_rows_before_a_moved_word_never_move_under_a_causal_mask() -> None:
    X, delta = ws.Sample.gaussian(7, 8, 0), random(8, seed=1)
    for scores in SCORES:
        phi: Any = ws.Attention(8, 0, scores=scores, heads=2, mask="causal")
        assert torch.equal(phi(X.replaced(4, delta))[:4], phi(X)[:4])
        assert phi.view(X).layer.row(4).rows.tolist() == [5, 6]


@pytest.mark.slow
@pytest.mark.parametrize("scores", SCORES)
def test_readouts_and_their_gradients_equal_the_definition(scores: str) -> None:
    for heads, scale in ((None, 1.0), (2, 1.0), (2, 20.0)):
        phi, X = made(scale, 4, 2, scores=scores, heads=heads), text(5, 4, 3)
        thetas, rows = random(2, 20, seed=4), torch.arange(10) % 5
        delta = random(10, 4, seed=5)
        values, gradients = gradients_of(phi.view(X).readout(thetas), rows, delta)
        for point, row in enumerate(rows.tolist()):
            step = delta[point].clone().requires_grad_(True)
            features = naive_attention.attention(phi, moved(X.X, row, step)).flatten()
            size = float(features.detach().norm() * thetas.norm(dim=1).max())
            for index, theta in enumerate(thetas):
                expected = theta @ features
                assert abs(float(values[point, index] - expected.detach())) <= 1e-9 * size
                (slope,) = torch.autograd.grad(expected, step, retain_graph=True)
                error = float((gradients[point, index] - slope).norm())
                assert error <= 1e-8 * (float(slope.norm()) + size)


@pytest.mark.slow
def test_a_search_finds_what_an_incremental_view_shows() -> None:
    """Attained values are those of the definition, in single precision searches, too."""
    X = ws.Sample.gaussian(6, 8, 0)
    for scores in SCORES:
        phi = ws.Attention(8, 1, scores=scores, heads=2, mask="causal")
        s = ws.sensitivity(phi, X, positions=[0, 3], plan=ws.Plan(starts=6, rounds=0, steps=5))
        change = phi(X.replaced(s.position, s.delta)) - phi(X)
        assert s.lower == pytest.approx(float(change.norm() / phi(X).norm()), rel=1e-9)


def test_learned_positions_belong_to_places_not_to_lengths() -> None:
    assert torch.equal(learned(5, 4, 1)[:3], learned(3, 4, 1))
    assert not torch.equal(learned(3, 4, 1), learned(3, 4, 2))


def test_given_weights_reproduce_the_drawn_map() -> None:
    X = text(5, 4, 0)
    for scores, heads in itertools.product(SCORES, (None, 1, 2)):
        phi = ws.Attention(4, 7, scores=scores, heads=heads)
        twin = ws.Attention(weights=phi.given, scores=scores, heads=heads)
        assert torch.equal(twin(X), phi(X))
        assert twin.describe()["seed"] is None
        assert phi.describe()["seed"] == 7
    assert torch.equal(ws.Attention(weight=ws.RAF(4, 7).weight)(X), ws.Attention(4, 7)(X))


def test_presets_are_maps_of_the_family() -> None:
    X = text(6, 8, 0)
    same: dict[str, dict[str, Any]] = {
        "sink": {"scores": "sink"},
        "multi-head": {"heads": 8},
        "linear-attention": {"scores": "linear-attention"},
    }
    for name, options in same.items():
        alone = kind_of(name).build(6, 8, 3)
        assert torch.equal(alone(X), kind_of("attention").build(6, 8, 3, **options)(X))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ws.Attention(4, scores="swish"),
            "scores to be a string among softmax",
        ),
        (
            lambda: ws.Attention(4, mask="future"),
            "mask to be a string among none, causal",
        ),
        (
            lambda: ws.Attention(4, positions="fourier"),
            "positions to be a string among none",
        ),
        (lambda: ws.Attention(6, heads=4), "choose among 1, 2, 3, 6"),
        (lambda: ws.Attention(6, heads=2, positions="rope"), "even number"),
        (lambda: ws.Attention(4, scores="relu", positions="alibi"), "ALiBi with scores among"),
        (lambda: ws.Attention(4, mask="window"), "window ≥ 1"),
        (lambda: ws.Attention(4, temperature="hot"), "temperature > 0"),  # type: ignore[arg-type]
        (lambda: ws.Request("raf", 5, 6, trials=1.5), "trials ≥ 1"),  # type: ignore[arg-type]
        (lambda: ws.Attention(4, window=3), "window ≥ 1"),
        (
            lambda: ws.Attention(4, mask="window", window="x"),  # type: ignore[arg-type]
            "window ≥ 1, a whole number",
        ),
        (lambda: ws.Attention(4, mask="padding", visible=9)(text(5, 4, 0)), "visible ≤ n = 5"),
        (lambda: ws.Attention(4, temperature=0.0), "temperature > 0"),
        (lambda: ws.Attention(weight=torch.eye(3), heads=3), "weights={Q, K, V, O}"),
        (lambda: ws.Attention(weights={"Q": torch.eye(3)}, heads=3), "named Q, K, V, O"),
        (lambda: ws.Attention(weight=torch.ones(2, 3)), "square"),
        (lambda: ws.Attention(5, weight=torch.eye(3)), "d=3"),
        (lambda: ws.Attention(4)(text(5, 3, 0)), "texts with d=4"),
        (lambda: ws.Attention(), "d ≥ 1"),
        (lambda: ws.Request("attention", 5, 6, {"heads": 4}), "divides d=6"),
        (
            lambda: ws.Request("attention", 5, 6, {"scores": "swish"}),
            "scores to be a string among softmax",
        ),
        (lambda: ws.Request("attention", 5, 6, {"mask": "window"}), "window ≥ 1"),
        (lambda: ws.Request("raf", 5, 6, {"heads": 2}), "heads only with gpt-block, bert-block"),
    ],
)
def test_unknown_choices_and_impossible_combinations_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ws.InputError, match=message):
        make()


def test_a_window_wider_than_any_text_hides_nothing() -> None:
    X = text(4, 6, 0)
    wide = ws.Attention(6, 3, mask="window", window=10**30)
    assert torch.equal(wide(X), ws.Attention(6, 3)(X))
