"""`ws.Attention` row by row, head by head and key by key, straight from docs/maps.md; in plain
torch, so that autograd gives its gradient.
"""

from __future__ import annotations

import math
from typing import Any

import torch


def attention(phi: Any, X: torch.Tensor) -> torch.Tensor:
    """φ(X) for one text (n, d)."""
    n, d = X.shape
    given = {name: matrix.double() for name, matrix in phi.given.items()}
    X = X + places(phi, n, d)
    signs = [(1.0, "")] + ([(-phi.strength, "2")] if phi.scores == "differential" else [])
    total = torch.zeros_like(X)
    for sign, which in signs:
        total = total + sign * softer(phi, X, given, which)
    return total


def softer(phi: Any, X: torch.Tensor, given: dict[str, torch.Tensor], which: str) -> torch.Tensor:
    n, d = X.shape
    if phi.heads is None:
        q, k, v = X @ given["W" + which], X, X
        k = q if phi.scores == "l2" else k
    else:
        q, v = X @ given["Q" + which], X @ given["V"]
        k = q if phi.scores == "l2" else X @ given["K" + which]
    heads = phi.heads or 1
    m = d // heads
    out = []
    for h in range(heads):
        part = slice(h * m, (h + 1) * m)
        rows = []
        for j in range(n):
            keys = [key for key in range(n) if sees(phi, j, key)]
            s = torch.stack(
                [score(phi, q[j, part], k[key, part], j, key, h, heads, n) for key in keys]
            )
            rows.append(weights(phi, s, n) @ v[keys][:, part])
        out.append(torch.stack(rows))
    side_by_side = torch.cat(out, 1)
    return side_by_side if phi.heads is None else side_by_side @ given["O"]


def score(
    phi: Any, q: torch.Tensor, k: torch.Tensor, j: int, key: int, h: int, heads: int, n: int
) -> torch.Tensor:
    m = len(q)
    if phi.positions == "rope":
        q, k = turned(q, j), turned(k, key)
    if phi.scores == "l2":
        s = -((q - k) ** 2).sum() / math.sqrt(m)
    elif phi.scores == "qk-norm":
        s = math.sqrt(m) * (q @ k) / (q.norm() * k.norm())
    elif phi.scores == "linear-attention":
        elu = torch.nn.functional.elu
        s = (elu(q) + 1) @ (elu(k) + 1)
    else:
        s = q @ k / (m if phi.scores == "softmax-1/d" else math.sqrt(m))
    if phi.scores == "softmax-log-n":
        s = s * max(1.0, math.log(n))
    s = s / phi.temperature
    if phi.positions == "alibi":
        s = s - 2.0 ** (-8 * (h + 1) / heads) * abs(j - key)
    return s


SOFTMAX = ("softmax", "softmax-1/d", "softmax-log-n", "l2", "qk-norm", "differential")


def weights(phi: Any, s: torch.Tensor, n: int) -> torch.Tensor:
    if phi.scores == "sink":
        top = s.max().clamp_min(0).detach()
        e = torch.exp(s - top)
        return e / (torch.exp(-top) + e.sum())
    if phi.scores == "sparsemax":
        return sparsemax(s)
    if phi.scores == "sigmoid":
        return torch.sigmoid(s - math.log(n))
    if phi.scores in ("relu/n", "linear/n"):
        return (torch.relu(s) if phi.scores == "relu/n" else s) / n
    if phi.scores in ("relu", "linear-attention"):
        w = torch.relu(s)
        return w / torch.where(w.sum() > 0, w.sum(), 1.0)
    assert phi.scores in SOFTMAX, f"the naive version has no {phi.scores}: add it here"
    return torch.softmax(s, 0)


def sparsemax(s: torch.Tensor) -> torch.Tensor:
    """The point of the simplex that is nearest to s: the support by trying every size of it."""
    order = s.argsort(descending=True)
    for size in range(len(s), 0, -1):
        inside = s[order[:size]]
        tau = (inside.sum() - 1) / size
        if float(inside[-1].detach()) > float(tau.detach()):
            return torch.relu(s - tau)
    raise AssertionError("the largest score is always in the support")


def sees(phi: Any, j: int, key: int) -> bool:
    if phi.mask == "causal":
        return key <= j
    if phi.mask == "window":
        return abs(j - key) < phi.window
    return phi.mask != "padding" or key < phi.visible


def turned(x: torch.Tensor, place: int) -> torch.Tensor:
    half = len(x) // 2
    out = torch.zeros_like(x)
    for a in range(half):
        angle = place * 10_000.0 ** (-2 * a / len(x))
        cos, sin = math.cos(angle), math.sin(angle)
        out[a] = x[a] * cos - x[a + half] * sin
        out[a + half] = x[a + half] * cos + x[a] * sin
    return out


def places(phi: Any, n: int, d: int) -> torch.Tensor:
    P = torch.zeros(n, d, dtype=torch.float64)
    if phi.positions == "sinusoidal":
        for j in range(n):
            for a in range(d):
                angle = j / 10_000.0 ** (2 * (a // 2) / d)
                P[j, a] = math.sin(angle) if a % 2 == 0 else math.cos(angle)
    elif phi.positions == "learned":
        from wordsway.maps.attention.ingredients import learned

        return learned(n, d, phi.seed or 0)
    return P
