"""The minimum-norm interpolator and its two updates, from a Gram matrix.

Φ₊ ∈ ℝ^{(N+1)×p} stacks the features of the training texts and, last, of the new text X. Every θ
here lies in the span of those rows, θ = Φ₊ᵀc, so K = Φ₊Φ₊ᵀ finds it; neither a p×p projector nor a
pseudo-inverse of Φ is formed.

    θ*  = Φ⁺y                                 on the N training texts
    θ_f = θ* + φ(X)(y − f(X,θ*))/‖φ(X)‖²      fine-tuned
    θ_r = Φ₊⁺(y, y_new)                       re-trained on all N + 1: θ* + v(y − f(X,θ*))/‖v‖², v =
    P⊥φ(X)

**Rank.** A Gram matrix knows singular values of Φ down to about 1e-8 of the largest. Those below
`CUT` = 1e-7 of it count as zero, and K⁺ inverts the others: the interpolator is then the
minimum-norm least-squares solution, as `pinv` gives it. So duplicate texts are one text with the
mean of their labels, and N > p is least squares.

**Condition.** θ = Φ₊ᵀK⁺b loses cond(K)·1e-16, the square of what Φ itself would lose. Above
`REFINE` it is therefore refined: the residual b − Φθ is taken through the features and solved for
again, θ ← θ + Φᵀ K⁺(b − Φθ), until nothing is gained. Features in single precision, whose K has
seven digits, are refined until `GAINED`, and asked for in double precision above `SINGLE_UP_TO` and
where anything counts as zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from wordsway.learning.stack import Stack

#: Singular values of Φ below this share of the largest count as zero.
CUT = 1e-7
#: Condition of K above which solutions are refined, and at most how often.
REFINE, TIMES = 1e6, 20
#: Condition of K up to which single precision will do, and the share of a solution that one more
#: step of refinement may be without being taken.
SINGLE_UP_TO, GAINED = 1e5, 1e-9


@dataclass(frozen=True)
class Solved:
    """K⁺ applied to a vector, by Cholesky where K is well conditioned, by its eigenvectors
    otherwise.
    """

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
    """Solve with a symmetric positive semidefinite K (N×N, float64), cutting what its rounding
    hides.
    """
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
    """θ*, φ(X) and P⊥φ(X), each of p numbers, and what makes both updates of them.

    ``residual`` is y − f(X, θ*); ``norm2`` is ‖φ(X)‖²; ``fresh2`` is ‖P⊥φ(X)‖², 0 where the new
    text adds no direction: re-training then is least squares on all texts, ``again``.
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
        return (
            self.start + self.fresh * (self.residual / self.fresh2)
            if self.again is None
            else self.again
        )


def interpolate(stack: Stack, y: torch.Tensor, y_new: float) -> Updates:
    """Both updates of the minimum-norm interpolator of y (N labels) by the stack's last text, with
    label ``y_new``.
    """
    K = stack.gram()
    N = len(y)
    solve = solver(K[:N, :N])
    if stack.single and (solve.rank < N or not solve.condition <= SINGLE_UP_TO):
        return interpolate(stack.exact(), y, y_new)
    coefficients = torch.zeros(3, N + 1, dtype=K.dtype)
    coefficients[1, N] = 1.0
    coefficients[2, N] = 1.0
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
        start,
        own,
        fresh,
        again,
        float(y_new - own @ start),
        norm2,
        fresh2,
        solve.rank,
        solve.condition,
    )


def _refined(stack: Stack, solve: Solved, theta: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Each θ of (T, p) with Φθ nearer to its b, (T, N), on the first texts, those that ``solve``
    knows; each step is a fraction of the one before.
    """
    if solve.condition < REFINE and not stack.single:
        return theta
    N = b.shape[1]
    last = math.inf
    for _ in range(TIMES):
        step = torch.zeros(len(b), stack.count, dtype=theta.dtype)
        wrong = b - stack.predict(theta)[:, :N]
        step[:, :N] = torch.stack([solve(one) for one in wrong])
        size = float(step.norm())
        if not size < last / 2:
            break
        moved = stack.combine(step)
        theta = theta + moved
        last = size
        share = float(moved.norm() / theta.norm())
        if stack.single and share**2 < GAINED:  # what the next step would be
            break
    return theta
