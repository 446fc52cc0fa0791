"""Linear readouts φ(X^i(Δ))·θ of attention, several θ at once, with their gradients.

With the moved rows of `attention.one_matrix.layer`, for θ ∈ ℝ^{n×d}

    φ(X^i(Δ))·θ = Σ_{j≠i} [φ_j·θ_j + t_j y_j·θ_j + p_j Δ·θ_j] + Σ_l r_l x_l·θ_i + r_i Δ·θ_i,

where r are row i's shares after the move. With p_i = r_i the terms with Δ·θ_j are one sum; all
others are products of t and r with numbers that belong to row i alone, and are known before Δ is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.base import Pull, Readout
from wordsway.maps.rows import by_row


@dataclass(frozen=True)
class ReadoutRow:
    """The readouts of row i before it moves: ``own`` (n,) is its mask, ``weights`` (2n, T) are
    y_j·θ_j, 0 for j = i, above x_l·θ_i, and ``before`` (T,) is Σ_{j≠i} φ_j·θ_j.
    """

    i: int
    own: torch.Tensor
    weights: torch.Tensor
    before: torch.Tensor


@final
class AttentionReadout(Readout):
    """φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, n·d): O(B·T·n·d)."""

    def __init__(self, layer: Layer, thetas: torch.Tensor) -> None:
        self.layer = layer
        self.theta = thetas.to(layer.X).reshape(-1, *layer.X.shape)
        self._phi = torch.einsum("jd,tjd->jt", layer.phi, self.theta)  # φ_j·θ_j
        #: All that Δ is multiplied with, and that slopes are, but for H, on the way back.
        self._stack = torch.cat([layer.keys, layer.queries, self.theta.flatten(0, 1), layer.H])
        self._rows: dict[int, ReadoutRow] = {}

    def at(self, rows: torch.Tensor, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        groups = by_row(rows)
        if len(groups) == 1:
            return self._at(self._row(groups[0][0]), delta)
        values = delta.new_empty(len(delta), len(self.theta))
        pulls: list[tuple[torch.Tensor, Pull]] = []
        for i, some in groups:
            values[some], pull = self._at(self._row(i), delta[some])
            pulls.append((some, pull))

        def pull_each(c: torch.Tensor) -> torch.Tensor:
            gradient = torch.empty_like(delta)
            for some, pull in pulls:
                gradient[some] = pull(c[some])
            return gradient

        return values, pull_each

    def _at(self, row: ReadoutRow, delta: torch.Tensor) -> tuple[torch.Tensor, Pull]:
        """Values and slopes of points that all move this row."""
        layer, i = self.layer, row.i
        T, n, d = self.theta.shape
        a, query_d, delta_theta, turned = (delta @ self._stack.T).split((n, n, T * n, d), 1)
        delta_theta = delta_theta.reshape(-1, T, n)  # Δ·θ_j
        t, p, dt, dp = (part.masked_fill(row.own, 0) for part in layer.shares(i, a)[0])
        s = layer.own_scores(i, delta, query_d, turned)
        r = layer.scores.attention(s)
        p[:, i] = r[:, i]
        value = torch.cat([t, r], 1) @ row.weights + row.before
        value += (p[:, None] * delta_theta).sum(2)

        def pull(c: torch.Tensor) -> torch.Tensor:
            along = (c[:, :, None] * delta_theta).sum(1)
            slope, h = (c @ row.weights.T).split(n, 1)
            h[:, i] += along[:, i]
            own_slope = layer.scores.pull(s, r, h)
            slope = dt * slope + dp * along
            slope[:, i] = own_slope[:, i]  # row i's score of its own key moves with both
            lift = (c[:, :, None] * p[:, None]).flatten(1)
            slopes = torch.cat([slope, own_slope, lift], 1)
            gradient = slopes @ self._stack[:-d]
            return gradient.addcmul_(own_slope[:, i : i + 1], turned, value=2)

        return value, pull

    def _row(self, i: int) -> ReadoutRow:
        if i not in self._rows:
            self._rows[i] = self._known(i)
        return self._rows[i]

    def _known(self, i: int) -> ReadoutRow:
        layer = self.layer
        y = torch.einsum("d,tjd->jt", layer.X[i], self.theta)  # x_i·θ_j
        if layer.scores.normalised:
            y = y - self._phi
        if layer.sharp is not None:
            sharp = layer.sharp.keys == i
            some = layer.sharp.rows[sharp]
            apart = layer.X[i] - layer.sharp.means[sharp]
            y[some] = torch.einsum("md,tmd->mt", apart, self.theta[:, some])
        own = torch.arange(len(layer.X), device=y.device) == i
        return ReadoutRow(
            i=i,
            own=own,
            weights=torch.cat([y.masked_fill(own[:, None], 0), layer.X @ self.theta[:, i].T]),
            before=self._phi.masked_fill(own[:, None], 0).sum(0),
        )
