"""Balls: matrices of them, and upper bounds of eigenvalues."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from wordsway.verifier.format import Array, RefusedError

try:
    from flint import arb as arb
    from flint import arb_mat as arb_mat
    from flint import ctx as ctx
except ImportError:  # the extra `proofs`; `wordsway.maps.proof.verify` says so
    arb = arb_mat = ctx = None  # type: ignore[assignment,misc]

#: Bits of a ball's midpoint.
PRECISION = 128


def matrix(values: Array) -> arb_mat:
    """An array (rows, columns) as a matrix of exact balls."""
    rows, columns = values.shape
    return arb_mat(rows, columns, list(map(arb, values.ravel().tolist())))


def column(values: Iterable[arb]) -> arb_mat:
    """A matrix of one column."""
    entries = list(values)
    return arb_mat(len(entries), 1, entries)


def entries(values: arb_mat) -> list[arb]:
    """The entries of a matrix of one column."""
    return [values[j, 0] for j in range(values.nrows())]


def identity(size: int) -> arb_mat:
    """I."""
    return arb_mat(size, size, [arb(int(j == k)) for j in range(size) for k in range(size)])


def chosen(values: arb_mat, some: list[int]) -> arb_mat:
    """The rows and columns ``some`` of a square matrix."""
    return arb_mat(len(some), len(some), [values[j, k] for j in some for k in some])


def scaled(left: list[arb], values: arb_mat, right: list[arb]) -> arb_mat:
    """The matrix of left_j·values_jl·right_l."""
    found = [left[j] * right[k] for j in range(len(left)) for k in range(len(right))]
    found = [x * y for x, y in zip(found, values.entries(), strict=True)]
    return arb_mat(len(left), len(right), found)


def root(x: arb) -> arb:
    """√x of a number that is not negative, though its ball may reach below zero."""
    if x > 0:
        return x.sqrt()
    top = x.upper()
    return arb(0).union(top.sqrt()) if top > 0 else arb(0)


def require(holds: bool, what: str) -> None:
    """Refuse the proof unless the inequality ``what`` holds."""
    if not holds:
        raise RefusedError(what)


def eigenvalue_bound(gram: arb_mat, sigma: float, what: str) -> arb:
    """An upper bound of λ_max of a symmetric matrix of balls, near the claimed ``sigma``.

    For any matrix L, M = σI − LLᵀ − R with R = σI − M − LLᵀ, so that λ_max(M) ≤ σ + ‖R‖_F. L is a
    Cholesky factor in floats, and R is enclosed in balls.
    """
    size = gram.nrows()
    if size == 0:
        return arb(0)
    middle = np.array([float(x.mid()) for x in gram.entries()]).reshape(size, size)
    try:
        factor = np.linalg.cholesky(sigma * np.eye(size) - (middle + middle.T) / 2)
    except np.linalg.LinAlgError:
        raise RefusedError(f"{what}: {sigma:.6g} is not above the largest eigenvalue") from None
    L = matrix(factor)
    rest = L * L.transpose() + gram
    square = arb(0)
    for j, row in enumerate(rest.tolist()):
        row[j] -= arb(sigma)
        square += sum((x * x for x in row), arb(0))
    return arb(sigma) + root(square)
