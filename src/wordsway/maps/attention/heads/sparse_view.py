"""Sparsemax attention seen from one row: exact change and gradient at incremental cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch

from wordsway.core.progress import Progress, silent
from wordsway.maps.attention.certificates.sparse import certify_sparse
from wordsway.maps.attention.heads.rows import HeadsMoving
from wordsway.maps.attention.heads.view import HeadsView
from wordsway.maps.attention.scores.sparsemax import SparseGroup, SparseLayer
from wordsway.maps.base import Readout
from wordsway.maps.certificate import Certificate
from wordsway.maps.rows import Moving, RowReadout


def sparse_keys_bytes(n: int, heads: int, keys: int, itemsize: int) -> int:
    """Working memory of one point (i, Δ) for the K keys that can be in a row's support."""
    return n * heads * keys * (12 + 2 * heads) * itemsize


@final
class SparseView(HeadsView):
    """The view of sparsemax attention: that of heads, with `SparseRow.more` of the other keys."""

    layer: SparseLayer

    def __init__(self, layer: SparseLayer, text: torch.Tensor) -> None:
        super().__init__(layer, None, text)

    def moving(self, bases: torch.Tensor) -> Moving:
        return HeadsMoving(self.layer, bases, SparseGroup)

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        setting = self.layer.setting
        one_matrix = setting.weights.K is None and setting.rotation is None
        return certify_sparse(self.layer, rows, radius, progress) if one_matrix else None

    def readout(self, thetas: torch.Tensor) -> Readout:
        return RowReadout(self, thetas)

    @property
    def bytes_per_point(self) -> int:
        keys = self.layer.top.shape[2]
        heads = self.layer.setting.weights.heads
        more = sparse_keys_bytes(len(self.X), heads, keys, self.X.itemsize)
        return super().bytes_per_point + more
