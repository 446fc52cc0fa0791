"""Σ_j (A_j·u)⁴ ≤ B‖u‖⁴: a price of fourth powers, for texts with more rows than dimensions.

Where n > d, ‖A‖² comes from many rows: the direction u = Δ/‖Δ‖ with Σ_j (A_j·u)² = ‖A‖² spreads it
over many rows, none of which it wins over. Fourth powers separate a move spread over many rows from
one concentrated in a few.

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

from wordsway.maps.rigorous import SAFE, U, eigenvalue_upper_bound, gamma, opnorm_upper_bound

#: Beyond this many rows the Gram matrix is not made.
MOST_ROWS = 6000
#: Factors by which the estimate of λ_max(CGC) is raised until a Cholesky factorisation proves it.
RAISED = (1.01, 1.05, 1.15)
#: Vectors and steps of the subspace iteration; its outcome need not be exact.
VECTORS, STEPS = 6, 24


def quartic_price(A: torch.Tensor, error: float = 0.0) -> float:
    """A number B with Σ_j (A_j·u)⁴ ≤ B‖u‖⁴ for all u, or +∞ if there are too many rows; for every
    matrix within ``error`` of A in Frobenius norm, since (Σ_j (E_j·u)⁴)^¼ ≤ ‖E‖_F.

    >>> 1.0 <= quartic_price(torch.eye(3, dtype=torch.float64)) <= 1.02
    True
    """
    n, d = A.shape
    if not 1 <= n <= MOST_ROWS:
        return math.inf
    size = float((A * A).sum()) / n
    if not 1e-60 < size < 1e60:
        return math.inf
    A = A.to(torch.float64) / math.sqrt(size)
    G = (A @ A.T) ** 2
    # A product of length d is off by γ_d‖A_j‖‖A_l‖, its square by three times as much relative to
    # ‖A_j‖²‖A_l‖²: a matrix of norm at most Σ_j ‖A_j‖⁴, the trace of G.
    rounding = 3 * gamma(d + 4) * float(G.diagonal().sum())
    top, second, v = _top_two(G)
    tau = max(0.0, 1 - 1.02 * second / top) if n > 1 else 0.0
    Gv = G @ v
    along = float(v @ Gv)
    s = 1 - math.sqrt(1 - tau)
    cross = torch.outer(v, Gv)
    inner = G - s * (cross + cross.T) + s * s * along * torch.outer(v, v)
    # CGC is made of products of length n with G and v, ‖v‖ ≈ 1, and is symmetric to rounding.
    made = 16 * gamma(n + 8) * float(G.norm())
    guess = 1.02 * second if tau else top
    sigma = eigenvalue_upper_bound(
        (inner + inner.T) / 2, made + rounding, [factor * guess for factor in RAISED]
    )
    M = (A.T * v) @ A / math.sqrt(along)
    off = 2 * gamma(n + 8) * float((v.abs() * (A * A).sum(1)).sum()) / math.sqrt(along)
    m = min(1.0, opnorm_upper_bound(M, off))
    found = (sigma + tau * (along + made + rounding) * m * m) * SAFE * size * size
    return float((found**0.25 + error) ** 4) * (1 + 16 * U)


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
