"""A certificate: a number no Δ can exceed, and on what it rests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

#: Total probability with which a certificate for weights drawn at random may fail.
FAILURE = 1e-9
#: Steps of Lanczos, which pay for Gram matrices larger than `SMALL_GRAM`, and by how much what they
#: find is raised.
LANCZOS, SMALL_GRAM = 14, 160
SLACKS = (1.001, 1.006)
#: Rounding in sums and products of positive terms, generously.
SAFE = 1 + 1e-9


@dataclass(frozen=True)
class Certificate:
    """``upper[w]`` bounds S at the w-th searched word. ``kind`` is "exact" (given the actual
    weights) or "1 − 1e-9" (with that probability over the draw of the weights, for a text chosen
    without looking at them).
    """

    upper: torch.Tensor
    kind: str

    @staticmethod
    def exact(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, "exact")

    @staticmethod
    def probable(upper: torch.Tensor) -> Certificate:
        return Certificate(upper, f"1 − {FAILURE:.0e}".replace("e-0", "e-"))


def norm_above(M: torch.Tensor) -> float:
    """A number that ‖M‖_op does not exceed: the largest eigenvalue of the smaller Gram matrix plus
    its rounding errors.

    Forming a Gram matrix of inner length m perturbs it by at most m·ε‖M‖_F² in norm, a symmetric
    eigenvalue solver by a modest multiple of its size times ε; both are added in full.

    >>> round(norm_above(torch.diag(torch.tensor([3.0, 1.0]))), 9)
    3.0
    """
    if not M.numel():
        return 0.0
    M = M.to(torch.float64)
    M = M if M.shape[0] >= M.shape[1] else M.T
    gram = M.T @ M
    error = (
        (len(M) + 16 * len(gram)) * torch.finfo(torch.float64).eps * float(gram.diagonal().sum())
    )
    return (max(0.0, float(torch.linalg.eigvalsh(gram)[-1])) + error) ** 0.5


def norm_near(gram: torch.Tensor, inner: int, steps: int = LANCZOS) -> float:
    """A number that ‖M‖_op does not exceed, from the Gram matrix G of M with inner length
    ``inner``: within a thousandth of it, for a fifth of the price of all eigenvalues.

    Lanczos steps guess λ_max; if σI − G then has a Cholesky factor, λ_max ≤ σ but for rounding
    errors, which are added. Where no guess holds, the eigenvalues are computed. All that is used of
    G beside its symmetry is that its diagonal is not negative, and its trace not less than ‖G‖_F.

    >>> round(norm_near(torch.diag(torch.tensor([9.0, 1.0], dtype=torch.float64)), 2), 2)
    3.0
    """
    n, eps = len(gram), torch.finfo(torch.float64).eps
    trace = float(gram.diagonal().sum()) if n else 0.0
    error = (inner + 16 * n) * eps * trace
    guess = _lanczos(gram, steps) if n > SMALL_GRAM and math.isfinite(trace) else math.nan
    for slack in SLACKS:
        sigma = guess * slack
        if sigma > 0:
            shifted = -gram
            shifted.diagonal().add_(sigma)
            if int(torch.linalg.cholesky_ex(shifted)[1]) == 0:
                return math.sqrt(sigma * (1 + 8 * (n + 1) ** 2 * eps) + error)
    top = float(torch.linalg.eigvalsh(gram)[-1]) if n else 0.0
    return math.sqrt(max(0.0, top) + error)


def _lanczos(gram: torch.Tensor, steps: int) -> float:
    """About λ_max, from below."""
    n = len(gram)
    noise = torch.Generator().manual_seed(0)
    q = torch.randn(n, dtype=gram.dtype, generator=noise).to(gram.device)
    basis = gram.new_zeros(steps, n)
    images = gram.new_zeros(steps, n)
    for step in range(steps):
        known = basis[:step]
        q = q - (known @ q) @ known
        basis[step] = q / q.norm().clamp_min(1e-300)
        images[step] = q = gram @ basis[step]
    return float(torch.linalg.eigvalsh(basis @ images.T)[-1])
