"""Values of readouts, and the gradient of each of them."""

from __future__ import annotations

import torch

from wordsway.maps.base import Readout


def gradients_of(
    readout: Readout, rows: torch.Tensor, delta: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Values (B, T) and gradients with respect to Δ (B, T, d)."""
    values, pull = readout.at(rows, delta)
    each = torch.eye(values.shape[1], dtype=values.dtype)
    return values, torch.stack([pull(one.expand_as(values)) for one in each], 1)
