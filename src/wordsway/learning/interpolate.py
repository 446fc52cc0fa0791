"""The minimum-norm interpolator and its two updates, from a Gram matrix alone.

Φ₊ ∈ ℝ^{(N+1)×p} stacks the features of the training texts and, last, of the new text X. Every θ here lies in the span of
those rows, θ = Φ₊ᵀc, so only K = Φ₊Φ₊ᵀ is needed: f(X_j, θ) = (Kc)_j and ⟨θ, θ′⟩ = cᵀKc′.

    θ*  = Φ⁺y                                 on the N training texts
    θ_f = θ* + φ(X)(y − f(X,θ*))/‖φ(X)‖²      fine-tuned
    θ_r = Φ₊⁺(y, y_new)                       re-trained on all N + 1

**Rank.** A Gram matrix knows singular values of Φ down to about 1e-8 of the largest. Those below `CUT` = 1e-7 of it count as zero, and
K⁺ inverts the others: the interpolator is then the minimum-norm least-squares solution, as `pinv` gives it. So duplicate
texts are one text with the mean of their labels, and N > p is least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

#: Singular values of Φ below this share of the largest count as zero.
CUT = 1e-7


@dataclass(frozen=True)
class Solved:
    """K⁺ applied to a vector, by Cholesky where K is well conditioned, by its eigenvectors otherwise."""

    rank: int
    condition: float
    factor: torch.Tensor | None
    values: torch.Tensor
    vectors: torch.Tensor

    def __call__(self, b: torch.Tensor) -> torch.Tensor:
        if self.factor is not None:
            return torch.cholesky_solve(b[:, None], self.factor)[:, 0]
        return self.vectors @ ((self.vectors.T @ b) / self.values)


def solver(K: torch.Tensor) -> Solved:
    """Solve with a symmetric positive semidefinite K (N×N, float64), cutting what its rounding hides."""
    values, vectors = torch.linalg.eigh((K + K.T) / 2)
    top = values[-1].clamp_min(torch.finfo(K.dtype).tiny)
    kept = values > CUT**2 * top
    condition = float(top / values[kept][0]) if kept.any() else float("inf")
    factor = None
    if bool(kept.all()):
        factor, failed = torch.linalg.cholesky_ex(K)
        factor = None if int(failed) else factor
    return Solved(int(kept.sum()), condition, factor, values[kept], vectors[:, kept])


@dataclass(frozen=True)
class Updates:
    """Coefficients over the rows of Φ₊ (the last one is the new text): θ*, θ_f, θ_r and the directions v of both updates.

    ``residual`` is y − f(X, θ*); ``norm2`` is ‖φ(X)‖²; ``fresh2`` is ‖P⊥φ(X)‖², 0 where the new text adds no direction.
    """

    start: torch.Tensor
    fine_tuned: torch.Tensor
    retrained: torch.Tensor
    fresh: torch.Tensor
    residual: float
    norm2: float
    fresh2: float
    rank: int
    condition: float


def interpolate(K: torch.Tensor, y: torch.Tensor, y_new: float) -> Updates:
    """Both updates of the minimum-norm interpolator of y (N labels) by one new text with label ``y_new``; K is (N+1)×(N+1)."""
    N = len(y)
    solve = solver(K[:N, :N])
    one = torch.zeros(N + 1, dtype=K.dtype)
    one[N] = 1.0
    start = torch.cat([solve(y), one[:1] * 0])
    residual = float(y_new - K[N] @ start)
    norm2 = float(K[N, N])
    across = torch.cat([-solve(K[:N, N]), one[N:]])  # coefficients of P⊥φ(X)
    fresh2 = float(across @ K @ across)
    if fresh2 > (100 * CUT) ** 2 * norm2:
        retrained = start + across * (residual / fresh2)
    else:  # the new text lies in the span of the others: least squares on all of them
        fresh2 = 0.0
        retrained = solver(K)(torch.cat([y, y.new_tensor([y_new])]))
    fine_tuned = start + one * (residual / norm2)
    return Updates(start, fine_tuned, retrained, across, residual, norm2, fresh2, solve.rank, solve.condition)
