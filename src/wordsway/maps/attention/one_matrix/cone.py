"""Projections on the cone of directions that a set of vectors does not see: {u : k_l·u ≤ 0 for all
l}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

#: Steps of the projection; it need not be exact.
STEPS = 200


@dataclass(frozen=True)
class Cone:
    """Vectors k_l, the rows of K, with their Gram matrix and the length of a step that it allows:
    made once for all questions.
    """

    K: torch.Tensor
    gram: torch.Tensor
    length: float

    @classmethod
    def of(cls, K: torch.Tensor) -> Cone:
        gram = K @ K.T
        largest = float(torch.linalg.eigvalsh(gram.to(torch.float64))[-1])
        return cls(K, gram, 1 / max(largest, 1e-30))

    def weights(
        self, targets: torch.Tensor, free: torch.Tensor | None = None, steps: int = STEPS
    ) -> torch.Tensor:
        """Approximate argmin_{λ ≥ 0} ‖target − Kᵀλ‖ for each row of ``targets``: (m, d) → (m,
        len(K)).

        Accelerated projected gradient. Where ``free`` (m, len(K)) is given, λ stays 0 at its true
        entries: those vectors are left out. What is left, target − Kᵀλ, is the projection of the
        target on {u : k_l·u ≤ 0} (Moreau).

        >>> cone = Cone.of(torch.eye(2, dtype=torch.float64))
        >>> target = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
        >>> cone.weights(target).round(decimals=6).tolist()
        [[1.0, 0.0]]
        """
        pull = self.length * (targets @ self.K.T)
        most = torch.full_like(pull, math.inf)
        if free is not None:
            most[free] = 0
        weight = torch.zeros_like(pull)
        ahead, speed = weight, 1.0
        for _ in range(steps):
            new = torch.addmm(ahead, ahead, self.gram, alpha=-self.length).add_(pull)
            new = new.clamp_min_(0) if free is None else torch.minimum(new.clamp_min_(0), most)
            faster = (1 + math.sqrt(1 + 4 * speed * speed)) / 2
            ahead = torch.lerp(weight, new, 1 + (speed - 1) / faster)
            weight, speed = new, faster
        return weight
