"""φ by its definition, row by row and sum by sum, in NumPy from the weights alone: nothing here is
shared with the search, the views or the certificates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def features_of(name: str, phi: Any) -> Callable[[Any], Any]:
    """φ as a function of X (n, d)."""
    if name in ("rf", "drf"):
        return _connected(phi)
    if name == "attention":
        return lambda X: _family(phi, X)
    return _one_matrix(name, phi.weight.numpy())


def _connected(phi: Any) -> Callable[[Any], Any]:
    first = phi.layers.first.dense().numpy()
    later = [V.dense().numpy() for V in phi.layers.later]

    def connected(X: Any) -> Any:
        h = np.maximum(first @ X.reshape(-1), 0)
        for V in later:
            h = np.maximum(V @ h, 0)
        return h

    return connected


def _one_matrix(name: str, W: Any) -> Callable[[Any], Any]:
    kinds = {"raf": "softmax", "relu-raf": "relu", "sigmoid": "sigmoid"}

    def attended(X: Any) -> Any:
        n, d = X.shape
        rows = []
        for j in range(n):
            s = np.array([X[j] @ W @ X[k] / math.sqrt(d) for k in range(n)])
            w = _weights(kinds[name], s, n)
            rows.append(sum(w[k] * X[k] for k in range(n)))
        return np.array(rows)

    return attended


def _family(phi: Any, X: Any) -> Any:
    given = {key: matrix.numpy() for key, matrix in phi.given.items()}
    n, d = X.shape
    if phi.positions == "sinusoidal":
        angle = [[j / 10_000 ** (2 * (a // 2) / d) for a in range(d)] for j in range(n)]
        X = X + np.array(
            [[math.cos(t) if a % 2 else math.sin(t) for a, t in enumerate(row)] for row in angle]
        )
    out = _heads(phi, given, X, "")
    return out - phi.strength * _heads(phi, given, X, "2") if "twice" in phi.function.shape else out


def _heads(phi: Any, given: dict[str, Any], X: Any, which: str) -> Any:
    n, d = X.shape
    heads = phi.heads or 1
    query = given[("Q" if phi.heads else "W") + which]
    key = query if phi.scores == "l2" else given["K" + which] if phi.heads else np.eye(d)
    q, k, v = X @ query, X @ key, X @ given["V"] if phi.heads else X
    m = d // heads
    out = np.zeros((n, d))
    for h in range(heads):
        own = slice(h * m, (h + 1) * m)
        for j in range(n):
            keys = [at for at in range(n) if _sees(phi, j, at)]
            s = np.array([_score(phi, q[j, own], k[at, own], j, at, h, n) for at in keys])
            if keys:
                out[j, own] = _weights(phi.scores, s, n) @ v[keys, own]
    return out @ given["O"] if phi.heads else out


def _sees(phi: Any, j: int, at: int) -> bool:
    return {
        "none": True,
        "causal": at <= j,
        "window": abs(j - at) < (phi.window or 0),
        "padding": at < (phi.visible or 0),
    }[phi.mask]


def _score(phi: Any, q: Any, k: Any, j: int, at: int, h: int, n: int) -> float:
    m = len(q)
    if phi.positions == "rope":
        q, k = _turned(q, j), _turned(k, at)
    if phi.scores == "l2":
        s = -float(((q - k) ** 2).sum()) / math.sqrt(m)
    elif phi.scores == "qk-norm":
        lengths = float(np.linalg.norm(q) * np.linalg.norm(k))  # of zero, zero is the direction
        s = math.sqrt(m) * float(q @ k) / lengths if lengths > 0 else 0.0
    elif phi.scores == "linear-attention":
        s = float(_positive(q) @ _positive(k))
    else:
        s = float(q @ k) / (m if phi.scores == "softmax-1/d" else math.sqrt(m))
    s = s * max(1.0, math.log(n)) if phi.scores == "softmax-log-n" else s
    s = s / phi.temperature
    slope = 2.0 ** (-8 * (h + 1) / (phi.heads or 1)) if phi.positions == "alibi" else 0.0
    return s - slope * abs(j - at)


def _positive(x: Any) -> Any:
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def _turned(x: Any, place: int) -> Any:
    half = len(x) // 2
    pairs = x[:half] + 1j * x[half:]
    angle = place * 10_000.0 ** (-2 * np.arange(half) / len(x))
    turned = pairs * np.exp(1j * angle)
    return np.concatenate([turned.real, turned.imag])


def _weights(kind: str, s: Any, n: int) -> Any:
    """The weights of one row from its scores."""
    if kind == "sigmoid":
        return np.array([_sigmoid(x - math.log(n)) for x in s])
    if kind in ("relu/n", "linear/n"):
        return (np.maximum(s, 0) if kind == "relu/n" else s) / n
    if kind in ("relu", "linear-attention"):
        w = np.maximum(s, 0)
        return w / w.sum() if w.sum() > 0 else w
    top = max(s.max(), 0.0) if kind == "sink" else s.max()
    w = np.exp(s - top)
    return w / (w.sum() + (math.exp(-top) if kind == "sink" else 0.0))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
