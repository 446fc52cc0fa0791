"""How far the numbers of a float64 attention layer are from those of exact arithmetic.

A certificate bounds the *computed* layer. With the error E_j of the scores of row j, e_j of its
keys A_j and v_ji of its shares (with or without key i), Theorem 17 of docs/statements/rounding.md
shortens all distances of a moved logit by ``blur_j`` and adds ‖(omega_j)‖ to the change. Texts may
have an error of their own (``text_error``, per row), where they are the output of a norm or have
positions added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from wordsway.maps.attention.scores.base import Scores
from wordsway.maps.rigorous import ELEMENTARY, SAFE, U

if TYPE_CHECKING:
    from wordsway.maps.attention.heads import HeadsLayer
    from wordsway.maps.attention.one_matrix.layer import Layer

#: Roundings of a weight before it meets the text (temperature, √d, log n), in units of u.
PREPARED = 64


@dataclass(frozen=True)
class LayerErrors:
    """Errors of one set of shares at a text of n rows; those of one head if there are several."""

    scores: torch.Tensor  # E_j (n,)
    keys: torch.Tensor  # e_j (n,)
    shares: torch.Tensor  # v_ji (n, n) or (n, 1)
    rows: torch.Tensor  # f_j (n,): of the rows before any output projection
    largest: torch.Tensor  # max_l |s_jl| over visible keys (n,)
    longest: float  # max_l ‖x_l‖, or of the values
    text: float

    def blur(
        self,
        rows: torch.Tensor,
        logit: torch.Tensor,
        keys: torch.Tensor,
        radius: float,
        own: int | None = None,
    ) -> torch.Tensor:
        """How far the moved logits of ``rows`` may be off, given those before the move and the A_j,
        (m,); with ``own``, those of row i = ``own`` on the keys ``rows``.
        """
        n = len(self.scores)
        error, largest = self.scores[rows], self.largest[rows]
        if own is not None:
            error, largest = self.scores[own], self.largest[own]
        size = 1 + logit.abs() + largest
        moved = radius * (self.keys[rows] + 2 * (keys.shape[-1] + 16) * U * keys.norm(dim=-1))
        return 2 * error + (2 * n * U + 4 * ELEMENTARY) * size + moved

    def omega(
        self, scores: Scores, i: int, rows: torch.Tensor, y: torch.Tensor, radius: float
    ) -> torch.Tensor:
        """How far w_j of ``rows`` may be off apart from its moved logit, given ‖y_j‖; no row moves
        by more than 2max‖x‖ + r.
        """
        v = self.shares[rows, i if self.shares.shape[1] > 1 else 0]
        if not scores.normalised:
            return v * y + self.text
        longest, n = self.longest + self.text, len(self.scores)
        found = 3 * v * (y + longest + radius) + 4 * self.rows[rows] + 2 * self.text
        return (found + 8 * (n + 8) * U * longest).clamp_max(2 * longest + radius)


def layer_errors(
    scores: Scores,
    s: torch.Tensor,
    shares: torch.Tensor,
    values: torch.Tensor,
    score_error: torch.Tensor,
    key_error: torch.Tensor,
    value_error: float,
) -> LayerErrors:
    """The errors of shares (n, n) and rows, given those of the scores (n,), keys and values."""
    n, largest = len(s), _largest_visible(s)
    whole, without = scores.share_error(s, shares, score_error + 4 * U * largest)
    longest, given = float(values.norm(dim=1).max()), shares.abs().sum(1)
    rows = whole * (longest + value_error)
    rows = rows + given * (2 * (n + 8) * U * longest + value_error)
    return LayerErrors(score_error, key_error, without, rows, largest, longest, value_error)


def one_matrix_errors(layer: Layer) -> LayerErrors:
    """The errors of `attention.one_matrix.layer.Layer`, whose W is divided by √d and keys are XW.

    ‖fl(x_jᵀW) − x_jᵀW‖ ≤ (γ_d + prepared)‖x_j‖‖W‖_F, and a score adds γ_d‖A_j‖‖x_l‖ and the
    rounding of its bias, which is at most |s| + ‖A_j‖‖x_l‖ itself.
    """
    X, s, text_error, d = layer.X, layer.s, layer.text_error, layer.X.shape[1]
    x, k, w = X.norm(dim=1), layer.keys.norm(dim=1), float(layer.W.norm())
    longest = float(x.max()) + text_error
    key_error = (2 * (d + PREPARED) * U * x + text_error) * w
    error = key_error * longest + k * text_error + 2 * (d + PREPARED) * U * k * longest
    error = error + PREPARED * U * _largest_visible(s)
    return layer_errors(layer.scores, s, layer.P, X, error, key_error, text_error)


def _largest_visible(s: torch.Tensor) -> torch.Tensor:
    """The largest |s_jl| over visible keys, (n,)."""
    return torch.where(s > -torch.inf, s.abs(), 0.0).amax(1)


@dataclass(frozen=True)
class HeadsErrors:
    """Errors of a layer of heads: those of each head, and of the rows φ_j (n,) of all together."""

    heads: list[LayerErrors]
    queries: torch.Tensor  # (n, H), as those of keys
    keys: torch.Tensor
    rows: torch.Tensor
    outputs: torch.Tensor  # ‖O_h‖_F (H,)
    width: int  # roundings of a product with O_h

    def blur(
        self, rows: torch.Tensor, logit: torch.Tensor, keys: torch.Tensor, radius: float
    ) -> torch.Tensor:
        """`LayerErrors.blur` of each head (N, H), given logits (N, H) and A_jh (N, H, d)."""
        each = enumerate(self.heads)
        found = [one.blur(rows, logit[:, h], keys[:, h], radius) for h, one in each]
        return torch.stack(found, 1)

    def omega(self, scores: Scores, i: int, rows: torch.Tensor) -> float:
        """How far the changes of ``rows`` and of row i may be off, apart from moved logits."""
        total = self.rows[rows] * 0
        own = float(self.rows[i])
        for head, size in zip(self.heads, self.outputs.tolist(), strict=True):
            far = total.new_full((len(rows),), 2 * head.longest)
            each = head.omega(scores, i, rows, far, 0.0) + self.width * U * far
            total = total + size * each
            own += size * (2 * head.text + 4 * self.width * U * head.longest)
        return math.hypot(float(total.norm()), own) * SAFE


def heads_errors(layer: HeadsLayer) -> HeadsErrors:
    """The errors of `attention.heads.HeadsLayer`.

    Queries and keys are products of length d with a bias, turned by angles of at most n radians and
    lifted; a lifted query or key is off by what its `Lift` makes of that. Values are products of
    length d, rows a product of all heads with O.
    """
    setting, X, text_error = layer.setting, layer.X, layer.text_error
    weights, n, d = setting.weights, len(X), X.shape[1]
    x = X.norm(dim=1)
    unit = 2 * (d + PREPARED) * U
    turning = 0.0 if setting.rotation is None else 8 * n * ELEMENTARY
    H = weights.heads

    def sizes(matrix: torch.Tensor, shared: int) -> torch.Tensor:
        """The Frobenius norm of each head's part of a matrix (d, shared·m), (H,)."""
        parts = matrix.unflatten(1, (shared, -1)).transpose(0, 1).flatten(1)
        return parts.norm(dim=1).repeat_interleave(H // shared)

    def made(matrix: torch.Tensor | None, shared: int, out: torch.Tensor) -> torch.Tensor:
        """The error of X·matrix + bias, (n, H), given the outcome (n, H, m)."""
        if matrix is None:
            return torch.full_like(out[..., 0], text_error)
        size = sizes(matrix, shared)
        return (unit * x + text_error)[:, None] * size + (unit + turning) * out.norm(dim=2)

    shared = weights.key_heads
    q_error, k_error = made(weights.Q, H, layer.q), made(weights.K, shared, layer.k)
    v_error = made(weights.V, shared, layer.v)
    f, g = layer.f.norm(dim=2), layer.g.norm(dim=2)
    f_error = abs(setting.factor) * setting.lift.error(layer.q, q_error) + PREPARED * U * f
    g_error = setting.lift.error(layer.k, k_error)
    length = sizes(torch.eye(d).to(X) if weights.K is None else weights.K, shared)
    found = []
    for h in range(H):
        far, near = float(g[:, h].max()), float(g_error[:, h].max())
        s = layer.s[h]
        error = f_error[:, h] * (far + near) + f[:, h] * (near + unit * far)
        keys = (f_error[:, h] + (unit + turning) * f[:, h]) * float(length[h])
        values, off = layer.v[:, h], float(v_error[:, h].max())
        error = error + PREPARED * U * (_largest_visible(s) + f[:, h] * far)
        found.append(layer_errors(setting.scores, s, layer.P[h], values, error, keys, off))
    outputs = x.new_ones(H)
    if weights.O is not None:
        outputs = weights.O.unflatten(0, (H, -1)).flatten(1).norm(dim=1)
    rows = torch.stack([one.rows for one in found], 1) @ outputs
    rows = rows + 2 * (H * layer.v.shape[2] + 8) * U * (layer.heads.norm(dim=2) @ outputs)
    rows = rows + 4 * U * layer.phi.norm(dim=1)
    return HeadsErrors(found, q_error, k_error, rows, outputs, 2 * (layer.v.shape[2] + 8))
