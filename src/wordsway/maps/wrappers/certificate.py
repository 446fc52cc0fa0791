"""Certificates for wrapped maps: from the attention inside, or from any certified map inside.

With U the inner map's certificate, so that Σ_j ‖w_j‖² ≤ Q = (U‖φ(X)‖)²:

- residual: ‖w + e_iΔᵀ‖ ≤ √Q + r;
- norm: row j moves by at most min(2√D, 2√D‖w_j‖/β_j), β_j = √(‖Cφ_j‖² + Dε), since with u, v
  lengthened by one coordinate √(Dε), ‖u/‖u‖ − v/‖v‖‖ ≤ 2‖u − v‖/(‖u‖ + ‖v‖). The rows with the
  smallest β_j take what they can of Q first;
- one row: √Q; the mean: √(Q/n).

Around attention itself the dual of `wordsway.maps.attention.certificate` knows more: the residual's
Δ meets row i alone, and each row has its own scale and ceiling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from wordsway.maps.attention.certificate import Around
from wordsway.maps.attention.view import AttentionView
from wordsway.maps.certificate import Certificate
from wordsway.maps.rows import RowView
from wordsway.progress import Progress, silent

#: A sum or a product of a few certified numbers is rounded.
SAFE = 1 + 1e-12


def certify_residual(
    inner: RowView, norm: float, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate | None:
    """‖X + φ(X)‖ = ``norm``."""
    if isinstance(inner, AttentionView) and inner.has_row_bounds:
        return inner.certify(rows, radius, progress, Around(norm, residual=True))
    found = inner.certify(rows, radius, progress)
    if found is None:
        return None
    size = float(inner.rows_before.norm())
    return Certificate((found.upper * size + radius) / norm * SAFE, found.kind)


def certify_normed(
    inner: RowView,
    stream: AttentionView | None,
    before: torch.Tensor,
    sizes: torch.Tensor,
    norm: float,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
) -> Certificate | None:
    """``inner`` is what is normalised, ``stream`` the attention that it adds to the text, if it
    does; ``before`` are the Cφ_j, ``sizes`` the β_j, ``norm`` is ‖N(φ(X))‖.
    """
    around = Around(norm, stream is not None, before, sizes)
    if stream is not None:
        return stream.certify(rows, radius, progress, around)
    if isinstance(inner, AttentionView) and inner.has_row_bounds:
        return inner.certify(rows, radius, progress, around)
    found = inner.certify(rows, radius, progress)
    if found is None:
        return None
    room = (found.upper * float(inner.rows_before.norm())) ** 2
    each = sizes.sort().values ** 2  # ‖w_j‖² = β_j² takes row j to its ceiling
    taken = torch.cat([each.new_zeros(1), each.cumsum(0)])
    spent = (room[:, None].to(each) - taken[:-1]).clamp_min(0) / each
    ceiling = 4.0 * before.shape[1]
    upper = (ceiling * spent.clamp_max(1).sum(1)).sqrt() / norm * SAFE
    return Certificate(upper.to(found.upper), found.kind)


def certify_read_out(
    inner: RowView,
    stream: AttentionView | None,
    weights: torch.Tensor,
    norm: float,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
) -> Certificate | None:
    """``weights`` (n,) are all 1/n, or one of them is 1; ``norm`` is that of what is read."""
    single = int(weights.argmax()) if float(weights.max()) == 1 else None
    attention = stream or (inner if isinstance(inner, AttentionView) else None)
    if attention is not None and not attention.has_row_bounds:
        attention = None
    if attention is not None and single is not None:
        found = attention.certify_row(single, rows, radius)
        added = [radius if stream is not None and row == single else 0.0 for row in rows]
        return Certificate((found.upper + found.upper.new_tensor(added)) / norm * SAFE, found.kind)
    if attention is not None and attention.layer.scores.normalised:
        found = attention.certify_mean(rows, radius, stream is not None)
        return Certificate(found.upper * float(weights[0]) / norm * SAFE, found.kind)
    whole = inner.certify(rows, radius, progress)
    if whole is None:
        return None
    share = float(weights.norm()) * float(inner.rows_before.norm())
    return Certificate(whole.upper * share / norm * SAFE, whole.kind)


def longest_move(sizes: torch.Tensor, width: int, radius: float) -> torch.Tensor:
    """How far N moves a row of size β when the row moves by at most ``radius``: 2√D sin(θ/2) with
    sin θ = radius/β, and 2√D where the radius exceeds β.

    >>> moves = longest_move(torch.tensor([1.0, 0.5], dtype=torch.float64), 4, 1.0)
    >>> [round(move, 6) for move in moves.tolist()]
    [2.828427, 4.0]
    """
    sine = (radius / sizes).clamp_max(1.0)
    inside = 2 * torch.sin(torch.asin(sine) / 2)
    most = torch.where(radius > sizes, torch.full_like(inside, 2.0), inside)
    return math.sqrt(width) * most * SAFE
