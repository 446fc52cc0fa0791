"""Sparsemax attention seen from one row: exact change and gradient at incremental cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.attention.heads_rows import HeadsMoving
from wordsway.maps.attention.heads_view import attracting_heads, heads_bytes_per_point
from wordsway.maps.attention.sparse_certificate import certify_sparse
from wordsway.maps.attention.sparsemax import SparseGroup, SparseLayer
from wordsway.maps.attention.view import is_small, plan_for
from wordsway.maps.certificate import Certificate
from wordsway.maps.rows import Moving, TracedView
from wordsway.progress import Progress, silent


def sparse_keys_bytes(n: int, heads: int, keys: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ) for the K keys that can be in a row's support."""
    return n * heads * keys * (12 + 2 * heads) * itemsize


@final
class SparseView(TracedView):
    """The view of sparsemax attention; ``text`` is the layer's without added positions."""

    def __init__(self, layer: SparseLayer, text: torch.Tensor) -> None:
        self.X = text
        self.layer = layer
        self.rows_before, self.norm = layer.phi, layer.norm
        self.small = is_small(*layer.X.shape)
        self.plan = plan_for(*layer.X.shape)

    def moving(self, bases: torch.Tensor) -> Moving:
        return HeadsMoving(self.layer, bases, SparseGroup)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        setting = self.layer.setting
        one_matrix = setting.weights.K is None and setting.rotation is None
        return certify_sparse(self.layer, rows, radius, progress) if one_matrix else None

    def suggest(
        self, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
    ) -> torch.Tensor:
        if count < 1 or len(self.X) < 2:
            return super().suggest(rows, count, radius, noise)
        return attracting_heads(self.layer, rows, count, radius, noise)

    @property
    def bytes_per_point(self) -> int:
        n, d = self.X.shape
        H, K = self.layer.setting.weights.heads, self.layer.top.shape[2]
        keys = sparse_keys_bytes(n, H, K, self.X.itemsize)
        return heads_bytes_per_point(n, d, H, self.X.itemsize) + keys
