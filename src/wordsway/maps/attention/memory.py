"""Bytes held while attention is measured, counted from the sizes and the plan."""

from __future__ import annotations

from wordsway.maps.attention.certificates.curves import NODES
from wordsway.maps.attention.certificates.dual import COARSE
from wordsway.maps.attention.certificates.heads.table import FINE
from wordsway.maps.attention.certificates.heads.together import joins
from wordsway.maps.attention.heads.layer import KEPT_BYTES
from wordsway.maps.attention.heads.view import heads_bytes_per_point
from wordsway.maps.attention.layer import plan_for
from wordsway.maps.attention.one_matrix.view import bytes_per_point
from wordsway.maps.attention.scores.sparsemax import CELLS as SPARSE_CELLS
from wordsway.maps.attention.scores.sparsemax import sparse_keys_bytes
from wordsway.maps.memory import points_at_once

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


def one_matrix_bytes(
    n: int,
    d: int,
    rows: int,
    *,
    smooth: bool,
    own_keys: bool,
    kinks: bool,
    effort: float,
    certificate: bool,
    memory: int,
) -> float:
    """Bytes of attention with one matrix W. ``smooth`` scores are searched in single precision,
    ``own_keys`` double the rows of the certificate.
    """
    at_once = points_at_once(plan_for(n, d, kinks=kinks), effort, rows, d)
    points = at_once * bytes_per_point(n, d, 4 if smooth else 8)
    double = certificate or rows > 1 or not smooth
    held = 8 * n * n * SQUARES * double + 4 * n * n * SQUARES_SINGLE * smooth
    held += 8 * (5 * d * d + 8 * n * d)
    if certificate:
        held += 8 * DUAL_TENSORS * COARSE * n * NODES * (2 if own_keys else 1)
        held += 8 * n * n * QUARTIC_SQUARES * (2 * n > d)
    return min(points, memory) + held


def heads_bytes(
    n: int,
    d: int,
    rows: int,
    *,
    heads: int,
    smooth: bool,
    sparse: bool,
    effort: float,
    certificate: bool,
    memory: int,
) -> float:
    """Bytes of attention with projections and ``heads`` heads; ``sparse`` with sparsemax."""
    item = 4 if smooth else 8
    keys = min(n, SUPPORT) if sparse else 0
    each = heads_bytes_per_point(n, d, heads, item) + sparse_keys_bytes(n, heads, keys, item)
    points = points_at_once(plan_for(n, d), effort, rows, d) * each
    double = certificate or rows > 1 or not smooth
    held = 8 * heads * n * n * HEAD_SQUARES * double
    held += 4 * heads * n * n * HEAD_SQUARES_SINGLE * smooth + 8 * (9 * d * d + 12 * n * d)
    held += 8 * n * heads * keys * (2 * heads * keys + d)
    held += 8 * n * keys * SPARSE_CELLS * 4  # the certificate's grid
    one_row = 8 * n * (2 * d + heads * (heads + 2)) + 8 * n * heads * d
    held += min(rows * one_row, max(one_row, KEPT_BYTES))
    if certificate:
        held += 8 * (6 * n * heads * (FINE + 2) + 3 * n * heads * d + 12 * d * d)
        if joins(d, heads):  # all heads in one matrix
            held += 8 * 4 * (heads * d) ** 2
    return min(points, memory) + held
