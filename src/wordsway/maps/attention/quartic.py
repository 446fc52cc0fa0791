"""Σ_j (A_j·u)⁴ ≤ B‖u‖⁴: a price of fourth powers, for texts with more rows than dimensions.

Where n > d, ‖A‖² is that of a crowd: the direction u = Δ/‖Δ‖ with Σ_j (A_j·u)² = ‖A‖² spreads it
over many rows, none of which is won over by it. Fourth powers know the difference.

Write (A_j·u)² = 𝒜(uuᵀ)_j with the linear map 𝒜(M)_j = A_jᵀMA_j on symmetric matrices, so that
Σ_j (A_j·u)⁴ = ‖𝒜(uuᵀ)‖². 𝒜𝒜* is the Gram matrix G_jl = (A_j·A_l)². For a unit vector v let
M̂ = 𝒜*v/√(vᵀGv) = Σ_j v_j A_jA_jᵀ/√(vᵀGv), of Frobenius norm one, and m = ‖M̂‖_op. For 0 ≤ τ < 1,

    𝒜*𝒜 = 𝒜*(I − τvvᵀ)𝒜 + τ(vᵀGv)M̂M̂*,

and the first term has the eigenvalues of CGC with C = (I − τvvᵀ)^½ = I − (1 − √(1−τ))vvᵀ. As
‖uuᵀ‖_F = 1 and |⟨M̂, uuᵀ⟩| = |uᵀM̂u| ≤ m,

    Σ_j (A_j·u)⁴ ≤ B = λ_max(CGC) + τ(vᵀGv)m².

This holds for every v and τ. With v the top eigenvector of G and τ = 1 − second/top it is
second·(1 − m²) + top·m²: a rank-one uuᵀ has only the share m² of the top eigenmatrix, which is near
the identity. λ_max is bounded by a Cholesky factorisation: if it succeeds for σI − CGC, then
λ_max ≤ σ but for its rounding errors, which are added.
"""

from __future__ import annotations

import math

import torch

#: Beyond this many rows the Gram matrix is not made.
MOST_ROWS = 6000
#: Vectors and steps of the subspace iteration; its outcome need not be exact.
VECTORS, STEPS = 6, 24


def quartic_price(A: torch.Tensor) -> float:
    """A number B with Σ_j (A_j·u)⁴ ≤ B‖u‖⁴ for all u, or +∞ where there are too many rows.

    >>> 1.0 <= quartic_price(torch.eye(3, dtype=torch.float64)) <= 1.02
    True
    """
    n, d = A.shape
    if not 1 <= n <= MOST_ROWS:
        return math.inf
    eps = torch.finfo(torch.float64).eps
    size = float((A * A).sum()) / n
    if not 1e-60 < size < 1e60:
        return math.inf
    A = A.to(torch.float64) / math.sqrt(size)
    G = (A @ A.T) ** 2
    rounding = 8 * d * eps * float(G.diagonal().sum())
    top, second, v = _top_two(G)
    tau = max(0.0, 1 - 1.02 * second / top) if n > 1 else 0.0
    Gv = G @ v
    along = float(v @ Gv)
    s = 1 - math.sqrt(1 - tau)
    cross = torch.outer(v, Gv)
    inner = G - s * (cross + cross.T) + s * s * along * torch.outer(v, v)
    sigma = _top_above(inner, 1.02 * second if tau else top)
    eigenmatrix = (A.T * v) @ A / math.sqrt(along)
    m = min(1.0, float(torch.linalg.eigvalsh(eigenmatrix).abs().max()) * (1 + 16 * d * eps))
    return (sigma + rounding + tau * along * m * m) * (1 + 1e-12) * size * size


def _top_two(G: torch.Tensor) -> tuple[float, float, torch.Tensor]:
    """About the two largest eigenvalues, and the first eigenvector."""
    n = len(G)
    basis = torch.randn(
        n, min(n, VECTORS), dtype=G.dtype, generator=torch.Generator().manual_seed(0)
    )
    basis[:, 0] = 1
    for _ in range(STEPS):
        basis = G @ torch.linalg.qr(basis).Q
    basis = torch.linalg.qr(basis).Q
    values, vectors = torch.linalg.eigh(basis.T @ G @ basis)
    second = float(values[-2]) if len(values) > 1 else 0.0
    return float(values[-1]), max(second, 0.0), basis @ vectors[:, -1]


def _top_above(M: torch.Tensor, guess: float) -> float:
    """A number that λ_max of a symmetric positive M does not exceed, near ``guess`` if that is."""
    n, eps = len(M), torch.finfo(M.dtype).eps
    for factor in (1.01, 1.05, 1.15):
        sigma = factor * guess
        shifted = -M
        shifted.diagonal().add_(sigma)
        if sigma > 0 and int(torch.linalg.cholesky_ex(shifted)[1]) == 0:
            return sigma * (1 + 8 * (n + 1) ** 2 * eps)
    return float(torch.linalg.eigvalsh(M)[-1]) + 32 * n * eps * float(M.diagonal().abs().sum())
