"""What measuring attention costs: counted from the sizes and the plan, nothing is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wordsway.core.cost import Cost
from wordsway.maps.attention.certificates.curves import NODES
from wordsway.maps.attention.certificates.dual import COARSE
from wordsway.maps.attention.certificates.heads.certificate import CELLS, HALVED, PRICES
from wordsway.maps.attention.certificates.heads.gain import STEPS
from wordsway.maps.attention.certificates.heads.table import FINE, INTERVALS, LAMBDAS
from wordsway.maps.attention.certificates.heads.together import LANCZOS_STEPS, joins
from wordsway.maps.attention.certificates.heads.weights import FOLLOWED
from wordsway.maps.attention.certificates.heads.weights import STEPS as WEIGHT_STEPS
from wordsway.maps.attention.heads.layer import KEPT_BYTES
from wordsway.maps.attention.heads.view import heads_bytes_per_point
from wordsway.maps.attention.one_matrix.view import bytes_per_point
from wordsway.maps.attention.row_view import plan_for
from wordsway.maps.attention.scores.sparsemax import CELLS as SPARSE_CELLS
from wordsway.maps.attention.scores.sparsemax import sparse_keys_bytes
from wordsway.maps.cost import evaluations, searches
from wordsway.optimize.plan import Plan

#: Tensors of (cells, rows, grid points) that the dual holds at once, and how often it goes through
#: them: for the first row, which tries every choice, and for each of the others.
DUAL_TENSORS, FIRST_PASSES, LATER_PASSES = 12, 60, 12
#: Operations on one entry of such a tensor; they are bound by memory, and count more than products.
PER_ENTRY = 40
#: n×n tensors of a layer in double precision, and those of a search in single precision beside it.
SQUARES, SQUARES_SINGLE = 9, 5
#: n×n tensors of the price of fourth powers, which is asked for where n > d/2.
QUARTIC_SQUARES = 8


def attention_cost(
    *,
    smooth: bool,
    own_keys: bool,
    row_work: Callable[[int, int], float],
    kinks: bool = False,
) -> Callable[..., Cost]:
    """The cost function of a kind of attention: ``smooth`` ones are searched in single precision,
    ``own_keys`` double the rows of the
    certificate, ``row_work(n, d)`` are operations for each row beside those of every kind.
    """

    def cost(
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
        found = [
            (evaluations(stage, d), count)
            for stage, count in searches(plan_for(n, d, kinks=kinks), plan, effort, rows)
        ]
        # A point and its gradient: Δ with keys, features, queries and H, and back; two more for the
        # own row.
        per_point = 4 * d * (3 * n + d) + 4 * n * d + 60 * n
        layer = 6 * n * n * d + 6 * n * d * d + 60 * n * n
        work = layer + per_point * sum(count * some.total for some, count in found)
        at_once = max(count * some.at_once for some, count in found)
        work += rows * row_work(n, d)
        points = at_once * bytes_per_point(n, d, 4 if smooth else 8)
        double = certificate or rows > 1 or not smooth
        held = 8 * n * n * SQUARES * double + 4 * n * n * SQUARES_SINGLE * smooth
        held += 8 * (5 * d * d + 8 * n * d)
        if certificate:
            entries = COARSE * n * NODES * (2 if own_keys else 1)
            passes = FIRST_PASSES + (rows - 1) * LATER_PASSES
            work += passes * entries * PER_ENTRY
            work += 2 * rows * (n + d) * min(n, d) ** 2 * 4  # operator norms
            held += 8 * entries * DUAL_TENSORS
            held += 8 * n * n * QUARTIC_SQUARES * (2 * n > d)
        return Cost(min(points, memory) + held, work)

    return cost


#: Keys that can be in the support of a row of sparsemax, for scores of size one.
SUPPORT = 16
#: n×n tensors for each head in double precision, and beside them in single precision.
HEAD_SQUARES, HEAD_SQUARES_SINGLE = 7, 5


def heads_cost(
    n: int,
    d: int,
    rows: int,
    *,
    heads: int,
    smooth: bool,
    plan: Plan | None = None,
    effort: float = 1.0,
    certificate: bool = True,
    memory: int = 2**31,
    sparse: bool = False,
) -> Cost:
    """The cost of attention with projections and ``heads`` heads; ``sparse`` with sparsemax."""
    found = [
        (evaluations(stage, d), count)
        for stage, count in searches(plan_for(n, d), plan, effort, rows)
    ]
    # A point and its gradient: Δ with the four projections and the Gram matrix, rows with keys and
    # values, each head's values with every head's, and back.
    per_point = 4 * d * (5 * d + 4 * n + 2 * n * heads) + 40 * n * heads * (heads + 2)
    layer = 6 * n * n * d + 10 * n * d * d + 60 * heads * n * n
    work = layer + per_point * sum(count * some.total for some, count in found)
    work += rows * 2.0 * n * d * d  # what is known of a row before it moves
    at_once = max(count * some.at_once for some, count in found)
    item = 4 if smooth else 8
    points = at_once * heads_bytes_per_point(n, d, heads, item)
    keys = min(n, SUPPORT) if sparse else 0
    points += at_once * sparse_keys_bytes(n, heads, keys, item)
    work += 6 * n * (heads * keys) ** 2 * sum(count * some.total for some, count in found)
    double = certificate or rows > 1 or not smooth
    held = 8 * heads * n * n * HEAD_SQUARES * double
    held += 4 * heads * n * n * HEAD_SQUARES_SINGLE * smooth + 8 * (9 * d * d + 12 * n * d)
    one_row = 8 * n * (2 * d + heads * (heads + 2)) + 8 * n * heads * d
    held += 8 * n * heads * keys * (2 * heads * keys + d)
    held += 8 * n * keys * SPARSE_CELLS * 4  # the certificate's grid
    held += min(rows * one_row, max(one_row, KEPT_BYTES))
    if certificate:
        # Tables of shares for each τ and λ, norms for each μ, weights, and the gain, once.
        rough, fine = n * heads * (INTERVALS + 2), n * heads * (FINE + 2)
        tables = 4 * LAMBDAS * (CELLS * rough + 2 * HALVED * fine)
        weights = WEIGHT_STEPS * (8.0 * rough + 12.0 * FOLLOWED * n * heads * d)
        work += rows * (tables + weights + PRICES * 4.0 * d**3)
        work += rows * 4.0 * n * heads * d * d + STEPS * 10.0 * d**3
        held += 8 * (fine * 6 + 3 * n * heads * d + 12 * d * d)
        if joins(d, heads):  # all heads together, once for the weights and once for each row
            side = heads * d
            work += (rows + 1) * (side**3 / 3 + 2.0 * LANCZOS_STEPS * side**2)
            held += 8 * 4 * side**2
    return Cost(min(points, memory) + held, work)
