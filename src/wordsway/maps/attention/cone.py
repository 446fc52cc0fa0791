"""Projections on the cone of directions that a set of vectors does not see: {u : k_l·u ≤ 0 for all
l}.
"""

from __future__ import annotations

import math

import torch

#: Steps of the projection; it need not be exact.
STEPS = 200


def nonnegative_least_squares(
    K: torch.Tensor, targets: torch.Tensor, free: torch.Tensor | None = None, steps: int = STEPS
) -> torch.Tensor:
    """Approximate argmin_{λ ≥ 0} ‖target − Kᵀλ‖ for each row of ``targets``: (m, d) → (m, len(K)).

    Accelerated projected gradient. Where ``free`` (m, len(K)) is given, λ stays 0 at its true
    entries. What is left, target − Kᵀλ, is the projection of the target on {u : k_l·u ≤ 0}
    (Moreau).

    >>> K = torch.eye(2, dtype=torch.float64)
    >>> target = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    >>> nonnegative_least_squares(K, target).round(decimals=6).tolist()
    [[1.0, 0.0]]
    """
    gram, pull = K @ K.T, targets @ K.T
    length = 1 / max(float(torch.linalg.eigvalsh(gram)[-1]), 1e-30)
    weight = torch.zeros_like(pull)
    ahead, speed = weight, 1.0
    for _ in range(steps):
        new = (ahead - length * (ahead @ gram - pull)).clamp_min(0)
        if free is not None:
            new = new.masked_fill(free, 0)
        faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
        ahead, weight, speed = new + (speed - 1) / faster * (new - weight), new, faster
    return weight
