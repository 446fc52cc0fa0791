"""The slow truth: every map as a loop over tokens and neurons, straight from its definition."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda z: max(z, 0.0),
    "leaky-relu": lambda z: z if z > 0 else 0.01 * z,
    "tanh": math.tanh,
    "sigmoid": lambda z: 1 / (1 + math.exp(-z)),
    "erf": math.erf,
    "gelu": lambda z: 0.5 * z * (1 + math.erf(z / math.sqrt(2))),
    "identity": lambda z: z,
}


def layers(X: torch.Tensor, weights: list[torch.Tensor], activation: str = "relu") -> torch.Tensor:
    """ϕ(V_L … ϕ(V_1 vec X))."""
    phi = ACTIVATIONS[activation]
    h = X.flatten().tolist()
    for V in weights:
        h = [phi(math.fsum(v * x for v, x in zip(row, h, strict=True))) for row in V.tolist()]
    return torch.tensor(h, dtype=torch.float64)


def attention(X: torch.Tensor, W: torch.Tensor, kind: str) -> torch.Tensor:
    """softmax(XWXᵀ/√d)X, or ReLU scores divided by their sum, or σ(scores − log n)."""
    n, d = X.shape
    x, w = X.tolist(), W.tolist()
    rows = []
    for j in range(n):
        query = [math.fsum(x[j][a] * w[a][b] for a in range(d)) for b in range(d)]
        scores = [math.fsum(query[b] * x[l][b] for b in range(d)) / math.sqrt(d) for l in range(n)]
        top = max(scores)
        if kind == "sigmoid":
            shares = [1 / (1 + n * math.exp(-s)) for s in scores]
        else:
            shares = [math.exp(s - top) if kind == "softmax" else max(s, 0.0) for s in scores]
        total = 1.0 if kind == "sigmoid" else math.fsum(shares)
        rows.append(
            [
                math.fsum(shares[l] * x[l][b] for l in range(n)) / total if total > 0 else 0.0
                for b in range(d)
            ]
        )
    return torch.tensor(rows, dtype=torch.float64)


def relative_change(
    phi: Callable[[torch.Tensor], torch.Tensor], X: torch.Tensor, i: int, delta: torch.Tensor
) -> float:
    """‖φ(X + e_iΔᵀ) − φ(X)‖/‖φ(X)‖ of a naive φ."""
    moved = X.clone()
    moved[i] += delta
    before = phi(X)
    return float((phi(moved) - before).norm() / before.norm())
