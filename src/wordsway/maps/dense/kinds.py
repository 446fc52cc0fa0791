"""Registry entries of RF and DRF."""

from __future__ import annotations

from typing import Any

from wordsway.gaussian.dense import DENSE_BYTES
from wordsway.maps.activation import KNOWN
from wordsway.maps.dense.definition import DRF, RF
from wordsway.maps.dense.view import bytes_per_point, bytes_retained_per_eval, plan_for
from wordsway.maps.kind import WEIGHTS, MapKind, Option, SearchSize, TheoryCurve
from wordsway.theory import infinite_width, wide_relu_rf


def dense_bytes(size: SearchSize, k: int | None = None, depth: int = 1, **options: Any) -> float:
    """Bytes of a measurement; matrices beyond `DENSE_BYTES` are drawn on demand."""
    n, d = size.n, size.d
    k, later = n * d if k is None else k, depth - 1
    weights = k * n * d + later * k * k
    if 8 * weights > DENSE_BYTES:
        found = size.searches(plan_for(k, d, on_demand=True), kept=True)
        kept = sum(count * stage.evaluations for stage, count in found)
        kept *= bytes_retained_per_eval(k, d, later, 8)
        return min(kept, size.memory) + 8 * k * depth * 30 + 8 * n * d * 4
    at_once = size.points_at_once(plan_for(k, d, on_demand=False))
    held = 8.0 * weights + 24 * (k * d + later * k * k) * size.certificate
    return min(at_once * bytes_per_point(k, 8), size.memory) + held


WIDTH = Option("k", int, None, "Number of features; n·d by default.", least=1)
DEPTH = Option("depth", int, 2, "Number of layers; 2 by default.", least=1, most=1000)


ACTIVATION = Option(
    "activation",
    str,
    None,
    "Activation of every layer; relu by default.",
    choices=tuple(sorted(KNOWN)),
)


def count_features(n: int, d: int, k: int | None = None, **options: Any) -> int:
    """k, or D = n·d."""
    return n * d if k is None else k


def _rf_references(d: int, k: int | None = None, **options: Any) -> list[TheoryCurve]:
    label = "theory, (1 + √(2/n))/√n" if k is None else "theory, (1 + √(2d/k))/√n"
    return [
        TheoryCurve(label, lambda n: wide_relu_rf(n, d, k), dash="--"),
        TheoryCurve("infinite width, typical Δ", lambda n: infinite_width(round(n)), smooth=False),
    ]


def _drf_references(
    d: int, depth: int = 2, k: int | None = None, **options: Any
) -> list[TheoryCurve]:
    return [
        TheoryCurve(
            f"L = {depth}, infinite width",
            lambda n: infinite_width(round(n), depth=depth),
            smooth=False,
        )
    ]


RF_KIND = MapKind(
    name="rf",
    title="RF",
    about="Random features, φ(X) = ReLU(V·vec X) with V ∈ ℝ^{k×nd}, V_ab ~ N(0, 1/(nd)).",
    make=lambda n, d, seed, k, activation, weights: RF(
        n, d, k, seed, activation=activation or "relu", law=weights or "gaussian"
    ),
    count=count_features,
    search_bytes=dense_bytes,
    references=_rf_references,
    options=(WIDTH, ACTIVATION, WEIGHTS),
    joint=True,
)
DRF_KIND = MapKind(
    name="drf",
    title="DRF",
    about="Deep random features, φ(X) = ReLU(V_L … ReLU(V_1·vec X)), L layers.",
    make=lambda n, d, seed, k, depth, activation, weights: DRF(
        n, d, depth, k, seed, activation=activation or "relu", law=weights or "gaussian"
    ),
    count=count_features,
    search_bytes=dense_bytes,
    references=_drf_references,
    options=(WIDTH, DEPTH, ACTIVATION, WEIGHTS),
)
