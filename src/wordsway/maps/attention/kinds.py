"""RAF and ReLU-RAF as the registry knows them."""

from __future__ import annotations

from typing import Any

from wordsway.maps.attention.definition import RAF, ReluRAF
from wordsway.maps.attention.view import plan_for
from wordsway.maps.cost import evaluations
from wordsway.maps.kind import Cost, MapKind, Style, constant, falling
from wordsway.optimize.plan import Plan


def count_features(n: int, d: int) -> int:
    """Attention has one row of d features per row of the text."""
    return n * d


def attention_cost(
    n: int,
    d: int,
    rows: int,
    *,
    plan: Plan | None = None,
    effort: float = 1.0,
    certificate: bool = True,
    memory: int = 2**31,
    **options: Any,
) -> Cost:
    """A search of ``rows`` rows: 2(8nd + d²) operations per point and its gradient."""
    looked_at = evaluations(plan or plan_for(n, d), effort)
    per_point = 16 * n * d + 4 * d * d
    work = 8.0 * n * n * d + 6.0 * n * d * d + rows * looked_at.total * per_point
    work += 2e4 * rows * n * certificate
    points = looked_at.at_once * rows * (16 * n + 8 * d) * 8
    held = 8 * (3 * d * d + 4 * n * d + 12 * n * n) + certificate * 60 * n * 56 * 8
    return Cost(min(points, memory) + held, work)


RAF_KIND = MapKind(
    name="raf",
    title="RAF (softmax)",
    about="Random attention features, φ(X) = softmax(XWXᵀ/√d)X with W_ab ~ N(0, 1/d).",
    make=lambda n, d, seed: RAF(d, seed),
    count=count_features,
    search_cost=attention_cost,
    style=Style("#D55E00", "^"),
    references=lambda d: [constant()],
)
RELU_RAF_KIND = MapKind(
    name="relu-raf",
    title="ReLU-RAF",
    about="Attention with ReLU scores divided by their row sum in place of softmax.",
    make=lambda n, d, seed: ReluRAF(d, seed),
    count=count_features,
    search_cost=attention_cost,
    style=Style("#CC79A7", "D"),
    references=lambda d: [falling()],
)
