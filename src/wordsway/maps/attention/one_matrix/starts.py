"""Promising Δ for an attention layer, from its structure, for many rows at once.

Three effects move attention features far. A moved key can *attract* other rows, which takes Δ
along Σ_j c_j Wᵀx_j. A moved row can attract *itself*: its own score has the term ΔᵀHΔ,
H = (W + Wᵀ)/2√d, which is large along the upper eigenvectors of H. And with ReLU scores a moved
query can *silence* rows: x_i + Δ in the cone where k_l·u ≤ 0, k_l = Wx_l/√d, attends only to the
rows outside it. Each row has its own noise, whichever other rows are searched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from wordsway.core.vectors import unit
from wordsway.maps.attention.one_matrix.layer import Layer

#: Steps of the projection; it need not be exact.
STEPS = 200


def cone_weights(
    K: torch.Tensor, targets: torch.Tensor, free: torch.Tensor, steps: int = STEPS
) -> torch.Tensor:
    """Approximate argmin_{λ ≥ 0} ‖target − Kᵀλ‖ for each row of ``targets``: (m, d) → (m, len(K)).

    Accelerated projected gradient; λ stays 0 at the true entries of ``free`` (m, len(K)): those
    vectors are left out. What is left, target − Kᵀλ, is the projection of the target on the cone
    {u : k_l·u ≤ 0} of the rows k_l of K (Moreau).

    >>> target = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    >>> cone_weights(torch.eye(2).double(), target, target > 2).round(decimals=6).tolist()
    [[1.0, 0.0]]
    """
    gram = K @ K.T
    length = 1 / max(float(torch.linalg.eigvalsh(gram.to(torch.float64))[-1]), 1e-30)
    pull = length * (targets @ K.T)
    most = torch.full_like(pull, math.inf).masked_fill(free, 0)
    weight = torch.zeros_like(pull)
    ahead, speed = weight, 1.0
    for _ in range(steps):
        new = torch.addmm(ahead, ahead, gram, alpha=-length).add_(pull)
        new = torch.minimum(new.clamp_min_(0), most)
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        ahead = torch.lerp(weight, new, 1 + (speed - 1) / faster)
        weight, speed = new, faster
    return weight


def attracting(
    layer: Layer, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
) -> torch.Tensor:
    """Δ ∝ Σ_j c_j Wᵀx_j over all rows, over random crowds, and over the rows that a random Δ
    already attracts, each with some of x_i − φ̄, which lengthens every attracted row. (P, count, d)
    """
    n, d = layer.X.shape
    kind: dict[str, Any] = {"device": layer.X.device, "dtype": layer.X.dtype}
    drawn = [
        (
            torch.rand(count, n, generator=own, **kind),
            torch.randn(count, d, generator=own, **kind),
            torch.rand(count, 1, generator=own, **kind),
            torch.rand(count, 1, generator=own, **kind),
        )
        for own in noise
    ]
    crowd, random, least, outward = (torch.stack(part) for part in zip(*drawn, strict=True))
    crowd = crowd.clamp_min_(1e-12).log_().neg_()
    moves = random @ layer.keys.T
    each = torch.arange(len(rows), device=layer.X.device)
    here = torch.tensor(rows, device=layer.X.device)
    moves[each, :, here] = 0  # a row does not attract itself
    rank = moves.argsort(-1).argsort(-1).to(layer.X.dtype) / n
    crowd[:, 1::2] = (rank > 0.9 * least).to(layer.X.dtype)[:, 1::2]
    crowd[:, :1] = 1
    crowd[each, :, here] = 0
    outward = 0.8 * outward
    outward[:, :1] = 0
    away = unit(layer.X[here] - layer.phi.mean(0))[:, None]
    return radius * unit(unit(crowd @ layer.keys) + outward * away)


def owning(
    layer: Layer, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
) -> torch.Tensor:
    """Δ that raise row i's own score, each with some of x_i or of an attracting Δ. (P, count, d)"""
    upper = torch.stack([_upper(layer, count, own) for own in noise])
    others = unit(attracting(layer, rows, count, radius, noise))
    others[:, ::2] = unit(layer.X[torch.tensor(rows, device=layer.X.device)])[:, None]
    kind: dict[str, Any] = {"device": layer.X.device, "dtype": layer.X.dtype}
    share = torch.stack([torch.rand(count, 1, generator=own, **kind) for own in noise])
    return radius * unit(upper + share * others)


def _upper(layer: Layer, count: int, noise: torch.Generator) -> torch.Tensor:
    """Random unit vectors (count, d) that lean to the upper eigenvectors of H, by power steps with
    H + c: c is the largest eigenvalue of a random symmetric matrix with the entries' variance.
    """
    H = layer.H
    shift = 2 * float(H.norm()) / math.sqrt(len(H))
    v = torch.randn(count, len(H), generator=noise, device=H.device, dtype=H.dtype)
    for _ in range(3):
        v = unit(v @ H + shift * v)
    return v


def silencing(
    layer: Layer, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
) -> torch.Tensor:
    """Δ = ℓu − x_i with u in the cone that attends to no other row, or just one, and ℓ as long as
    the ball allows. (P, count, d)
    """
    n, d = layer.X.shape
    if count < 1:
        return layer.X.new_zeros(len(rows), 0, d)
    device = layer.X.device
    here = torch.tensor(rows, device=device)
    x = layer.X[here]
    # Odd starts attend to one other row, even ones only to themselves: their own score u·Wu must
    # then be positive. A random share decides between that and staying close to x_i, hence long.
    one = torch.arange(count, device=device) % 2 == 1
    drawn = [
        (
            torch.randint(n - 1, (count,), generator=own, device=device),
            torch.rand(count, 1, generator=own, device=device, dtype=x.dtype),
            _upper(layer, count, own),
        )
        for own in noise
    ]
    attended, share, own_score = (torch.stack(part) for part in zip(*drawn, strict=True))
    attended += attended >= here[:, None]
    towards = torch.where(one[:, None], unit(layer.queries)[attended], own_score)
    targets = (1 - share) * unit(x)[:, None] + share * towards
    free = torch.nn.functional.one_hot(attended, n).bool() & one[:, None]
    free[torch.arange(len(rows), device=device), :, here] = True
    weights = cone_weights(layer.queries, targets.flatten(0, 1), free.flatten(0, 1))
    u = unit(targets - (weights @ layer.queries).reshape_as(targets))
    # ‖ℓu − x‖ ≤ r for ℓ between the roots of ℓ² − 2ℓ u·x + ‖x‖² − r²; a touch inside the largest,
    # never below a trace.
    along = (u * x[:, None]).sum(-1)
    root = (along**2 - (x * x).sum(1, keepdim=True) + radius * radius).clamp_min(0).sqrt()
    length = (0.999 * (along + root)).clamp_min(1e-3 * radius)
    return length[..., None] * u - x[:, None]
