"""How far all heads together carry one moved value: the price of τ.

With e_h = C_hᵀΔ for every head, Σ_h p_h e_h is at most √τ‖p‖ long, where

    τ = max over unit u ∈ R^H of ‖Σ_h u_h C_hᵀΔ‖²

is the largest eigenvalue of the heads' Gram matrix (e_h·e_k). It is never more than t = Σ_h ‖e_h‖²,
and for random weights about half of it: a Δ that many heads carry far is carried by them in
different directions. For all unit u and x, and every θ,

    ‖Ax‖² + μ‖Σ_h u_h C_hᵀx‖² = (u ⊗ x)ᵀ(I ⊗ AᵀA + μB)(u ⊗ x) ≤ λ_max(I ⊗ AᵀA + μB),
    B in blocks B_hk = (1 − θ)C_hC_kᵀ + θC_kC_hᵀ,

since xᵀC_hC_kᵀx = xᵀC_kC_hᵀx. Hence Σ (c a)² + μτ ≤ r²λ_max. With θ = 0 this is the norm of the C_h
side by side; θ = 0.9 comes within 5 % of what we find by searching for u and x.
"""

from __future__ import annotations

from functools import cached_property
from typing import final

import torch

from wordsway.maps.attention.certificates.heads.gain import parts_of
from wordsway.maps.attention.ingredients.projections import Projections
from wordsway.maps.rigorous import U, eigenvalue_upper_bound, gamma, lanczos_guesses

#: Larger matrices B (H·d) are not made.
MOST_SIDE = 2304
#: The part of B that is transposed, head by head.
TURNED = 0.9
#: Steps of the Lanczos iteration that guesses λ_max; a poor guess costs time, never validity.
LANCZOS_STEPS = 40


def joins(d: int, heads: int) -> bool:
    """Whether the heads of such a layer are priced together."""
    return heads > 1 and heads * d <= MOST_SIDE


@final
class Together:
    """B of one set of projections.

    >>> Q = torch.eye(4, dtype=torch.float64)
    >>> heads = Together(Projections(Q, Q, Q, 2 * Q, 2, 2))
    >>> round(heads.most, 6), round(heads.above(3 * Q, 0.5), 6)
    (4.0, 5.0)
    """

    def __init__(self, weights: Projections) -> None:
        V, O = parts_of(weights)
        C = V @ O
        H, d = C.shape[:2]
        self.heads = H
        # B is made of products of C = VO, which are products themselves.
        off = 2 * gamma(V.shape[2]) * float((_sizes(V) * _sizes(O)).norm())
        size = float(C.norm())
        self._error = off * (2 * size + off) + 2 * (gamma(O.shape[2]) + 8 * U) * size**2
        if weights.O is None:  # heads stay side by side
            self.B = torch.block_diag(*(C @ C.mT))
        else:
            flat = C.flatten(0, 1)
            plain = (flat @ flat.T).view(H, d, H, d)
            self.B = torch.lerp(plain, plain.permute(2, 1, 0, 3), TURNED).reshape(H * d, H * d)

    @cached_property
    def most(self) -> float:
        """A number that τ/‖Δ‖² does not exceed."""
        return self._largest(self.B, self._error)

    def above(self, steps: torch.Tensor, mu: float, inner: int = 0) -> float:
        """A number that ‖Ax‖² + μτ(x) exceeds for no unit x, given AᵀA and its inner length."""
        d = len(steps)
        whole = mu * self.B
        for h in range(self.heads):
            whole[h * d : (h + 1) * d, h * d : (h + 1) * d] += steps
        error = mu * self._error + 8 * U * (mu * float(self.B.norm()) + float(steps.norm()))
        return self._largest(whole, error + 2 * gamma(inner) * float(steps.trace()))

    @staticmethod
    def _largest(M: torch.Tensor, error: float) -> float:
        return eigenvalue_upper_bound(M, error, lanczos_guesses(M, LANCZOS_STEPS))


def _sizes(parts: torch.Tensor) -> torch.Tensor:
    """Frobenius norms of matrices (H, ·, ·)."""
    return parts.flatten(1).norm(dim=1)
