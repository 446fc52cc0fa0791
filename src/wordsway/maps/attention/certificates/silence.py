"""How far row i of ReLU attention can turn to its own, moved word.

Row i is p x′ + (1−p) m′ with x′ = x_i + Δ, m′ in the hull of the other rows and

    p = w/(R + w),     R = Σ_{l≠i} (k_l·x′)₊,  k_l = Wx_l/√d,     w = (x′ᵀWx′)₊/√d.

For a large share p, x′ must make the other scores negative. But R is at least its linearisation,

    R ≥ Σ_l λ_l k_l·x′ = μ·x′     for every 0 ≤ λ ≤ 1,

and ‖Δ‖ ≤ r ties x′ to x_i: with ℓ = ‖x′‖, their cosine is at least

    c = (ℓ² + ‖x_i‖² − r²)/(2ℓ‖x_i‖).

Hence, with H = (W + Wᵀ)/(2√d), and x̂ and ⊥ along and across x_i,

    R ≥ ℓ max_{0≤λ≤1} (c μ·x̂ − √(1−c²)‖μ⊥‖),
    w ≤ ℓ² max_{cos θ ≥ c} (x̂ᵀHx̂ cos²θ + ‖(Hx̂)⊥‖ sin 2θ + λ_max(H) sin²θ):

a long x′ has a small share of its own row. The maximum over λ is approached by projected gradients;
every λ on the way gives a valid bound.
"""

from __future__ import annotations

import math

import torch

from wordsway.maps.attention.certificates.rounding import PREPARED
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import SAFE, U

CELLS, STEPS = 40, 40


def own_row_above(layer: Layer, i: int, r: float) -> float:
    """A bound of ‖φ_i(X^i(Δ)) − φ_i(X)‖² over ‖Δ‖ ≤ r."""
    x, phi = layer.X[i], layer.phi[i]
    if not float(x.norm()) > 0:  # no direction to be tied to: the hull is the bound
        return math.inf
    rows = layer.keys_visible_to(i)
    others = layer.X[rows]
    hull = float(((others - phi) ** 2).sum(1).max()) ** 0.5 if len(others) else 0.0
    size, far = float(phi.norm()), float((x - phi).norm()) + r
    short, long, cosine = _cells(layer, x, r)
    errors = layer.errors.keys[rows]
    others_score = short * _others_score(layer.queries[rows], x, cosine, errors)
    own = long**2 * _own_score(layer, x, cosine)
    p = own / (own + others_score).clamp_min(1e-300)
    reach = (long + size).clamp_max(far)
    best = (p * reach + (1 - p) * hull).clamp_min(max(hull, size))
    return float(best.max()) ** 2 * SAFE


def silencing_weights(layer: Layer, i: int, r: float) -> torch.Tensor:
    """The λ with which `own_row_above` bounds R, for each cell of ℓ (CELLS, keys)."""
    x = layer.X[i]
    return _weights(layer.queries[layer.keys_visible_to(i)], x, _cells(layer, x, r)[2])


def _cells(layer: Layer, x: torch.Tensor, r: float) -> tuple[torch.Tensor, ...]:
    """The ends of cells of ℓ, and the least cosine of x′ with x in each."""
    norm = float(x.norm())
    edges = torch.linspace(
        0, (norm + r + layer.text_error) * SAFE, CELLS + 1, dtype=torch.float64, device=x.device
    )
    short, long = edges[:-1], edges[1:]
    product = (short**2 + norm**2 - r * r) / 2  # x_i·x′ at least, in each cell of ℓ
    # Less its rounding, and what the text's own error makes of it.
    off = 16 * U * (short**2 + norm**2 + r * r) + 2 * (norm + r) * layer.text_error
    product = product - off
    cosine = torch.where(product >= 0, product / (long * norm) * (1 - 16 * U), -1.0).clamp(-1, 1)
    return short, long, cosine


def _others_score(
    K: torch.Tensor, x: torch.Tensor, cosine: torch.Tensor, errors: torch.Tensor
) -> torch.Tensor:
    """A lower bound of Σ_l (k_l·u)₊ over unit vectors u whose cosine with x is at least the given
    ones; the rows k_l of K are off by ``errors``.

    The weights are found with a Gram matrix, whose parts across x may cancel. The bound is that of
    the best ones, computed from μ = Σ_l λ_l k_l itself, less the rounding of μ and of its parts.
    """
    unit = x / x.norm()
    sine = ((1 - cosine) * (1 + cosine)).clamp_min(0).sqrt()
    found = _weights(K, x, cosine)
    mu = found @ K
    along = mu @ unit
    across = (mu - along[:, None] * unit).norm(dim=1)
    n, d = K.shape
    error = found @ (errors + 4 * (n + d + 16) * U * K.norm(dim=1))
    proved = cosine * along - sine * across - 2 * error
    return torch.where(along - error > 0, proved * (1 - 1e-12), 0.0).clamp_min(0)


def _weights(K: torch.Tensor, x: torch.Tensor, cosine: torch.Tensor) -> torch.Tensor:
    """The best λ found for each of the cosines, (cosines, keys)."""
    if not len(K):
        return K.new_zeros(len(cosine), 0)
    along = K @ (x / x.norm())
    gram = K @ K.T - torch.outer(along, along)  # of the parts across x
    sine = ((1 - cosine) * (1 + cosine)).clamp_min(0).sqrt()
    weight = (along > 0).to(K.dtype).repeat(len(cosine), 1)
    best, found = torch.zeros_like(cosine), torch.zeros_like(weight)
    for step in range(STEPS):
        pulled = weight @ gram
        across = (weight * pulled).sum(1).clamp_min(0).sqrt()
        # cos θ (μ·x̂) − sin θ ‖μ⊥‖ falls with θ where μ·x̂ ≥ 0, so the end of the arc is the
        # smallest.
        value = torch.where(weight @ along >= 0, cosine * (weight @ along) - sine * across, 0.0)
        found = torch.where((value > best)[:, None], weight, found)
        best = torch.maximum(best, value)
        gradient = (
            cosine[:, None] * along - sine[:, None] * pulled / across.clamp_min(1e-12)[:, None]
        )
        pace = 1 / math.sqrt(step + 1) / gradient.abs().amax(1, keepdim=True).clamp_min(1e-300)
        weight = (weight + pace * gradient).clamp(0, 1)
    return found


def _own_score(layer: Layer, x: torch.Tensor, cosine: torch.Tensor) -> torch.Tensor:
    """An upper bound of (u·Wu)₊/√d over unit vectors u whose cosine with x is at least the given
    ones.
    """
    most, off = layer.largest_own_score, float(layer.W.norm()) * 4 * (len(x) + PREPARED) * U
    unit = x / x.norm()
    turned = (layer.W @ unit + layer.W.T @ unit) / 2
    own = float(turned @ unit) + off
    across = float((turned - own * unit).norm()) + 3 * off
    # The form [[own, across], [across, most]] on the arc of angles up to arccos(c): its peak, or
    # the end of the arc.
    peak = 0.5 * math.atan2(2 * across, own - most)
    angle = torch.arccos(cosine).clamp_max(peak)
    value = (
        own * torch.cos(angle) ** 2 + across * torch.sin(2 * angle) + most * torch.sin(angle) ** 2
    )
    return value.clamp_min(0) * SAFE + 64 * U * (abs(own) + abs(most) + across)
