"""What sparsemax attention with one matrix cannot exceed.

Row j ≠ i changes by g_j(a) + p_j(a)Δ with the move a of its score: g_j is a curve in one number,
and known, since everything but Δ itself follows from a. So ‖row j‖ ≤ f_j(a) = ‖g_j(a)‖ + p_j(a)r.
With Σ_j a_j² ≤ ‖A‖²r², a_j = A_j·Δ, every λ ≥ 0 gives

    Σ_{j≠i} ‖row j‖² ≤ λ‖A‖²r² + Σ_{j≠i} max_{|a| ≤ r‖A_j‖} [f_j(a)² − λa²].

The maximum is taken over cells of a grid: p grows with a, and where a score grows all other weights
fall by what it gains, so that |g_j′| ≤ D_j = max_l ‖x_i − x_l‖ over the keys of the row. Row i is a
mean of the text's rows, before and after: ‖row i‖ ≤ max(‖x_i − φ_i‖ + r, max_l ‖x_l − φ_i‖).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.scores.sparsemax import SparseLayer, SparseRow
from wordsway.maps.certificate import Certificate, relative
from wordsway.maps.rigorous import SAFE, U, opnorm_upper_bound

#: Cells of the grid over a, and multipliers tried.
CELLS, MULTIPLIERS = 400, 60


def certify_sparse(
    layer: SparseLayer, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate:
    """An exact certificate for each row; the layer has one matrix, and is in float64."""
    upper = []
    for i in rows:
        row = layer.row(i)
        assert isinstance(row, SparseRow)
        square = _others(layer, row, radius) + _own(layer, i, radius) ** 2
        longest = max(float(layer.X.norm(dim=1).max()), float(layer.X[i].norm()) + radius)
        hull = float((layer.phi.norm(dim=1) + longest).norm())
        found = min(math.sqrt(square * SAFE), hull * SAFE) + _rounding(layer, row, radius)
        upper.append(relative(found * SAFE, layer.norm_below))
        progress("certifying", len(upper), len(rows))
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


def _rounding(layer: SparseLayer, row: SparseRow, radius: float) -> float:
    """How far the changes of the computed layer are from those in exact arithmetic: the weights are
    off by v before the move and after it, and by n times what the error of A adds to a.
    """
    errors, (n, d), rows = layer.errors, layer.X.shape, row.rows
    (head,) = errors.heads
    moved = 2 * n * radius * (head.keys[rows] + 2 * (d + 64) * U * row.f[0].norm(dim=1))
    each = (2 * head.shares[rows, 0] + moved) * (head.longest + radius) + 2 * head.text
    own = float(errors.rows[row.i]) + 2 * head.text
    return math.hypot(float(each.norm()), own) * SAFE


def _others(layer: SparseLayer, row: SparseRow, radius: float) -> float:
    if not len(row.rows):
        return 0.0
    A = row.f[0]  # (m, d)
    reach = radius * A.norm(dim=1) * SAFE
    steps = torch.linspace(-1, 1, CELLS + 1, dtype=A.dtype, device=A.device)
    a = steps[:, None] * reach  # (CELLS + 1, m)
    shares, others = row._shares(a[:, None])
    t, p, c = shares.t[:, 0], shares.p[:, 0], others.change[:, 0].transpose(0, 1)  # (m, B, K)
    squares = (torch.bmm(c, layer.gram_top[row.rows]) * c).sum(2).T
    squares = squares + 2 * t * torch.bmm(c, row.y_top.mT).squeeze(2).T
    squares = squares + t * t * row.gram[:, 0, 0]
    x = layer.X[row.i]
    apart = (layer.X - x).norm(dim=1)
    # A quadratic form of up to K + 1 weights of sum 4 at most, in products of length d.
    size = float(layer.X.norm(dim=1).max())
    rounding = 64 * (layer.X.shape[1] + c.shape[2] + 16) * U
    g = (squares.clamp_min(0) + rounding * size**2).sqrt()
    width = (a[1:] - a[:-1]) / 2
    most = torch.where(row.seen[0], apart[row.top[0]], 0.0).amax(1)  # D_j
    within = (g[1:] + g[:-1]) / 2 + width * most
    f2 = (within + p[1:] * radius) ** 2  # (CELLS, m)
    near = torch.where(a[1:] * a[:-1] < 0, 0.0, torch.minimum(a[1:].abs(), a[:-1].abs())) ** 2
    price = (opnorm_upper_bound(A) * radius) ** 2
    scale = float(f2.max()) / max(float((reach**2).max()), 1e-300)
    found = float(f2.amax(0).sum())
    for exponent in torch.linspace(-6, 1, MULTIPLIERS).tolist():
        weight = scale * 10**exponent
        found = min(found, weight * price + float((f2 - weight * near).amax(0).sum()))
    return found


def _own(layer: SparseLayer, i: int, radius: float) -> float:
    apart = (layer.X - layer.phi[i]).norm(dim=1)
    heard = layer.s[0, i] > -math.inf
    return max(float(apart[i]) + radius, float(apart[heard].max()))
