"""Theory for comparison with measurements: infinite-width limits, the wide-but-finite correction,
and the paper's reference curves.

**Infinite width.** With k → ∞ and a fixed Δ,

    ‖ϕ(VX) − ϕ(VX′)‖²/k → κ(X,X) − 2κ(X,X′) + κ(X′,X′)

with the kernel κ of ϕ, which L layers compose. The change depends on Δ only through its length and
the cosine with x_i, so the sup over the ball is a two-parameter maximum.

**Wide but finite.** The sup over Δ of a *drawn* ReLU RF exceeds that limit: it tends to
(1 + √(2d/k))/√n as d → ∞ with n fixed, Chevet's bound, which only the worst Δ reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from wordsway.core.errors import InputError

Kernel = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def relu_kernel(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """E ReLU(u)ReLU(v) for centred Gaussians with variances a, b and covariance c."""
    size = (a * b).sqrt()
    cosine = (c / size.clamp_min(1e-300)).clamp(-1, 1)
    # arccos loses half the digits near 1, where a one-word change lives; the sine through
    # (1−cos)(1+cos) does not.
    sine = ((1 - cosine) * (1 + cosine)).clamp_min(0).sqrt()
    angle = torch.atan2(sine, cosine)
    return size * (sine + (math.pi - angle) * cosine) / (2 * math.pi)


def erf_kernel(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """E erf(u)erf(v) for centred Gaussians with variances a, b and covariance c."""
    return 2 / math.pi * torch.arcsin((2 * c / ((1 + 2 * a) * (1 + 2 * b)).sqrt()).clamp(-1, 1))


KERNELS: dict[str, Kernel] = {"relu": relu_kernel, "erf": erf_kernel}


def infinite_width_change(
    n: int, length: torch.Tensor, cosine: torch.Tensor, *, depth: int = 1, activation: str = "relu"
) -> torch.Tensor:
    """‖φ(X^i(Δ)) − φ(X)‖/‖φ(X)‖ at infinite width, for ‖Δ‖ = length·√d at the given cosine with x_i
    (rows of norm √d).

    β of the layers is 1 for one layer (RF), 2 for deeper ReLU and 1 for deeper erf networks (DRF).
    """
    if activation not in KERNELS:
        raise InputError(
            f"an activation with a known kernel ({', '.join(KERNELS)})",
            repr(activation),
            "other limits have no closed form here",
        )
    kernel = KERNELS[activation]
    beta = 2.0 if depth > 1 and activation == "relu" else 1.0
    length, cosine = torch.broadcast_tensors(length.to(torch.float64), cosine.to(torch.float64))
    # ‖X‖² = D, X·X′ = D + √d·length·√d·cosine, ‖X′‖² = D + 2(…) + length²·d, each divided by D = nd
    # and times β.
    a = torch.full_like(length, beta)
    c = beta * (1 + length * cosine / n)
    b = beta * (1 + (2 * length * cosine + length**2) / n)
    for layer in range(depth):
        a, b, c = kernel(a, a, a), kernel(b, b, b), kernel(a, b, c)
        if layer + 1 < depth:
            a, b, c = beta * a, beta * b, beta * c
    return ((a + b - 2 * c).clamp_min(0) / a).sqrt()


def infinite_width(n: int, *, depth: int = 1, activation: str = "relu") -> float:
    """S of RF (depth 1) or DRF at infinite width: the maximum over ‖Δ‖ ≤ √d on a refined grid.

    >>> round(infinite_width(100) * 10, 2)        # a little below 1/√n
    0.99
    """
    if n < 1 or depth < 1:
        raise InputError("n ≥ 1 and depth ≥ 1", f"n={n}, depth={depth}", "pass positive sizes")
    least = torch.tensor([0.0, -1.0], dtype=torch.float64)
    most = torch.tensor([1.0, 1.0], dtype=torch.float64)
    low, high, best = least, most, 0.0
    for _ in range(6):
        length = torch.linspace(float(low[0]), float(high[0]), 33, dtype=torch.float64)[:, None]
        cosine = torch.linspace(float(low[1]), float(high[1]), 65, dtype=torch.float64)[None, :]
        value = infinite_width_change(n, length, cosine, depth=depth, activation=activation)
        place = int(value.argmax())
        best = max(best, float(value.max()))
        centre = torch.stack([length.flatten()[place // 65], cosine.flatten()[place % 65]])
        reach = (high - low) / 16
        low = torch.maximum(centre - reach, least)
        high = torch.minimum(centre + reach, most)
    return best


def wide_relu_rf(n: float, d: int, k: float | None = None) -> float:
    """(1 + √(2d/k))/√n: the worst-case S of drawn ReLU random features for large d, k = D by
    default.

    >>> round(wide_relu_rf(n=150, d=768), 4)
    0.0911
    """
    k = n * d if k is None else k
    return (1 + math.sqrt(2 * d / k)) / math.sqrt(n)
