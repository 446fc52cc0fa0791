"""The minimum-norm interpolator and its two updates, from a Gram matrix.

Φ₊ ∈ ℝ^{(N+1)×p} has the features of the training texts and, last, of the new text X. Every θ
here lies in the span of its rows, so K = Φ₊Φ₊ᵀ is enough; neither a p×p projector nor a
pseudo-inverse of Φ is formed. With the label y of X, r = y − f(X, θ*) and v = P⊥φ(X):

    θ*  = Φ⁺y_train                interpolates the N training texts
    θ_f = θ* + r·φ(X)/‖φ(X)‖²      fine-tuned
    θ_r = θ* + r·v/‖v‖²            re-trained: interpolates all N + 1 texts

**Rank.** A Gram matrix resolves singular values of Φ down to about 1e-8 of the largest. Those below
`CUT` = 1e-7 of it count as zero, as in `pinv`: duplicate texts count as one text with the mean of
their labels, and N > p is least squares.

**Condition.** θ = Φ₊ᵀK⁺b has a relative error of cond(K)·1e-16, the square of what Φ itself would
give. Where cond(K) is above `REFINE`, the residual is computed through the features and solved for
again, until nothing is gained:

    θ ← θ + Φᵀ K⁺(b − Φθ)

Features in single precision are refined until a step gains less than `GAINED`, and replaced by
features in double precision where cond(K) is above `SINGLE_UP_TO` or K is singular.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from wordsway.learning.features import Stack

#: Singular values of Φ below this share of the largest count as zero.
CUT = 1e-7
#: Condition of K above which solutions are refined, and the largest number of refinements.
REFINE, TIMES = 1e6, 20
#: Largest condition of K for features in single precision, and the share of a solution below which
#: the next step of refinement is not taken.
SINGLE_UP_TO, GAINED = 1e5, 1e-9


@dataclass(frozen=True)
class Solved:
    """K⁺ applied to a vector: by Cholesky where K has full rank, by its eigenvectors otherwise."""

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
    """Factorise a symmetric positive semidefinite K (N×N, float64); see *Rank* above."""
    values = torch.linalg.eigvalsh((K + K.T) / 2)
    top = values[-1].clamp_min(torch.finfo(K.dtype).tiny)
    kept = values > CUT**2 * top
    condition = float(top / values[kept][0]) if kept.any() else float("inf")
    if bool(kept.all()):
        factor, failed = torch.linalg.cholesky_ex(K)
        if not int(failed):
            return Solved(len(K), condition, factor, values, values.new_zeros(len(K), 0))
    # Eigenvectors take three times as long as eigenvalues, and are needed here alone.
    values, vectors = torch.linalg.eigh((K + K.T) / 2)
    return Solved(int(kept.sum()), condition, None, values[kept], vectors[:, kept])


@dataclass(frozen=True)
class Updates:
    """θ*, φ(X) and v = P⊥φ(X), each of p numbers, and the scalars of both updates.

    ``residual`` is r = y − f(X, θ*); ``norm2`` is ‖φ(X)‖²; ``fresh2`` is ‖v‖², 0 where φ(X) lies
    in the span of the training texts: re-training is then least squares on all texts, ``again``.
    """

    start: torch.Tensor
    own: torch.Tensor
    fresh: torch.Tensor
    again: torch.Tensor | None
    residual: float
    norm2: float
    fresh2: float
    rank: int
    condition: float

    @property
    def fine_tuned(self) -> torch.Tensor:
        """θ_f."""
        return self.start + self.own * (self.residual / self.norm2)

    @property
    def retrained(self) -> torch.Tensor:
        """θ_r."""
        if self.again is not None:
            return self.again
        return self.start + self.fresh * (self.residual / self.fresh2)


def interpolate(stack: Stack, y: torch.Tensor, y_new: float) -> Updates:
    """Both updates of the interpolator of ``y`` (N labels) with the last text (``y_new``)."""
    K = stack.gram()
    N = len(y)
    solve = solver(K[:N, :N])
    if stack.single and (solve.rank < N or not solve.condition <= SINGLE_UP_TO):
        return interpolate(stack.exact(), y, y_new)
    coefficients = torch.zeros(3, N + 1, dtype=K.dtype)
    coefficients[1:, N] = 1.0
    coefficients[0, :N] = solve(y)
    coefficients[2, :N] = -solve(K[:N, N])
    start, own, fresh = stack.combine(coefficients)
    labels = torch.stack([y, torch.zeros_like(y)])
    start, fresh = _refined(stack, solve, torch.stack([start, fresh]), labels)
    norm2 = float(own @ own)
    fresh2 = float(fresh @ fresh)
    again = None
    if not fresh2 > (100 * CUT) ** 2 * norm2:
        if stack.single:
            return interpolate(stack.exact(), y, y_new)
        labels = torch.cat([y, y.new_tensor([y_new])])[None]
        whole = solver(K)
        fresh2 = 0.0
        again = _refined(stack, whole, stack.combine(whole(labels[0])[None]), labels)[0]
    return Updates(
        start=start,
        own=own,
        fresh=fresh,
        again=again,
        residual=float(y_new - own @ start),
        norm2=norm2,
        fresh2=fresh2,
        rank=solve.rank,
        condition=solve.condition,
    )


def _refined(stack: Stack, solve: Solved, theta: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each θ of (T, p) refined towards Φθ = b, (T, M), on the first M texts; see *Condition*."""
    if solve.condition < REFINE and not stack.single:
        return theta
    M = b.shape[1]
    last = math.inf
    for _ in range(TIMES):
        step = torch.zeros(len(b), stack.N + 1, dtype=theta.dtype)
        wrong = b - stack.predict(theta)[:, :M]
        step[:, :M] = torch.stack([solve(one) for one in wrong])
        size = float(step.norm())
        if not size < last / 2:
            break
        moved = stack.combine(step)
        theta = theta + moved
        last = size
        share = float(moved.norm() / theta.norm())
        if stack.single and share**2 < GAINED:  # the size of the next step
            break
    return theta
