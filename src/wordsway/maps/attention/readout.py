"""Linear readouts φ(X^i(Δ))·θ of attention, several θ at once, with their gradients.

With (t_j, p_j) of `wordsway.maps.attention.scores`, row j ≠ i is φ_j + t_j(x_i − φ_j) + p_jΔ, so for
θ ∈ ℝ^{n×d}

    φ(X^i(Δ))·θ = Σ_{j≠i} [φ_j·θ_j + t_j(x_i − φ_j)·θ_j + p_j Δ·θ_j] + Σ_l r_l x_l·θ_i + r_i Δ·θ_i,

where r is row i's attention after the move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import torch

if TYPE_CHECKING:
    from wordsway.maps.attention.view import AttentionView


@final
class AttentionReadout:
    """For softmax and ReLU attention: O(B·T·n·d)."""

    def __init__(self, view: AttentionView, thetas: torch.Tensor) -> None:
        n, d = view.X.shape
        self.view, self.theta = view, thetas.reshape(-1, n, d)
        self._x = torch.einsum("ld,tjd->tlj", view.X, self.theta)  # x_l·θ_j
        self._phi = torch.einsum("jd,tjd->tj", view.phi, self.theta)  # φ_j·θ_j

    def __call__(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        v, X = self.view, self.view.X
        n, own = len(X), (torch.arange(len(rows)), rows)
        a, _, query_d, turned = (delta @ v._stack.T).split(v._sizes, dim=1)
        shares = v.kind.move(tuple(part[rows] for part in v._pairs), a)
        mine = torch.zeros_like(a, dtype=torch.bool)
        mine[own] = True
        delta_theta = torch.einsum("bd,tjd->btj", delta, self.theta)  # Δ·θ_j
        y = self._x[:, rows].transpose(0, 1) - self._phi  # (x_i − φ_j)·θ_j, (B, T, n)
        t, p = shares.t[:, None], shares.p[:, None]
        moved = self._phi + t * y + p * delta_theta
        slope = shares.dt[:, None] * y + shares.dp[:, None] * delta_theta
        lift = p.expand_as(moved)
        out = (mine if shares.lost is None else mine | shares.lost)[:, None]
        moved, slope, lift = (
            moved.masked_fill(out, 0),
            slope.masked_fill(out, 0),
            lift.masked_fill(out, 0),
        )
        # Row i, whose query moved too: its score of l is s_il + (Wx_l/√d)·Δ, its own one also moves
        # with the key.
        s = v.s[rows] + query_d
        s[own] += (delta * (v.keys[rows] + turned)).sum(1)
        r = v.kind.attention(s)
        at = torch.arange(len(rows))
        own_theta = self.theta[:, rows].transpose(0, 1)  # θ_i, (B, T, d)
        h = self._x[:, :, rows].permute(2, 0, 1).clone()  # x_l·θ_i, (B, T, n)
        own_delta = (delta[:, None] * own_theta).sum(2)
        h[at, :, rows] += own_delta
        value = moved.sum(2) + (r[:, None] * h).sum(2)
        gs = torch.stack([v.kind.pull(s, r, h[:, one]) for one in range(h.shape[1])], 1)
        gradient = slope @ v.keys + gs @ v.queries + torch.einsum("btj,tjd->btd", lift, self.theta)
        gradient += (
            r[own][:, None, None] * own_theta
            + gs[at, :, rows][:, :, None] * (v.keys[rows] + 2 * turned)[:, None]
        )
        assert value.shape[1] == len(self.theta) and n == moved.shape[2]
        return value, gradient
