"""Attention with projections and heads seen from one row: exact change and gradient at incremental
cost, starts and readouts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from wordsway.core.progress import Progress, silent
from wordsway.core.vectors import unit
from wordsway.maps.attention.heads.layer import HeadsLayer
from wordsway.maps.attention.heads.rows import HeadsMoving
from wordsway.maps.attention.layer import LayerView
from wordsway.maps.rigorous import Certificate
from wordsway.maps.rows import Moving, by_row

Certify = Callable[[HeadsLayer, Sequence[int], float, Progress], Certificate]


def heads_bytes_per_point(n: int, d: int, heads: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ)."""
    return (n * (20 * heads + 3 * heads * heads) + (12 + 2 * heads) * d) * itemsize


class _Across(NamedTuple):
    """Sums over the products c_hk = y_hᵀG_hk δ_k of each row: Σ_h t_h c_hk and Σ_k c_hk p_k
    (B, H, m), and Σ_j p_k t_h y_h (B, k, h, m′), of which the gradient is made.
    """

    td: torch.Tensor
    pd: torch.Tensor
    drawn: torch.Tensor


def _across(
    y: torch.Tensor, z: torch.Tensor, t: torch.Tensor, p: torch.Tensor, gradient: bool
) -> _Across:
    """Head by head of y, so that the B·H·m products of one head stay in the processor's cache:
    those of all heads together are read from memory five times, which takes as long as the
    arithmetic. Without ``gradient`` only ``td`` is computed.
    """
    B, H, m = t.shape
    t, p = t.transpose(0, 1).contiguous(), p.transpose(0, 1).contiguous()  # (H, B, m)
    z = z.permute(1, 2, 0, 3).contiguous()  # (h, k, B, m′)
    c, td, pd = torch.empty_like(p), torch.zeros_like(p), torch.empty_like(p)
    drawn = p.new_empty(H, H, B, y.shape[2])
    for h in range(H):
        torch.mm(z[h].view(H * B, -1), y[h].T, out=c.view(H * B, m))
        td.addcmul_(t[h], c)
        if gradient:
            torch.sum(c.mul_(p), 0, out=pd[h])
            torch.mul(t[h], p, out=c)
            torch.mm(c.view(H * B, m), y[h], out=drawn[h].view(H * B, -1))
    return _Across(td.transpose(0, 1), pd.transpose(0, 1), drawn.permute(2, 1, 0, 3))


class HeadsView(LayerView[HeadsLayer]):
    """The view of attention with projections. Points of a batch are evaluated row by row of i."""

    def __init__(
        self, layer: HeadsLayer, certify: Certify | None, text: torch.Tensor | None = None
    ) -> None:
        super().__init__(layer, attracting_heads, text)
        self._certify = certify
        (n, d), heads = layer.X.shape, layer.setting.weights.heads
        self.bytes_per_point = heads_bytes_per_point(n, d, heads, layer.X.itemsize)

    def value(self, which: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        value = torch.empty(len(which), dtype=self.X.dtype, device=self.X.device)
        for i, points in by_row(which):
            value[points] = self._evaluate(i, x[points], gradient=False)[0]
        return value

    def value_and_gradient(
        self, which: torch.Tensor, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        value = torch.empty(len(which), dtype=self.X.dtype, device=self.X.device)
        gradient = torch.empty_like(x)
        for i, points in by_row(which):
            value[points], gradient[points] = self._evaluate(i, x[points], gradient=True)
        return value, gradient

    def _evaluate(
        self, i: int, delta: torch.Tensor, gradient: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        layer, row = self.layer, self.layer.row(i)
        moved = row.moved(delta)
        t, p = moved.shares.t, moved.shares.p
        z = layer.gram_with(moved.delta_v)  # G_hk δ_k (B, H, H, m′)
        ty = (row.gram @ t.permute(2, 1, 0).contiguous()).permute(2, 1, 0)  # Σ_h t_h y_hᵀG_hk y_k
        pd = torch.bmm((moved.delta_v[:, :, None] * z).sum(-1).mT, p)  # Σ_h p_h δ_hᵀG_hk δ_k
        across = _across(row.y, z, t, p, gradient)
        td = across.td
        own_heads = layer.gram_all(moved.own_heads)  # half the gradient of row i's square
        value = (t * ty + p * (2 * td + pd)).sum((1, 2)) + (own_heads * moved.own_heads).sum((1, 2))
        value = value / layer.norm**2
        if not gradient:
            return value, value

        slope = 2 * (ty + across.pd) * moved.shares.dt + 2 * (td + pd) * moved.shares.dp
        # In δ_k: 2 Σ_h G_kh (Σ_j p_k t_h y_h) + 2 Σ_h (Σ_j p_h p_k) G_kh δ_h.
        along = layer.gram_rows(across.drawn)
        along = along + torch.einsum("bkh,bkhx->bkx", torch.bmm(p, p.mT), z)
        g = row.pulled(moved, slope, 2 * along, 2 * own_heads)
        return value, g / layer.norm**2

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        if self._certify is None:
            return None
        return self._certify(self.layer, rows, radius, progress)

    def moving(self, bases: torch.Tensor) -> Moving:
        return HeadsMoving(self.layer, bases)


def attracting_heads(
    layer: HeadsLayer,
    rows: Sequence[int],
    count: int,
    radius: float,
    noise: Sequence[torch.Generator],
) -> torch.Tensor:
    """`_attracting` of each row, (P, count, d)."""
    each = zip(rows, noise, strict=True)
    return torch.stack([_attracting(layer, row, count, radius, own) for row, own in each])


def _attracting(
    layer: HeadsLayer, row: int, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Δ that raise the scores of key i in all rows and heads, in random crowds of them, and in
    single heads, each with some of the direction that lengthens what is attracted. (count, d)
    """
    seen, setting = layer.row(row), layer.setting
    H, m = seen.f.shape[:2]
    how: dict[str, Any] = {"generator": noise, "device": layer.X.device, "dtype": layer.X.dtype}
    crowd = torch.rand(count, H, m, **how).clamp_min(1e-12).log().neg()
    crowd[1::2] = (crowd[1::2] > 2 * torch.rand(len(crowd[1::2]), 1, 1, **how)).to(crowd)
    if H > 1:
        chosen = torch.rand(len(crowd[2::3]), H, 1, **how)
        crowd[2::3] *= (chosen >= chosen.amax(1, keepdim=True) * torch.rand(1, **how)).to(crowd)
    outward = 0.8 * torch.rand(count, 1, **how)
    crowd[:1], outward[:1] = 1, 0
    up = torch.bmm(crowd.transpose(0, 1), seen.f).transpose(0, 1)
    up = setting.lift.key_pull(layer.k[row].expand(count, -1, -1), up)
    up = up if setting.rotation is None else setting.rotation.turn_as(row, up, back=True)
    keys = setting.weights.keys_back(up)
    far = setting.weights.out(layer.v[row], bias=False) - layer.phi.mean(0)
    longer = setting.weights.values_back(setting.weights.out_back(far))
    return radius * unit(unit(keys) + outward * unit(longer[None]))
