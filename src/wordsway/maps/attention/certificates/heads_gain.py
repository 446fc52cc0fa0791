"""How far heads can carry a moved value, C_h = V_hO_h at full share (docs/statements/heads.md).

Lemma 3: ‖Σ_h p_h C_h‖ ≤ κ for all shares p ∈ [0, 1]^H, with G = OOᵀ and any W = diag(W_h) ≻ G, if

    [ W − G   ½WVᵀ ]
    [ ½VW     κ²I  ]  ≽ 0.

A diagonal W, in the singular bases of the heads (C_h = U_hΣ_hZ_hᵀ), is tuned by descent along the
largest eigenvectors of VW(W − G)⁻¹WVᵀ; a Cholesky factorisation then proves κ.

Lemma 4: with τ the largest eigenvalue of the Gram matrix of the C_hᵀΔ, ‖Σ_h p_h C_hᵀΔ‖ ≤ √τ‖p‖, and

    ‖Ax‖² + μτ(x) ≤ λ_max(I ⊗ AᵀA + μB),     B_hk = (1 − θ)C_hC_kᵀ + θC_kC_hᵀ,     ‖x‖ = 1.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import torch

from wordsway.maps.attention.ingredients import Projections
from wordsway.maps.rigorous import (
    SAFE,
    eigenvalue_upper_bound,
    gamma,
    lanczos_guesses,
    opnorm_upper_bound,
    positive_definite,
)
from wordsway.maps.rigorous import U as UNIT

#: Steps of the descent, how many eigenvectors it follows, and its first step in log W.
STEPS, FOLLOWED, PACE = 60, 12, 0.1
#: Singular values are at least this much of the largest, so that logarithms exist.
SMALLEST = 1e-9


class Bases(NamedTuple):
    """C_h = U_hΣ_hZ_hᵀ of all heads side by side: U, Z (d, H·k) and Σ (H·k)."""

    U: torch.Tensor
    Z: torch.Tensor
    S: torch.Tensor
    largest: float  # about Σ_h ‖C_h‖


def parts_of(weights: Projections) -> tuple[torch.Tensor, torch.Tensor]:
    """V_h (H, d, m′) and O_h (H, m′, d′); keys that queries share are repeated."""
    H = weights.heads
    if weights.V is None:
        V = torch.eye(weights.Q.shape[0], dtype=torch.float64)[None]
    else:
        V = weights.V.to("cpu", torch.float64).unflatten(1, (weights.key_heads, -1))
        V = V.permute(1, 0, 2).repeat_interleave(H // weights.key_heads, 0)
    if weights.O is None:
        O = torch.eye(V.shape[2], dtype=torch.float64)[None]
    else:
        O = weights.O.to("cpu", torch.float64).unflatten(0, (H, -1))
    return V, O


def head_gain(weights: Projections) -> tuple[float, torch.Tensor | None]:
    """A number that ‖Σ_h p_h C_h‖ exceeds for no shares p ∈ [0, 1]^H, and the E_h (H, m′, m′) with
    W_h = E_hE_hᵀ of the lemma that prove it; None where they do not.

    >>> Q = torch.eye(4, dtype=torch.float64)
    >>> round(head_gain(Projections(Q, Q, Q, 2 * Q, 2, 2))[0], 2)
    2.0
    """
    V, O = parts_of(weights)
    if len(V) == 1:
        made = 2 * gamma(V.shape[2]) * float(V.norm()) * float(O.norm())
        return opnorm_upper_bound(V[0] @ O[0], made), None
    bases = _bases(V, O)
    if not bases.largest > 0:
        return 0.0, None
    scale = float(bases.S.max())
    S = (bases.S / scale).clamp_min(SMALLEST)
    tuned, w = _tuned(bases._replace(S=S))
    found = scale * tuned
    if found > bases.largest:
        return _sum_of_norms(V, O) * SAFE, None
    U = bases.U.unflatten(1, (len(V), -1)).transpose(0, 1)
    inverse, failed = torch.linalg.inv_ex(U.mT @ V)  # V_h = U_h(U_hᵀV_h)
    factors = scale * inverse * w.sqrt().unflatten(0, (len(V), 1, -1))
    proved = not bool(failed.any()) and bool(factors.isfinite().all())
    return (found + _residual(V, O, bases, scale * S)) * SAFE, factors if proved else None


def _residual(V: torch.Tensor, O: torch.Tensor, bases: Bases, S: torch.Tensor) -> float:
    """Σ_h ‖C_h − U_hΣ_hZ_hᵀ‖_F at most: what κ of the bases may miss of the heads. Whether the
    bases are orthogonal does not matter.
    """
    H = len(V)
    U_h, Z_h = (part.unflatten(1, (H, -1)).transpose(0, 1) for part in (bases.U, bases.Z))
    scaled = U_h * S.unflatten(0, (H, -1))[:, None]
    apart = (V @ O - scaled @ Z_h.mT).flatten(1).norm(dim=1)
    made = V.flatten(1).norm(dim=1) * O.flatten(1).norm(dim=1)
    made = made + scaled.flatten(1).norm(dim=1) * Z_h.flatten(1).norm(dim=1)
    return float((apart + 2 * gamma(V.shape[2] + U_h.shape[2] + 8) * made).sum())


def _sum_of_norms(V: torch.Tensor, O: torch.Tensor) -> float:
    """Σ_h ‖C_h‖_op, which κ never exceeds."""
    made = 2 * gamma(V.shape[2]) * V.flatten(1).norm(dim=1) * O.flatten(1).norm(dim=1)
    each = zip(V @ O, made.tolist(), strict=True)
    return sum(opnorm_upper_bound(C, error) for C, error in each)


def _bases(V: torch.Tensor, O: torch.Tensor) -> Bases:
    left, right = torch.linalg.qr(V), torch.linalg.qr(O.mT)
    u, s, z = torch.linalg.svd(left.R @ right.R.mT, full_matrices=False)
    U, Z = left.Q @ u, right.Q @ z.mT
    side = [part.transpose(0, 1).flatten(1) for part in (U, Z)]
    return Bases(side[0], side[1], s.flatten(), float(s[:, 0].sum()))


def _tuned(bases: Bases) -> tuple[float, torch.Tensor]:
    """κ of the best W found, proved, infinite where none was; and that W."""
    U, Z, S, _ = bases
    turned = Z * S
    G = turned.T @ turned
    half = Z * S.sqrt()
    log_w = (2 * opnorm_upper_bound(half) ** 2 * S).log()
    best = log_w
    least = float("inf")
    momentum, square = torch.zeros_like(log_w), torch.zeros_like(log_w)
    noise = torch.Generator().manual_seed(0)
    X = torch.randn(len(U), min(FOLLOWED, len(U)), generator=noise, dtype=U.dtype)
    X = torch.linalg.qr(X).Q
    for step in range(STEPS):
        w = log_w.exp()
        factor, failed = torch.linalg.cholesky_ex(torch.diag(w) - G)
        if int(failed):  # W must stay above G: back towards the best one
            log_w, momentum = (log_w + best) / 2 + 0.02, torch.zeros_like(momentum)
            continue
        for _ in range(3):
            X = torch.linalg.qr(U @ (w[:, None] * _solved(factor, w, U.T @ X))).Q
        u = U.T @ X
        h = _solved(factor, w, u)
        inner = u.T @ (w[:, None] * h)
        values, turn = torch.linalg.eigh((inner + inner.T) / 2)
        u, h, X = u @ turn, h @ turn, X @ turn
        top = float(values[-1])
        if top < least:
            least, best = top, log_w
        weight = torch.softmax((values / top).clamp_min(1e-9).log() * (15 + 2 * step), 0)
        gradient = w * ((2 * u * h - h * h) * weight).sum(1) / top
        momentum = 0.7 * momentum + 0.3 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        log_w = log_w - PACE * (1 - step / STEPS) * momentum / (square.sqrt() + 1e-4)
    return _proved(U, G, best.exp(), 0.25 * least), best.exp()


def _solved(factor: torch.Tensor, w: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """(W − G)⁻¹Wu."""
    return torch.cholesky_solve(w[:, None] * u, factor)


def _proved(U: torch.Tensor, G: torch.Tensor, w: torch.Tensor, square: float) -> float:
    """The smallest κ near the estimate that the Cholesky factorisation proves."""
    side = (U * w).T / 2
    for more in (1e-4, 1e-3, 1e-2, 1e-1):
        kappa = square * (1 + more)
        # The lower block is scaled to have a trace like the upper one; that changes no sign.
        scale = (float(w.sum()) / (len(U) * kappa)) ** 0.5
        whole = torch.cat(
            [
                torch.cat([torch.diag(w) - G, scale * side], 1),
                torch.cat([scale * side.T, scale**2 * kappa * torch.eye(len(U), dtype=U.dtype)], 1),
            ]
        )
        # G is a product of inner length d, and each entry of the sides of three factors.
        made = 2 * gamma(len(U) + 4) * float(G.trace()) + 16 * UNIT * scale * float(side.norm())
        if positive_definite(whole, made + 4 * UNIT * float(whole.diagonal().norm())):
            return kappa**0.5 * SAFE
    return float("inf")


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
        self._error = off * (2 * size + off) + 2 * (gamma(O.shape[2]) + 8 * UNIT) * size**2
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
        error = mu * self._error + 8 * UNIT * (mu * float(self.B.norm()) + float(steps.norm()))
        return self._largest(whole, error + 2 * gamma(inner) * float(steps.trace()))

    @staticmethod
    def _largest(M: torch.Tensor, error: float) -> float:
        return eigenvalue_upper_bound(M, error, lanczos_guesses(M, LANCZOS_STEPS))


def _sizes(parts: torch.Tensor) -> torch.Tensor:
    """Frobenius norms of matrices (H, ·, ·)."""
    return parts.flatten(1).norm(dim=1)
