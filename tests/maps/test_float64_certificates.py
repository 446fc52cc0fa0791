"""No certificate passes through single precision: every kind of map with every kind of move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

import wordsway as ws
from wordsway.maps.attention.scores.registry import SCORES
from wordsway.maps.block import NormedText
from wordsway.maps.registry import MAPS
from wordsway.maps.rigorous import Certificate
from wordsway.maps.wrappers import Norm

N, D = 5, 4
WRAPPED: dict[str, dict[str, Any]] = {
    "residual": {"residual": True},
    "norm": {"norm": "rms"},
    "post-norm": {"residual": True, "norm": "layer"},
    "mean": {"read_out": "mean"},
    "last": {"read_out": "last"},
    "residual-mean": {"residual": True, "read_out": "mean"},
}
ATTENTION: dict[str, dict[str, Any]] = {
    **{name: {"scores": name} for name in SCORES},
    **{f"heads-{name}": {"scores": name, "heads": 2} for name in SCORES},
    "causal": {"mask": "causal"},
    "heads-window": {"heads": 2, "mask": "window", "window": 2},
    "alibi": {"positions": "alibi"},
    "sinusoidal": {"positions": "sinusoidal"},
    "rope": {"positions": "rope"},
    "single": {"dtype": torch.float32},
    "heads-single": {"heads": 2, "dtype": torch.float32},
}
CATALOGUE: dict[str, Any] = {
    **{name: partial(kind.build, N, D, 1) for name, kind in MAPS.items()},
    **{f"attention {name}": partial(ws.Attention, D, 1, **how) for name, how in ATTENTION.items()},
    **{
        f"{name} {around}": partial(MAPS[name].build, N, D, 1, **how)
        for name in ("raf", "relu-raf", "sigmoid", "multi-head")
        for around, how in WRAPPED.items()
    },
    "normed-text": lambda: ws.residual(NormedText(ws.RAF(D, 1), Norm("rms"))),
    "rf single": partial(ws.RF, N, D, seed=1, dtype=torch.float32),
    "drf tanh": partial(ws.DRF, N, D, 2, seed=1, activation="tanh"),
    "drf drawn": partial(ws.DRF, N, D, 3, seed=1, draw="on-demand"),
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "one row": {},
    "small radius": {"radius": 0.3},
    "together": {"together": (1, 3)},
    "linf": {"constraint": "linf", "radius": 0.7},
    "together in l1": {"constraint": "l1", "radius": 0.7, "together": (0, 2)},
    "insert": {"edit": "insert"},
    "largest row": {"objective": "largest-row"},
    "together, largest row": {"objective": "largest-row", "together": (1, 3)},
}
#: The search does not matter here.
SHORT = ws.Plan(starts=1, explore=0, keep=1, steps=0, rounds=0, scatter=False)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def upper_of(name: str, **question: Any) -> float | None:
    """The certificate of a new map; None where it has none or the question does not apply."""
    where: dict[str, Any] = {} if "together" in question else {"positions": 1}
    X = ws.Sample.gaussian(N, D, 3)
    try:
        return ws.sensitivity(CATALOGUE[name](), X, plan=SHORT, **where, **question).upper
    except ws.InputError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_no_upper_end_passes_through_single_precision(name: str) -> None:
    """It has more digits than float32, and does not change where torch's default is float64."""
    for question, how in QUESTIONS.items():
        upper = upper_of(name, **how)
        with default_dtype(torch.float64):
            reference = upper_of(name, **how)
        assert (upper is None) == (reference is None), question
        if upper is not None and reference is not None:
            assert upper != float(np.float32(upper)), question
            assert upper >= reference, question


@pytest.mark.parametrize("radius", [2.2, 2.3, 2.5, 2.6, 2.7, 2.9, 3.1, 3.3])
def test_rows_together_that_attain_their_bound(radius: float) -> None:
    """Two equal rows of norm 2 that move by the same Δ: S = radius/2 exactly."""
    X = ws.Sample(torch.tensor([[2.0, 0.0, 0.0, 0.0]] * 2, dtype=torch.float64))
    s = ws.sensitivity(ws.Attention(4, seed=1), X, together=(0, 1), radius=radius, plan=SHORT)
    assert s.certificate == "float64"
    assert radius / 2 <= s.upper <= radius / 2 * (1 + 1e-8)


def test_rows_together_are_not_below_the_bound_of_theorem_21() -> None:
    for seed in range(60):
        X, phi = ws.Sample.gaussian(6, 4, seed), ws.RAF(4, seed)
        together, radius = [seed % 6, (seed + 2) % 6], 0.5 + 0.05 * seed
        s = ws.sensitivity(phi, X, together=together, radius=radius, plan=SHORT)
        before = phi.exact(X)
        apart = torch.cdist(before, X.X, compute_mode="donot_use_mm_for_euclid_dist")
        apart[:, together] += radius
        moves = torch.maximum(apart.amax(1), before.norm(dim=1))
        assert s.upper >= float(moves.norm() / before.norm()), seed


def test_only_a_probable_bound_may_be_exceeded_by_chance() -> None:
    upper = torch.ones(1, dtype=torch.float64)
    assert Certificate.exact(upper).caveat == ""
    assert "probability 1e-9" in Certificate.probable(upper).caveat


@pytest.mark.parametrize("mask", ["causal", "none", "padding", "window"])
@pytest.mark.parametrize("scores", ["softmax", "sink", "relu", "sparsemax", "sigmoid"])
@pytest.mark.parametrize("heads", [None, 2])
def test_a_row_that_attends_to_the_changed_word_alone(
    mask: str, scores: str, heads: int | None
) -> None:
    """The mean of its other keys is over no keys; 500 random Δ stay below the certificate."""
    how: dict[str, Any] = {"mask": mask, "scores": scores, "heads": heads}
    how |= {"visible": 1} if mask == "padding" else {"window": 1} if mask == "window" else {}
    X, phi = ws.Sample.gaussian(1 if mask == "none" else 4, 4, 2), ws.Attention(4, 1, **how)
    noise = torch.Generator().manual_seed(0)
    before = phi.exact(X)
    if not float(before.norm()) > 0:
        return
    for radius in (0.2, 2.0, 5.0):
        found = phi.view(X).certify([0], radius)
        if found is None:
            continue
        delta = torch.randn(500, 4, dtype=torch.float64, generator=noise)
        texts = X.X.repeat(500, 1, 1)
        texts[:, 0] += radius * delta / delta.norm(dim=1, keepdim=True)
        moved = (phi.exact(texts) - before).flatten(1).norm(dim=1) / before.norm()
        assert float(moved.max()) <= float(found.upper[0])
