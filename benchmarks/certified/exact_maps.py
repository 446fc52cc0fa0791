"""φ by its definition in arithmetic of 50 digits, from the weights alone: nothing is shared with
the search, the views or the certificates.
"""

from __future__ import annotations

from typing import Any

import torch
from mpmath import mp, mpf

from wordsway.maps.attention.ingredients import learned
from wordsway.maps.wrappers import NormedMap

DIGITS = 50
Vector = list[Any]
Matrix = list[Vector]


def relative_change(phi: Any, X: torch.Tensor, i: int, delta: torch.Tensor) -> Any:
    """‖φ(X^i(Δ)) − φ(X)‖/‖φ(X)‖ of the exact numbers that the floats are."""
    with mp.workdps(DIGITS):
        text = matrix(X)
        moved = [list(row) for row in text]
        moved[i] = [a + b for a, b in zip(text[i], vector(delta), strict=True)]
        before, after = flat(features(phi, text)), flat(features(phi, moved))
        change = [b - a for a, b in zip(before, after, strict=True)]
        return length(change) / length(before)


def matrix(X: torch.Tensor) -> Matrix:
    return [vector(row) for row in X]


def vector(x: torch.Tensor) -> Vector:
    return [mpf(value) for value in x.double().tolist()]


def flat(rows: Any) -> Vector:
    return [value for row in rows for value in row] if isinstance(rows[0], list) else rows


def dot(a: Vector, b: Vector) -> Any:
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


def length(a: Vector) -> Any:
    return mp.sqrt(dot(a, a))


def times(X: Matrix, W: Matrix) -> Matrix:
    columns = [list(column) for column in zip(*W, strict=True)]
    return [[dot(row, column) for column in columns] for row in X]


def features(phi: Any, X: Matrix) -> Any:
    """Rows, or one vector."""
    kind = type(phi).__name__
    if kind in ("RF", "DRF"):
        return _connected(phi, X)
    if kind == "Residual":
        inner = features(phi.inner, X)
        return [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(X, inner, strict=True)]
    if kind == "NormedMap":
        assert isinstance(phi, NormedMap)
        return [_normed(phi.norm, row) for row in features(phi.inner, X)]
    if kind == "NormedText":
        return features(phi.inner, [_normed(phi.norm, row) for row in X])
    if kind == "ReadOut":
        rows = features(phi.inner, X)
        if phi.which == "mean":
            return [mp.fsum(column) / len(rows) for column in zip(*rows, strict=True)]
        return rows[int(phi.which)]
    if kind == "Attention":
        return _family(phi, X)
    scores = {"RAF": "softmax", "ReluRAF": "relu", "SigmoidRAF": "sigmoid"}[kind]
    n, d = len(X), len(X[0])
    keys = times(X, matrix(phi.weight))
    rows = [[dot(keys[j], x) / mp.sqrt(d) for x in X] for j in range(n)]
    return [_mean(shares(scores, s, n), X) for s in rows]


def _normed(norm: Any, u: Vector) -> Vector:
    d = len(u)
    if norm.kind == "layer":
        mean = mp.fsum(u) / d
        u = [x - mean for x in u]
    size = mp.sqrt(dot(u, u) + d * mpf(norm.epsilon))
    return [mp.sqrt(d) * x / size for x in u] if size > 0 else u


def _connected(phi: Any, X: Matrix) -> Vector:
    h = [x for row in X for x in row]
    act = {
        "relu": lambda z: max(z, mpf(0)),
        "tanh": mp.tanh,
        "sigmoid": lambda z: 1 / (1 + mp.exp(-z)),
        "gelu": lambda z: z * mp.erfc(-z / mp.sqrt(2)) / 2,
        "identity": lambda z: z,
    }[phi.activation.name]
    for V in (phi.layers.first, *phi.layers.later):
        h = [act(dot(row, h)) for row in matrix(V.dense())]
    return h


def _mean(weights: Vector, rows: Matrix) -> Vector:
    return [dot(weights, list(column)) for column in zip(*rows, strict=True)]


