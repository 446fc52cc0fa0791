"""Promising Δ for an attention layer, from its structure.

Two effects move attention features far. A moved key can *attract* other rows, which takes Δ along
Σ_j c_j Wᵀx_j. And with ReLU scores, whose shares do not depend on the query's length, a moved query
can *silence* rows: x_i + Δ in the cone where k_l·u ≤ 0, k_l = Wx_l/√d, hears only the rows
outside it, down to a single one or to itself.
"""

from __future__ import annotations

from typing import Any

import torch

from wordsway.maps.attention.layer import Layer
from wordsway.vectors import unit


def attracting(
    layer: Layer, row: int, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Δ ∝ Σ_j c_j Wᵀx_j over all rows, over random crowds, and over the rows that a random Δ
    already attracts, each with some of x_i − φ̄, which lengthens every attracted row. (count, d)
    """
    n, d = layer.X.shape
    how: dict[str, Any] = {"generator": noise, "device": layer.X.device, "dtype": layer.X.dtype}
    keys = layer.keys.clone()
    keys[row] = 0
    crowd = torch.rand(count, n, **how).clamp_min(1e-12).log().neg()
    rank = (torch.randn(count, d, **how) @ keys.T).argsort(1).argsort(1).to(layer.X.dtype) / n
    crowd[1::2] = (rank > 0.9 * torch.rand(count, 1, **how)).to(layer.X.dtype)[1::2]
    outward = 0.8 * torch.rand(count, 1, **how)
    crowd[:1], outward[:1] = 1, 0
    return radius * unit(unit(crowd @ keys) + outward * unit(layer.X[row] - layer.phi.mean(0)))


def silencing(
    layer: Layer, row: int, count: int, radius: float, noise: torch.Generator
) -> torch.Tensor:
    """Δ = ℓu − x_i with u in the cone that hears no other row, or just one, and ℓ as long as the
    ball allows. (m, d)
    """
    n, x = len(layer.X), layer.X[row]
    if count < 1:
        return x.new_zeros(0, len(x))
    # Odd starts hear one other row, even ones only themselves: their own score u·Wu must then be
    # positive, which some of (W + Wᵀ)x_i brings about. A random share decides between that and
    # staying close to x_i, hence long.
    one = torch.arange(count, device=x.device) % 2 == 1
    heard = torch.randint(n - 1, (count,), generator=noise, device=x.device)
    share = torch.rand(count, 1, generator=noise, device=x.device, dtype=x.dtype)
    heard += heard >= row
    towards = torch.where(
        one[:, None], unit(layer.queries[heard]), unit(x @ layer.W.T + x @ layer.W)
    )
    targets = (1 - share) * unit(x) + share * towards
    free = torch.nn.functional.one_hot(heard, n).bool() & one[:, None]
    free[:, row] = True
    u = unit(targets - layer.cone.weights(targets, free) @ layer.queries)
    # ‖ℓu − x‖ ≤ r for ℓ between the roots of ℓ² − 2ℓ u·x + ‖x‖² − r²; a touch inside the largest,
    # never below a trace.
    along = u @ x
    root = (along**2 - x @ x + radius * radius).clamp_min(0).sqrt()
    length = (0.999 * (along + root)).clamp_min(1e-3 * radius)
    return length[:, None] * u - x
