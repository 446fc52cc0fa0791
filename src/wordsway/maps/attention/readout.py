"""Linear readouts φ(X^i(Δ))·θ of attention, several θ at once, with their gradients.

With the moved rows of `wordsway.maps.attention.layer`, for θ ∈ ℝ^{n×d}

    φ(X^i(Δ))·θ = Σ_{j≠i} [φ_j·θ_j + t_j y_j·θ_j + p_j Δ·θ_j] + Σ_l r_l x_l·θ_i + r_i Δ·θ_i,

where r are row i's shares after the move.
"""

from __future__ import annotations

from typing import final

import torch

from wordsway.maps.attention.layer import Layer
from wordsway.maps.base import Pull, Readout


@final
class AttentionReadout(Readout):
    """φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, n·d): O(B·T·n·d)."""

    def __init__(self, layer: Layer, thetas: torch.Tensor) -> None:
        self.layer = layer
        self.theta = thetas.to(layer.X).reshape(-1, *layer.X.shape)
        self._x = torch.einsum("ld,tjd->tlj", layer.X, self.theta)  # x_l·θ_j
        self._phi = torch.einsum("jd,tjd->tj", layer.phi, self.theta)  # φ_j·θ_j
        #: All that Δ is multiplied with, and that slopes are, but for H, on the way back.
        self._stack = torch.cat([layer.keys, layer.queries, self.theta.flatten(0, 1), layer.H])
        if layer.sharp is not None:
            self._means = torch.einsum(
                "md,tmd->tm", layer.sharp.means, self.theta[:, layer.sharp.rows]
            )

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        values, pull = self.at(rows, delta)
        each = torch.eye(values.shape[1], dtype=values.dtype, device=values.device)
        return values, torch.stack([pull(one.expand_as(values)) for one in each], 1)

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        layer = self.layer
        T, n, d = self.theta.shape
        products = (delta @ self._stack.T).split((n, n, T * n, d), 1)
        moved = layer.moved(rows, delta, (products[0], products[1], products[3]))
        delta_theta = products[2].reshape(-1, T, n)  # Δ·θ_j
        y = self._row_directions(rows, moved.sharp)
        t, p = moved.t[:, None], moved.p[:, None]
        others = self._phi + t * y + p * delta_theta
        gone = torch.zeros_like(moved.p, dtype=torch.bool)
        gone[moved.own] = True
        gone = gone if moved.lost is None else gone | moved.lost
        others.masked_fill_(gone[:, None], 0)

        point = moved.own[0]
        own_theta = self.theta[:, rows].transpose(0, 1)  # θ_i, (B, T, d)
        h = self._x[:, :, rows].permute(2, 0, 1).clone()  # x_l·θ_i, (B, T, n)
        h[point, :, rows] += (delta[:, None] * own_theta).sum(2)
        value = others.sum(2) + (moved.r[:, None] * h).sum(2)

        def pull(c: torch.Tensor) -> torch.Tensor:
            c = c[:, :, None]
            slope = moved.dt * (c * y).sum(1) + moved.dp * (c * delta_theta).sum(1)
            own_slope = layer.scores.pull(moved.s, moved.r, (c * h).sum(1))
            lift = c * moved.p.masked_fill(gone, 0)[:, None]
            slopes = torch.cat([slope.masked_fill_(gone, 0), own_slope, lift.flatten(1)], 1)
            gradient = slopes @ self._stack[:-d]
            gradient += moved.r[moved.own][:, None] * (c * own_theta).sum(1)
            own_score = layer.keys[rows] + 2 * moved.turned
            return gradient + own_slope[moved.own][:, None] * own_score

        return value, pull

    def _row_directions(self, rows: torch.Tensor, pair: torch.Tensor | None) -> torch.Tensor:
        """y_j·θ_j, (B, T, n)."""
        x = self._x[:, rows].transpose(0, 1)
        y = x - self._phi if self.layer.scores.normalised else x.clone()
        if pair is not None and self.layer.sharp is not None:
            some = self.layer.sharp.rows
            y[:, :, some] = torch.where(pair[:, None], x[:, :, some] - self._means, y[:, :, some])
        return y
