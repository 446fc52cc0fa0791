"""Linear readouts φ(X^i(Δ))·θ of attention, several θ at once, with their gradients.

With the moved rows of `wordsway.maps.attention.layer`, for θ ∈ ℝ^{n×d}

    φ(X^i(Δ))·θ = Σ_{j≠i} [φ_j·θ_j + t_j y_j·θ_j + p_j Δ·θ_j] + Σ_l r_l x_l·θ_i + r_i Δ·θ_i,

where r are row i's shares after the move.
"""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.attention.layer import Layer


@final
class AttentionReadout:
    """φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, n·d): O(B·T·n·d)."""

    def __init__(self, layer: Layer, thetas: torch.Tensor) -> None:
        self.layer = layer
        self.theta = thetas.to(layer.X).reshape(-1, *layer.X.shape)
        self._x = torch.einsum("ld,tjd->tlj", layer.X, self.theta)  # x_l·θ_j
        self._phi = torch.einsum("jd,tjd->tj", layer.phi, self.theta)  # φ_j·θ_j
        if layer.sharp is not None:
            self._means = torch.einsum(
                "md,tmd->tm", layer.sharp.means, self.theta[:, layer.sharp.rows]
            )

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        layer = self.layer
        moved = layer.moved(rows, delta)
        delta_theta = torch.einsum("bd,tjd->btj", delta, self.theta)  # Δ·θ_j
        y = self._row_directions(rows, moved.sharp)
        t, p = moved.t[:, None], moved.p[:, None]
        others = self._phi + t * y + p * delta_theta
        slope = moved.dt[:, None] * y + moved.dp[:, None] * delta_theta
        lift = p.expand_as(others)
        gone = torch.zeros_like(moved.p, dtype=torch.bool)
        gone[moved.own] = True
        gone = (gone if moved.lost is None else gone | moved.lost)[:, None]
        others = others.masked_fill(gone, 0)
        slope = slope.masked_fill(gone, 0)
        lift = lift.masked_fill(gone, 0)

        point = moved.own[0]
        own_theta = self.theta[:, rows].transpose(0, 1)  # θ_i, (B, T, d)
        h = self._x[:, :, rows].permute(2, 0, 1).clone()  # x_l·θ_i, (B, T, n)
        h[point, :, rows] += (delta[:, None] * own_theta).sum(2)
        value = others.sum(2) + (moved.r[:, None] * h).sum(2)
        own_slope = layer.scores.pull(moved.s[:, None], moved.r[:, None], h)
        lifted = torch.einsum("btj,tjd->btd", lift, self.theta)
        gradient = slope @ layer.keys + own_slope @ layer.queries + lifted
        own_score = (layer.keys[rows] + 2 * moved.turned)[:, None]
        own_key = own_slope[point, :, rows][:, :, None] * own_score
        gradient += moved.r[moved.own][:, None, None] * own_theta + own_key
        return value, gradient

    def _row_directions(self, rows: torch.Tensor, pair: torch.Tensor | None) -> torch.Tensor:
        """y_j·θ_j, (B, T, n)."""
        x = self._x[:, rows].transpose(0, 1)
        y = x - self._phi if self.layer.scores.normalised else x.clone()
        if pair is not None and self.layer.sharp is not None:
            some = self.layer.sharp.rows
            y[:, :, some] = torch.where(pair[:, None], x[:, :, some] - self._means, y[:, :, some])
        return y
