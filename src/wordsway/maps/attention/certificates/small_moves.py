"""A bound for small moves of softmax attention: the Jacobian at X, and what it leaves,

    ‖φ(X′) − φ(X)‖ ≤ r‖J‖_op + ‖(‖ρ_1‖, …, ‖ρ_n‖)‖,
    J_j = u_j y_j k_jᵀ + p⁰_jI,  u_j = p⁰_j(1 − p⁰_j),  J_i = Σ_l P_l (x_l − φ_i)(c_l − c̄)ᵀ + P_iI.

Theorem 22 of docs/statements/attention.md has the ρ and the proof. The constant in r is the best
one; the rest falls like r². Errors of the float64 layer are those of `certificates.rounding`: of
moved logits, of y_j and p⁰, and in row i of P, in the total variation v, which enters J_i and its
covariances times the longest x and c.
"""

from __future__ import annotations

import math

import torch

from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import SAFE, eigenvalue_upper_bound, relative

#: Relative error of a float64 sum or product here, at most, with terms of both signs relative to
#: the sum of their sizes.
SLACK = 1e-12
#: Smaller shares may have underflowed: exact ones are positive, and a small Δ may raise them to 1.
UNDERFLOW = 1e-290
#: Moves B of row i's scores for which the bound, which grows like e^B, is not computed.
STEEP = 20.0


def small_move_bound(layer: Layer, i: int, radius: float) -> float:
    """S of row i at most, for softmax over one matrix; inf if a share of row i or of key i may have
    underflowed, or if scores of row i move by more than `STEEP`.
    """
    X, d = layer.X, layer.X.shape[1]
    visible = layer.s > -math.inf
    shares = torch.cat([layer.P[visible[:, i], i], layer.P[i, visible[i]]])
    seen = (layer.P[i] > 0).nonzero().squeeze(1)
    c = X[seen] @ layer.W.T
    c[seen == i] += layer.keys[i]
    too_steep = radius * float((c - c[0]).norm(dim=1).max()) > STEEP
    if too_steep or bool((shares < UNDERFLOW).any()):
        return math.inf
    gram = X.new_zeros(d, d)
    rest = []
    some = layer.rows_attending_to(i) & (layer.P[:, i] > 0)
    if bool(some.any()):
        first, left = _others(layer, i, some, radius)
        gram += first
        rest.append(left)
    first, own = _own(layer, i, radius, seen, c)
    gram += first
    off = 4 * SLACK * float(gram.diagonal().sum())
    steep = math.sqrt(max(0.0, eigenvalue_upper_bound((gram + gram.T) / 2, off)))
    total = float(torch.cat([*rest, X.new_tensor([own])]).norm())
    return relative((radius * steep + total) * SAFE, layer.norm_below)


def _others(
    layer: Layer, i: int, some: torch.Tensor, radius: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Σ J_jᵀJ_j over the rows j ≠ i, and their ‖ρ_j‖."""
    p, k, y = layer.P[some, i], layer.keys[some], layer.directions(i, some)
    share = p.clamp_max(1 - 2.0**-53)
    logit, slope, size = share.log() - (-share).log1p(), p * (1 - p), y.norm(dim=1)
    blur = layer.errors.blur(some, logit, k, radius)
    reach = radius * k.norm(dim=1) * SAFE + blur

    def off(a: torch.Tensor) -> torch.Tensor:
        return (torch.sigmoid(logit + a) - p - slope * a).abs() + SLACK * p

    inner = torch.minimum(torch.maximum(-2 * logit, -reach), reach)
    curved = torch.stack([off(reach), off(-reach), off(inner)]).amax(0)
    moved = torch.maximum(torch.sigmoid(logit + reach) - p, p - torch.sigmoid(logit - reach))
    omega = layer.errors.omega(layer.scores, i, some, size, radius)
    rest = (curved + slope * blur) * size + (moved + SLACK * p) * radius + omega
    cross = torch.einsum("j,ja,jb->ab", slope * p, k, y)
    gram = torch.einsum("j,ja,jb->ab", (slope * size) ** 2, k, k) + cross + cross.T
    gram.diagonal().add_(float(p @ p))
    return gram, rest * SAFE


def _own(
    layer: Layer, i: int, radius: float, seen: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, float]:
    """J_iᵀJ_i and ‖ρ_i‖; ``c`` are the q_l of the keys that row i attends to."""
    X, P = layer.X, layer.P[i, seen]
    x = X[seen] - layer.phi[i]
    share = float(layer.P[i, i])
    lowest = eigenvalue_upper_bound(-layer.H, SLACK * float(layer.W.norm()))
    quadratic = radius * radius * max(layer.largest_own_score, lowest)
    centred = c - P @ c
    longest, widest = float(X.norm(dim=1).max()) * SAFE, float(c.norm(dim=1).max()) * SAFE
    v = float(layer.errors.shares[i].max()) + float(layer.errors.scores[i]) + SLACK
    apart = torch.cdist(c, c, compute_mode="donot_use_mm_for_euclid_dist")
    spread = radius * float(apart.max()) + quadratic * (share > 0)
    spread = (spread + 8 * radius * widest * v) * SAFE

    def root(z: torch.Tensor, size: float) -> float:
        """√λ_max of Σ P zzᵀ, with what v may add."""
        found = eigenvalue_upper_bound((z.T * P) @ z, 8 * v * size * size)
        return math.sqrt(max(0.0, found))

    sd = radius * root(centred, widest) + quadratic * math.sqrt(share * (1 - share) + v)
    factor = 0.5 * math.exp(min(spread, 700.0))
    if 0.01 < spread < 700:
        factor = (math.expm1(spread) - spread) / spread**2
    curved = factor * root(x, longest) * spread * sd
    logit = math.log(share) - math.log1p(-min(share, 1 - 2.0**-53)) if share > 0 else -math.inf
    ends = [1 / (1 + math.exp(min(700.0, -(logit + sign * spread)))) for sign in (1, -1)]
    moved = max(ends[0] - share, share - ends[1]) + v if share > 0 else 0.0
    own = share * float((X[i] - layer.phi[i]).norm()) * quadratic
    J = (x.T * P) @ centred + share * torch.eye(len(X[0]), dtype=X.dtype, device=X.device)
    off = radius * v * (8 * longest * widest + 1) + 2 * float(layer.errors.rows[i])
    return J.T @ J, (curved + moved * radius + own + off) * SAFE