def _family(phi: Any, X: Matrix) -> Matrix:
    n, d = len(X), len(X[0])
    if phi.positions == "sinusoidal":
        place = [[j / mpf(10_000) ** (mpf(2 * (a // 2)) / d) for a in range(d)] for j in range(n)]
        added = [[mp.cos(t) if a % 2 else mp.sin(t) for a, t in enumerate(row)] for row in place]
    elif phi.positions == "learned":
        added = matrix(learned(n, d, phi.seed or 0))
    else:
        added = [[mpf(0)] * d for _ in range(n)]
    X = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(X, added, strict=True)]
    out = _heads(phi, X, "")
    if phi.function.shape == "twice":
        other = _heads(phi, X, "2")
        pairs = zip(out, other, strict=True)
        out = [[a - phi.strength * b for a, b in zip(x, y, strict=True)] for x, y in pairs]
    return out


def _heads(phi: Any, X: Matrix, which: str) -> Matrix:
    given = {name: matrix(value) for name, value in phi.given.items()}
    n, d = len(X), len(X[0])
    heads = phi.heads or 1
    m = d // heads
    query = given[("Q" if phi.heads else "W") + which]
    q = times(X, query)
    k = q if phi.scores == "l2" else times(X, given["K" + which]) if phi.heads else X
    v = times(X, given["V"]) if phi.heads else X
    out: Matrix = [[] for _ in range(n)]
    for h in range(heads):
        own = slice(h * m, (h + 1) * m)
        for j in range(n):
            keys = [at for at in range(n) if _sees(phi, j, at)]
            s = [_score(phi, q[j][own], k[at][own], j, at, h, n) for at in keys]
            out[j] += _mean(shares(phi.scores, s, n), [v[at][own] for at in keys])
    return times(out, given["O"]) if phi.heads else out


def _sees(phi: Any, j: int, at: int) -> bool:
    return {
        "none": True,
        "causal": at <= j,
        "window": abs(j - at) < (phi.window or 0),
        "padding": at < (phi.visible or 0),
    }[phi.mask]


def _score(phi: Any, q: Vector, k: Vector, j: int, at: int, h: int, n: int) -> Any:
    m = len(q)
    if phi.positions == "rope":
        q, k = _turned(q, j), _turned(k, at)
    if phi.scores == "l2":
        apart = [a - b for a, b in zip(q, k, strict=True)]
        s = (dot(q, q) - dot(apart, apart)) / mp.sqrt(m)
    elif phi.scores == "qk-norm":
        sizes = length(q) * length(k)
        s = mp.sqrt(m) * dot(q, k) / sizes if sizes > 0 else mpf(0)
    else:
        s = dot(q, k) / (m if phi.scores == "softmax-1/d" else mp.sqrt(m))
    s = s * max(mpf(1), mp.log(n)) if phi.scores == "softmax-log-n" else s
    s = s / mpf(phi.temperature)
    slope = mpf(2) ** (mpf(-8 * (h + 1)) / (phi.heads or 1)) if phi.positions == "alibi" else 0
    return s - slope * abs(j - at)


def _turned(x: Vector, place: int) -> Vector:
    half = len(x) // 2
    angles = [place * mpf(10_000) ** (mpf(-2 * a) / len(x)) for a in range(half)]
    first = [x[a] * mp.cos(t) - x[a + half] * mp.sin(t) for a, t in enumerate(angles)]
    second = [x[a + half] * mp.cos(t) + x[a] * mp.sin(t) for a, t in enumerate(angles)]
    return first + second


def shares(kind: str, s: Vector, n: int) -> Vector:
    """The weights of one row from the scores of its visible keys."""
    if kind == "sigmoid":
        return [1 / (1 + n * mp.exp(-x)) for x in s]
    if kind in ("relu/n", "linear/n"):
        return [(max(x, mpf(0)) if kind == "relu/n" else x) / n for x in s]
    if kind == "relu":
        w = [max(x, mpf(0)) for x in s]
        total = mp.fsum(w)
        return [x / total for x in w] if total > 0 else w
    if kind == "sparsemax":
        return _sparsemax(s)
    top = max([*s, mpf(0)]) if kind == "sink" else max(s)
    w = [mp.exp(x - top) for x in s]
    total = mp.fsum(w) + (mp.exp(-top) if kind == "sink" else 0)
    return [x / total for x in w]


def _sparsemax(s: Vector) -> Vector:
    total = mpf(0)
    for count, z in enumerate(sorted(s, reverse=True), 1):
        total += z
        if 1 + count * z > total:
            tau = (total - 1) / count
    return [max(x - tau, mpf(0)) for x in s]
