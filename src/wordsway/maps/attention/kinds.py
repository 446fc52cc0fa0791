"""`attention` for the registry, with its options, and presets of it by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wordsway.core.checks import OneOf, Within
from wordsway.maps.attention.certificates.dual import COARSE
from wordsway.maps.attention.certificates.heads_gain import joins
from wordsway.maps.attention.certificates.heads_table import FINE
from wordsway.maps.attention.certificates.problem import NODES
from wordsway.maps.attention.family import (
    RAF,
    Attention,
    Preset,
    ReluRAF,
    SigmoidRAF,
    check_choices,
)
from wordsway.maps.attention.heads import KEPT_BYTES, heads_bytes_per_point
from wordsway.maps.attention.ingredients import MASKS, POSITIONS, check_heads
from wordsway.maps.attention.layer import plan_for
from wordsway.maps.attention.one_matrix.view import bytes_per_point
from wordsway.maps.attention.scores.registry import SCORES
from wordsway.maps.attention.scores.sparsemax import CELLS as SPARSE_CELLS
from wordsway.maps.attention.scores.sparsemax import sparse_keys_bytes
from wordsway.maps.kind import WEIGHTS, MapKind, Option, SearchSize, TheoryCurve, constant, falling

#: Tensors of (cells, rows, grid points) that the dual holds at once.
DUAL_TENSORS = 12
#: n×n tensors of a layer in double precision, and those of a search in single precision.
SQUARES, SQUARES_SINGLE = 9, 5
#: n×n tensors of the price of fourth powers, which is needed where n > d/2.
QUARTIC_SQUARES = 8
#: Keys that can be in the support of a row of sparsemax, for scores of size one.
SUPPORT = 16
#: n×n tensors for each head in double precision, and in single precision.
HEAD_SQUARES, HEAD_SQUARES_SINGLE = 7, 5

POSITIVE, ANY = Within(0, above=True), Within(1, math.inf)
OPTIONS = (
    Option("scores", str, "softmax", f"Scores: {', '.join(SCORES)}.", OneOf(tuple(SCORES))),
    Option("heads", int, None, "Number of heads; by default one matrix W, no heads.", Within(1)),
    Option("mask", str, "none", "Mask: none, causal, window or padding.", OneOf(MASKS)),
    Option("pe", str, "none", f"Positional encoding: {', '.join(POSITIONS)}.", OneOf(POSITIONS)),
    Option("temperature", float, None, "Number that divides the scores; 1 by default.", POSITIVE),
    Option("window", int, None, "With mask window: attend only to keys nearer than this.", ANY),
    Option("visible", int, None, "With mask padding: number of leading keys to attend to.", ANY),
    WEIGHTS,
)


def _make(n: int, d: int, seed: int, *, pe: str, **options: Any) -> Attention:
    law, temperature = options.pop("weights") or "gaussian", options.pop("temperature") or 1.0
    return Attention(d, seed, positions=pe, law=law, temperature=temperature, **options)


def _validate(
    n: int, d: int, *, heads: int | None, scores: str, pe: str, mask: str, **options: Any
) -> None:
    check_choices(scores, mask, pe, options["window"], options["visible"])
    check_heads(d, heads)


def _bytes(size: SearchSize, *, scores: str, heads: int | None, pe: str, **options: Any) -> float:
    if heads is None and SCORES[scores].bounds is not None and pe != "rope":
        return _one_matrix_bytes(size, scores)
    return _heads_bytes(size, scores, heads or 1)


def _one_matrix_bytes(size: SearchSize, scores: str) -> float:
    """Bytes of attention with one matrix W; sigmoid attention also has the keys of row i."""
    n, d, smooth = size.n, size.d, SCORES[scores].smooth
    at_once = size.points_at_once(plan_for(n, d, kinks=SCORES[scores].scores.kinks))
    points = at_once * bytes_per_point(n, d, 4 if smooth else 8)
    double = size.certificate or size.rows > 1 or not smooth
    held = 8 * n * n * SQUARES * double + 4 * n * n * SQUARES_SINGLE * smooth
    held += 8 * (5 * d * d + 8 * n * d)
    if size.certificate:
        held += 8 * DUAL_TENSORS * COARSE * n * NODES * (2 if scores == "sigmoid" else 1)
        held += 8 * n * n * QUARTIC_SQUARES * (2 * n > d)
    return min(points, size.memory) + held


def _heads_bytes(size: SearchSize, scores: str, heads: int) -> float:
    """Bytes of attention with projections."""
    n, d, choice = size.n, size.d, SCORES[scores]
    smooth, heads = choice.smooth, heads * (2 if choice.shape == "twice" else 1)
    item = 4 if smooth else 8
    keys = min(n, SUPPORT) if scores == "sparsemax" else 0
    certificate = size.certificate and choice.scores.logistic
    each = heads_bytes_per_point(n, d, heads, item) + sparse_keys_bytes(n, heads, keys, item)
    points = size.points_at_once(plan_for(n, d)) * each
    double = certificate or size.rows > 1 or not smooth
    held = 8 * heads * n * n * HEAD_SQUARES * double
    held += 4 * heads * n * n * HEAD_SQUARES_SINGLE * smooth + 8 * (9 * d * d + 12 * n * d)
    held += 8 * n * heads * keys * (2 * heads * keys + d)
    held += 8 * n * keys * SPARSE_CELLS * 4  # the certificate's grid
    one_row = 8 * n * (2 * d + heads * (heads + 2)) + 8 * n * heads * d
    held += min(size.rows * one_row, max(one_row, KEPT_BYTES))
    if certificate:
        held += 8 * (6 * n * heads * (FINE + 2) + 3 * n * heads * d + 12 * d * d)
        if joins(d, heads):  # all heads in one matrix
            held += 8 * 4 * (heads * d) ** 2
    return min(points, size.memory) + held


def _references(d: int, *, scores: str = "softmax", **options: Any) -> list[TheoryCurve]:
    return [falling() if SCORES[scores].falling else constant()]


ATTENTION_KIND = MapKind(
    name=Attention.name,
    title="attention",
    about="Attention of your choice: scores, heads, mask, positional encoding.",
    make=_make,
    search_bytes=_bytes,
    references=_references,
    options=OPTIONS,
    validate=_validate,
)


def preset(
    name: str,
    title: str,
    about: str,
    chosen: Callable[[int], dict[str, Any]],
    made: type[Preset] | None = None,
) -> MapKind:
    """A map of the family with its own name, options ``chosen(d)``, and perhaps its own class."""

    def filled(d: int, **options: Any) -> dict[str, Any]:
        return ATTENTION_KIND.filled(chosen(d) | options)

    def make(n: int, d: int, seed: int, weights: str | None) -> Attention:
        if made is None:
            return _make(n, d, seed, name=name, **filled(d, weights=weights))
        return made(d, seed, law=weights or "gaussian")

    return MapKind(
        name=name,
        title=title,
        about=about,
        make=make,
        search_bytes=lambda size, **options: _bytes(size, **filled(size.d, **options)),
        references=lambda d, **options: _references(d, **filled(d, **options)),
        options=(WEIGHTS,),
    )


RAF_KIND = preset(
    RAF.name,
    "RAF (softmax)",
    "Random attention features, φ(X) = softmax(XWXᵀ/√d)X: W has independent entries N(0, 1/d).",
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
    "Attention without a normaliser: weights σ(s − log n), scores s = XWXᵀ/√d.",
    lambda d: {"scores": SigmoidRAF.preset},
    SigmoidRAF,
)
PRESETS = (
    preset(
        "sink",
        "softmax with a sink",
        "Softmax attention with a sink, weights exp(s)/(1 + Σ exp(s)).",
        lambda d: {"scores": "sink"},
    ),
    preset(
        "multi-head",
        "multi-head attention",
        "Softmax attention with Q, K, V, O ~ N(0, 1/d) and gcd(d, 8) heads: eight if 8 divides d.",
        lambda d: {"heads": math.gcd(d, 8)},
    ),
    preset(
        "linear-attention",
        "linear attention",
        "Weights (elu(q) + 1)·(elu(k) + 1) divided by their row's sum, q = Wᵀx, k = x.",
        lambda d: {"scores": "linear-attention"},
    ),
)
