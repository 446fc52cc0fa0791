"""Certificates for wrapped maps: from the attention inside, or from any certified map inside.

With U the inner map's certificate, so that Σ_j ‖w_j‖² ≤ Q = (U‖φ(X)‖)²:

- residual: ‖w + e_iΔᵀ‖ ≤ √Q + r;
- norm: row j moves by at most min(2√D, 2√D‖w_j‖/β_j), β_j = √(‖Cφ_j‖² + Dε), since with u, v
  lengthened by one coordinate √(Dε), ‖u/‖u‖ − v/‖v‖‖ ≤ 2‖u − v‖/(‖u‖ + ‖v‖). The rows with the
  smallest β_j take what they can of Q first;
- one row: √Q; the mean: √(Q/n).

Around attention itself the dual of `attention.certificates.one_matrix` is tighter: the residual's Δ
affects row i alone, and each row has its own scale and ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.one_matrix import WrapperContext
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.certificate import Certificate, relative
from wordsway.maps.rigorous import SAFE, U
from wordsway.maps.rows import RowView


def certify_residual(
    inner: RowView, norm: float, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate | None:
    """‖X + φ(X)‖ ≥ ``norm``."""
    if isinstance(inner, AttentionView) and inner.has_row_bounds:
        return inner.certify(rows, radius, progress, WrapperContext(norm, residual=True))
    found = inner.certify(rows, radius, progress)
    if found is None:
        return None
    return found.replaced([relative(move + radius, norm) for move in _moves(inner, found)])


def _moves(inner: RowView, found: Certificate) -> list[float]:
    """How far all rows of the inner map move together: its certificate times the norm that it was
    divided by, or more.
    """
    size = float(inner.rows_before.norm()) + float(inner.row_errors.norm())
    return [upper * size * SAFE for upper in found.upper.tolist()]


def certify_normed(
    inner: RowView,
    stream: AttentionView | None,
    around: WrapperContext,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
) -> Certificate | None:
    """``inner`` is what is normalised, ``stream`` the attention that it adds to the text, if it
    does; ``around`` has the Cφ_j, the β_j and ‖N(φ(X))‖.
    """
    if stream is not None:
        return stream.certify(rows, radius, progress, around)
    if isinstance(inner, AttentionView) and inner.has_row_bounds:
        return inner.certify(rows, radius, progress, around)
    found = inner.certify(rows, radius, progress)
    if found is None:
        return None
    assert around.before is not None and around.sizes is not None
    room = around.sizes.new_tensor(_moves(inner, found)) ** 2
    each = around.sizes.sort().values ** 2  # ‖w_j‖² = β_j² takes row j to its ceiling
    taken = torch.cat([each.new_zeros(1), each.cumsum(0)])
    spent = (room[:, None] * SAFE - taken[:-1]).clamp_min(0) / each
    ceiling = 4.0 * around.before.shape[1]
    moves = (ceiling * spent.clamp_max(1).sum(1)).sqrt() * SAFE
    return found.replaced([relative(move, around.norm) for move in moves.tolist()])


def certify_read_out(
    inner: RowView,
    stream: AttentionView | None,
    weights: torch.Tensor,
    norm: float,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
) -> Certificate | None:
    """``weights`` (n,) are all 1/n, or one of them is 1; ``norm`` is a lower bound on that of the
    read-out.
    """
    single = int(weights.argmax()) if float(weights.max()) == 1 else None
    attention = stream or (inner if isinstance(inner, AttentionView) else None)
    if attention is not None and not attention.has_row_bounds:
        attention = None
    if attention is not None and single is not None:
        found = attention.certify_row(single, rows, radius)
        added = [radius if stream is not None and row == single else 0.0 for row in rows]
        moves = [move + more for move, more in zip(found.upper.tolist(), added, strict=True)]
    elif attention is not None and attention.layer.scores.normalised:
        found = attention.certify_mean(rows, radius, stream is not None)
        moves = [move * float(weights[0]) for move in found.upper.tolist()]
    else:
        whole = inner.certify(rows, radius, progress)
        if whole is None:
            return None
        found, share = whole, float(weights.norm())
        moves = [move * share for move in _moves(inner, whole)]
    if single is not None:  # a row that does not see the moved word stays as it is
        seen = [bool(inner.rows_attending_to(row)[single]) for row in rows]
        moves = [move if sees else 0.0 for move, sees in zip(moves, seen, strict=True)]
    return found.replaced([relative(move * SAFE, norm) for move in moves])


def longest_move(sizes: torch.Tensor, width: int, radius: float) -> torch.Tensor:
    """How far N moves a row of size β when the row moves by at most ``radius``: 2√D sin(θ/2) with
    sin θ = radius/β, and 2√D where the radius reaches β, up to the rounding of β: a row that can
    just be erased can leave in any direction.

    >>> moves = longest_move(torch.tensor([2.0, 1.0], dtype=torch.float64), 4, 1.0)
    >>> [round(move, 6) for move in moves.tolist()]
    [1.035276, 4.0]
    """
    sine = radius / (sizes * (1 - 4 * (width + 16) * U))
    inside = 2 * torch.sin(torch.asin(sine.clamp_max(1.0)) / 2)
    return math.sqrt(width) * torch.where(sine >= 1, 2.0, inside) * SAFE
