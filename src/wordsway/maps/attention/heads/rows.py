"""The rows of attention with heads after one row of the text moved, without writing them down.

With `attention.heads.layer`, head h of row j changes by t y + pδ, so that for any fixed b_j
with heads b_h = O_h b_j

    ‖w_j‖² = Σ_hk t_h t_k y_hᵀG_hk y_k + 2 t_h p_k y_hᵀG_hk δ_k + p_h p_k δ_hᵀG_hk δ_k,
    b_j·w_j = Σ_h t_h b_h·y_h + p_h b_h·δ_h,      Σ_j c_j w_j = Oᵀ(Σ_j c_j (t_j y_j + p_j δ))

are differentiable in Δ by way of t, p, δ and row i alone. Points of a batch are taken row by row of
i; rows that do not see row i do not move.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import torch

from wordsway.maps.attention.heads.layer import FromRow, HeadsLayer
from wordsway.maps.rows import Derived, RowChanges, by_row


class Group:
    """B moves of one row i: m rows see it. Shapes as in `attention.heads.layer`."""

    def __init__(self, layer: HeadsLayer, row: FromRow, delta: torch.Tensor) -> None:
        self.layer, self.row = layer, row
        found: Any = Derived.apply(delta, self._coefficients)  # type: ignore[no-untyped-call]
        self.t, self.p, self.delta_v, self.own_heads, self.others = found
        self.z = layer.gram_with(self.delta_v)  # G_hk δ_k (B, H, H, m′)

    def _coefficients(self, delta: torch.Tensor) -> Any:
        """t, p and δ of every row and head, the change of row i's heads, and the moves of other
        weights.
        """
        row, moved = self.row, self.row.moved(delta)
        others = delta.new_zeros(0) if moved.others is None else moved.others.change

        def pull(by_t: Any, by_p: Any, along: Any, by_own: Any, by_others: Any) -> torch.Tensor:
            slope = by_t * moved.shares.dt + by_p * moved.shares.dp
            if moved.others is not None:
                slope = slope + (by_others * moved.others.slope).sum(-1)
            return row.pulled(moved, slope, along, by_own)

        return (moved.shares.t, moved.shares.p, moved.delta_v, moved.own_heads, others), pull

    @property
    def own(self) -> torch.Tensor:
        """The change of row i, (B, d)."""
        return self.layer.setting.weights.out(self.own_heads, bias=False)

    def squares(self) -> torch.Tensor:
        """‖w_j‖², (B, m)."""
        t, p, row, z = self.t, self.p, self.row, self.z
        B, H, m = t.shape
        across = torch.bmm(row.y, z.permute(1, 3, 0, 2).reshape(H, -1, B * H))
        across = across.view(H, m, B, H).permute(2, 0, 3, 1)  # y_hᵀG_hk δ_k (B, h, k, m)
        D = (self.delta_v[:, :, None] * z).sum(-1)
        ty = torch.bmm(t.permute(2, 0, 1), row.gram).permute(1, 2, 0)
        td = (t[:, :, None] * across).sum(1)
        return (t * ty + p * (2 * td + torch.bmm(D.mT, p))).sum(1)

    def products(self, bases: torch.Tensor) -> torch.Tensor:
        """b_j·w_j for the heads (M, H, m, m′) of the bases at the rows that move, (B, M, m)."""
        y = (bases * self.row.y).sum(-1)  # (M, H, m)
        along = torch.einsum("bhx,nhmx->bnhm", self.delta_v, bases)
        return (self.t[:, None] * y + self.p[:, None] * along).sum(2)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        """Σ_j c_j w_j before O: (B, m) → (B, H, m′)."""
        t, p = weights[:, None] * self.t, weights[:, None] * self.p
        y = torch.bmm(t.transpose(0, 1), self.row.y).transpose(0, 1)
        return y + p.sum(2, keepdim=True) * self.delta_v

    def dense(self) -> torch.Tensor:
        """All the w_j before O, (B, H, m, m′)."""
        return self.t[..., None] * self.row.y + self.p[..., None] * self.delta_v[:, :, None]


@final
class HeadsMoving:
    """The rows of a layer after any move, with their products with ``bases`` (M, n, d)."""

    def __init__(
        self,
        layer: HeadsLayer,
        bases: torch.Tensor,
        group: Callable[[HeadsLayer, FromRow, torch.Tensor], Group] = Group,
    ) -> None:
        self.layer, self.bases, self.group = layer, bases, group
        # (M, H, n, m′)
        self.heads = layer.setting.weights.out_back(bases).transpose(1, 2)

    def __call__(self, rows: torch.Tensor, delta: torch.Tensor) -> HeadsRows:
        return HeadsRows(self, rows, delta)


@final
class HeadsRows(RowChanges):
    """B moves of a layer, group by group of the moved row."""

    def __init__(self, moving: HeadsMoving, rows: torch.Tensor, delta: torch.Tensor) -> None:
        self._moving, self._layer, self._rows = moving, moving.layer, rows
        self._groups = [
            (points, moving.group(moving.layer, moving.layer.row(i), delta[points]))
            for i, points in by_row(rows)
        ]

    @cached_property
    def own(self) -> torch.Tensor:  # type: ignore[override]
        return self._gathered([group.own for _, group in self._groups])

    @cached_property
    def squares(self) -> torch.Tensor:  # type: ignore[override]
        parts = []
        for _, group in self._groups:
            own = group.own
            parts.append(self._placed(group, group.squares(), (own * own).sum(1)))
        return self._gathered(parts)

    @cached_property
    def products(self) -> torch.Tensor:  # type: ignore[override]
        heads, bases, parts = self._moving.heads, self._moving.bases, []
        for _, group in self._groups:
            own = group.own @ bases[:, group.row.i].T
            parts.append(self._placed(group, group.products(heads[:, :, group.row.rows]), own))
        return self._gathered(parts)

    def total(self, weights: torch.Tensor) -> torch.Tensor:
        out, parts = self._layer.setting.weights.out, []
        for points, group in self._groups:
            some = weights[points]
            heads = group.total(some[:, group.row.rows])
            parts.append(
                out(heads + some[:, group.row.i, None, None] * group.own_heads, bias=False)
            )
        return self._gathered(parts)

    def dense(self) -> torch.Tensor:
        out, parts = self._layer.setting.weights.out, []
        for _, group in self._groups:
            moved = out(group.dense().transpose(1, 2), bias=False)  # (B, m, d)
            full = moved.new_zeros(len(moved), len(self._layer.X), moved.shape[2])
            full = full.index_copy(1, group.row.rows, moved)
            parts.append(full.index_copy(1, self._index(group), group.own[:, None]))
        return self._gathered(parts)

    def _placed(self, group: Group, moved: torch.Tensor, own: torch.Tensor) -> torch.Tensor:
        """Values (…, m) of the rows that move and (…,) of row i among those of all n."""
        full = moved.new_zeros(*moved.shape[:-1], len(self._layer.X))
        full = full.index_copy(-1, group.row.rows, moved)
        return full.index_copy(-1, self._index(group), own[..., None])

    def _index(self, group: Group) -> torch.Tensor:
        return torch.tensor([group.row.i], device=self._rows.device)

    def _gathered(self, parts: list[torch.Tensor]) -> torch.Tensor:
        """The groups' points in the order of the batch."""
        if len(parts) == 1:
            return parts[0]
        order = torch.cat([points for points, _ in self._groups])
        return torch.cat(parts)[order.argsort()]
