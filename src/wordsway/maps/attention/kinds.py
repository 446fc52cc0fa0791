"""`attention` for the registry, with its options, and presets of it by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wordsway.maps.attention.family import (
    RAF,
    Attention,
    Preset,
    ReluRAF,
    SigmoidRAF,
    check_choices,
)
from wordsway.maps.attention.ingredients.encodings import MASKS, POSITIONS
from wordsway.maps.attention.ingredients.projections import check_heads
from wordsway.maps.attention.memory import heads_bytes, one_matrix_bytes
from wordsway.maps.attention.scores.registry import SCORES
from wordsway.maps.kind import MapKind, Option, Reference, constant, falling

OPTIONS = (
    Option("scores", str, "softmax", "How scores become weights.", choices=tuple(SCORES)),
    Option("heads", int, None, "Heads of Q, K, V, O; one matrix W by default.", least=1),
    Option("mask", str, "none", "Which keys a row sees.", choices=MASKS),
    Option("pe", str, "none", "Positional encoding.", choices=POSITIONS),
    Option("temperature", float, None, "Scores are divided by it; 1 by default."),
    Option("window", int, None, "Keys nearer than this are seen; with mask window.", least=1),
    Option("visible", int, None, "Keys before this one are seen; with mask padding.", least=1),
)


def _make(
    n: int, d: int, seed: int, *, pe: str, temperature: float | None, **options: Any
) -> Attention:
    return Attention(d, seed, positions=pe, temperature=temperature or 1.0, **options)


def _validate(n: int, d: int, **options: Any) -> None:
    temperature = options["temperature"]
    check_choices(
        options["scores"],
        options["mask"],
        options["pe"],
        1.0 if temperature is None else temperature,
        options["window"],
        options["visible"],
    )
    check_heads(d, options["heads"])


def _bytes(
    n: int,
    d: int,
    rows: int,
    *,
    effort: float,
    certificate: bool,
    memory: int,
    scores: str,
    heads: int | None,
    pe: str,
    **options: Any,
) -> float:
    choice = SCORES[scores]
    if heads is None and choice.bounds is not None and pe != "rope":
        return one_matrix_bytes(
            n,
            d,
            rows,
            smooth=choice.smooth,
            own_keys=scores == "sigmoid",
            kinks=choice.scores.kinks,
            effort=effort,
            certificate=certificate,
            memory=memory,
        )
    return heads_bytes(
        n,
        d,
        rows,
        heads=(heads or 1) * (2 if choice.shape == "twice" else 1),
        smooth=choice.smooth,
        sparse=scores == "sparsemax",
        effort=effort,
        certificate=certificate and choice.scores.logistic,
        memory=memory,
    )


def _references(d: int, *, scores: str = "softmax", **options: Any) -> list[Reference]:
    return [falling() if SCORES[scores].falling else constant()]


ATTENTION_KIND = MapKind(
    name=Attention.name,
    title="attention",
    about="Attention of your choice: scores, heads, mask, positional encoding.",
    make=_make,
    count=lambda n, d, **options: n * d,
    search_bytes=_bytes,
    references=_references,
    options=OPTIONS,
    validate=_validate,
    composed=True,
)


def preset(
    name: str,
    title: str,
    about: str,
    chosen: Callable[[int], dict[str, Any]],
    made: type[Preset] | None = None,
) -> MapKind:
    """A map of the family under its own name; ``chosen(d)`` are its options. ``made`` is its class,
    where it has one.
    """

    def filled(d: int) -> dict[str, Any]:
        return ATTENTION_KIND.filled(chosen(d))

    def make(n: int, d: int, seed: int) -> Attention:
        return _make(n, d, seed, name=name, **filled(d)) if made is None else made(d, seed)

    return MapKind(
        name=name,
        title=title,
        about=about,
        make=make,
        count=lambda n, d: n * d,
        search_bytes=lambda n, d, rows, **how: _bytes(n, d, rows, **how, **filled(d)),
        references=lambda d: _references(d, **filled(d)),
        composed=made is None,
    )


RAF_KIND = preset(
    RAF.name,
    "RAF (softmax)",
    "Random attention features, φ(X) = softmax(XWXᵀ/√d)X with W_ab ~ N(0, 1/d).",
    lambda d: {"scores": RAF.preset},
    RAF,
)
RELU_RAF_KIND = preset(
    ReluRAF.name,
    "ReLU-RAF",
    "Attention with ReLU scores divided by their row's sum in place of softmax.",
    lambda d: {"scores": ReluRAF.preset},
    ReluRAF,
)
SIGMOID_KIND = preset(
    SigmoidRAF.name,
    "sigmoid attention",
    "Attention without a normaliser, φ(X)_j = Σ_l σ(s_jl − log n)x_l, s = XWXᵀ/√d.",
    lambda d: {"scores": SigmoidRAF.preset},
    SigmoidRAF,
)
PRESETS = (
    preset(
        "sink",
        "softmax with a sink",
        "Softmax attention with a sink, weights e^s/(1 + Σe^s).",
        lambda d: {"scores": "sink"},
    ),
    preset(
        "multi-head",
        "multi-head attention",
        "Softmax attention with Q, K, V, O ~ N(0, 1/d) and eight heads (fewer if d is odd).",
        lambda d: {"heads": math.gcd(d, 8)},
    ),
    preset(
        "linear-attention",
        "linear attention",
        "Weights (elu(q) + 1)·(elu(k) + 1) divided by their row's sum, q = Wᵀx, k = x.",
        lambda d: {"scores": "linear-attention"},
    ),
)
