"""The bounds in circulation, for the same instances: how far can one word move softmax attention?

`python -m benchmarks bounds` renews docs/notes/bounds.md; with auto_LiRPA on PYTHONPATH (see
`benchmarks.lirpa`) its two columns are filled.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

import wordsway as ws
from benchmarks import lirpa
from wordsway.maps.attention.certificates.bounds import hull
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.rigorous import opnorm_upper_bound

#: n, d and the radius over √d, first row, one draw each.
INSTANCES = [
    (n, d, share)
    for n, d in ((4, 16), (8, 16), (8, 32), (16, 32), (32, 32), (64, 64))
    for share in (0.01, 0.1, 0.3, 1.0)
] + [(16, 256, 1.0), (64, 256, 1.0), (256, 256, 1.0), (250, 768, 1.0)]
#: The largest n·d for which auto_LiRPA is run: it holds matrices of (n·d)² numbers.
LARGEST = 1100
L2_INSTANCES = ((4, 16), (16, 32), (64, 64), (250, 768))


def ball_lipschitz(X: torch.Tensor, W: torch.Tensor, radius: float) -> float:
    """The bound in n, R and ‖A‖ of Castin et al. (2024) for rows in a ball of radius R, times the
    length of the move: √3 (‖A‖²R⁴(4n + 1) + n)^½, A = W/√d, V = I. docs/bounds.md has the proof.
    """
    n, d = X.shape
    reach = max(float(X.norm(dim=1).max()), float(X[0].norm()) + radius)
    A = opnorm_upper_bound(W) / math.sqrt(d)
    return radius * math.sqrt(3 * (A * A * reach**4 * (4 * n + 1) + n))


def distribution_lipschitz(layer: Layer, i: int, radius: float) -> float:
    """The local bound of Yudin et al. (2025), ‖P‖ + 2g‖A‖‖X‖² with g = max_j p₁(1 − p₁ + p₂) of the
    two largest shares of row j, at its largest over the ball, times the length of the move.
    docs/bounds.md has the proof.
    """
    spread = radius * layer.keys.norm(dim=1)
    c = layer.X @ layer.W.T
    c[i] += layer.keys[i]
    H = (layer.W + layer.W.T) / 2
    spread[i] = radius * torch.cdist(c, c).max() + radius**2 * opnorm_upper_bound(H)
    top = layer.P.topk(min(2, len(c)), dim=1).values
    first, second = top[:, 0], top[:, -1] if len(c) > 1 else 0 * top[:, 0]
    high, next_high = (first * spread.exp()).clamp_max(1), second * spread.exp()
    g = float((high * (1 - first * (-spread).exp() + next_high)).clamp_max(0.5).max())
    mean = min(math.sqrt(len(c)), opnorm_upper_bound(layer.P) * math.exp(float(spread.max())))
    reach = opnorm_upper_bound(layer.X) + radius
    return radius * (mean + 2 * g * opnorm_upper_bound(layer.W) * reach**2)


def distance_lipschitz(n: int, d: int, W: torch.Tensor) -> float:
    """The constant of Kim et al. (2021) for L2 attention P X WWᵀ/√d, one head: √n(4c + 1)‖W‖²/√d
    with c·e^(c+1) = n − 1.
    """
    low, high = 0.0, math.log(n) + 1
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.exp(middle + 1) < n - 1 else (low, middle)
    return math.sqrt(n) * (4 * high + 1) * opnorm_upper_bound(W) ** 2 / math.sqrt(d)


def instance(package: Any | None, n: int, d: int, share: float) -> dict[str, float]:
    """Every bound of S at the first row, and what was attained; none may be below that."""
    X, phi, radius = ws.Sample.gaussian(n, d, 10), ws.RAF(d, 11), share * math.sqrt(d)
    s = ws.sensitivity(phi, X, positions=0, radius=radius, seed=0)
    assert s.upper is not None
    layer = phi.view(X).layer
    found = {
        "wordsway": s.upper,
        "hull": hull(layer, 0, radius) / layer.norm,
        "Lipschitz": ball_lipschitz(X.X, phi.weight, radius) / layer.norm,
        "distribution": distribution_lipschitz(layer, 0, radius) / layer.norm,
    }
    if package is not None and n * d <= LARGEST:
        found |= lirpa.bounds(package, X.X, phi.weight, 0, radius)
    for name, bound in found.items():
        assert bound >= s.lower * (1 - 1e-9), (name, n, d, share, bound, s.lower)
    return {"attained": s.lower} | found


def l2_instance(n: int, d: int) -> tuple[float, float]:
    """Attained S of L2 attention with the values of Kim et al., and their bound of it."""
    X = ws.Sample.gaussian(n, d, 10)
    W = ws.RAF(d, 11).weight
    weights = {"Q": W, "V": W @ W.T / math.sqrt(d), "O": torch.eye(d, dtype=W.dtype)}
    phi = ws.Attention(weights=weights, heads=1, scores="l2")
    s = ws.sensitivity(phi, X, positions=0, seed=0)
    bound = distance_lipschitz(n, d, W) * s.radius / float(phi(X).norm())
    assert bound >= s.lower, (n, d, bound, s.lower)
    return s.lower, bound


def number(value: float | None) -> str:
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "∞"
    if value >= 1e6:
        return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def page() -> str:
    """Both tables."""
    package = lirpa.load()
    if package is None:
        print("auto_LiRPA is not on PYTHONPATH: its two columns stay empty", file=sys.stderr)
    columns = ["attained", "wordsway", "hull", "Lipschitz", "distribution", *lirpa.METHODS]
    lines = ["| n | d | radius/√d | " + " | ".join(columns) + " |"]
    lines.append("|---" * (3 + len(columns)) + "|")
    best: dict[str, int] = {}
    for n, d, share in INSTANCES:
        found = instance(package, n, d, share)
        values = [found.get(name) for name in columns]
        least = min((name for name in columns[1:] if name in found), key=found.__getitem__)
        best[least] = best.get(least, 0) + 1
        marked = [
            f"**{number(value)}**" if name == least else number(value)
            for name, value in zip(columns, values, strict=True)
        ]
        lines.append(f"| {n} | {d} | {share:g} | " + " | ".join(marked) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    count = ", ".join(f"{name} {times}" for name, times in sorted(best.items()))
    lines += ["", f"Bold is the smallest bound ({len(INSTANCES)} instances: {count}). None was "]
    beyond = f"not computed beyond n·d = {LARGEST:,}" if package else "auto_LiRPA was not installed"
    lines[-1] += f"below what was attained.\n– : {beyond}."
    lines += ["", "L2 attention, radius √d:", "", "| n | d | attained | Kim et al. |"]
    lines.append("|---|---|---|---|")
    for n, d in L2_INSTANCES:
        lower, bound = l2_instance(n, d)
        lines.append(f"| {n} | {d} | {number(lower)} | {number(bound)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)
