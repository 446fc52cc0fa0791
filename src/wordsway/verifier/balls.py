"""Matrices of balls, and upper bounds of norms. Unit vectors are columns, other vectors rows."""

from __future__ import annotations

import math

import numpy as np

from wordsway.proof_format import Array, RefusedError

try:
    from flint import arb as arb
    from flint import arb_mat as arb_mat
    from flint import ctx as ctx
except ImportError:  # the extra `proofs`; `wordsway.maps.proof.verify` says so
    arb = arb_mat = ctx = None  # type: ignore[assignment,misc]

#: Bits of a midpoint; how much a guessed eigenvalue is raised, relative to itself and to the trace.
PRECISION, RAISED, TINY = 128, 1e-7, 1e-15


def require(holds: bool, what: str) -> None:
    """Refuse the proof unless the inequality ``what`` holds."""
    if not holds:
        raise RefusedError(what)


def matrix(values: Array) -> arb_mat:
    """An array (rows, columns) as a matrix of exact balls."""
    rows, columns = values.shape
    return arb_mat(rows, columns, list(map(arb, values.ravel().tolist())))


def table(rows: list[list[arb]], width: int) -> arb_mat:
    """The matrix of these rows, of which there may be none."""
    return arb_mat(rows) if rows else arb_mat(0, width)


def scaled(factors: list[arb], values: arb_mat) -> arb_mat:
    """The matrix with row j times factor j."""
    pairs = zip(factors, values.tolist(), strict=True)
    return table([[factor * x for x in row] for factor, row in pairs], values.ncols())


def dot(a: list[arb], b: list[arb]) -> arb:
    """Σ_l a_l b_l."""
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))


def squares(rows: arb_mat) -> list[arb]:
    """The squared norm of each row."""
    return [dot(row, row) for row in rows.tolist()]


def unit(row: arb_mat) -> arb_mat:
    """The unit vector along a vector that is not zero."""
    (square,) = squares(row)
    require(square > 0, "a vector with a direction is not zero")
    return row.transpose() / square.sqrt()


def across(rows: arb_mat, e: arb_mat) -> arb_mat:
    """The rows without their parts along the unit vector e."""
    return rows - rows * e * e.transpose()


def square(x: arb) -> arb:
    """x²; the power of a ball around exactly 0 would be no number."""
    return x * x


def root(x: arb) -> arb:
    """√x of a number that is not negative, though its ball may reach below zero."""
    if x > 0:
        return x.sqrt()
    top = x.upper()
    return arb(0).union(top.sqrt()) if top > 0 else arb(0) if top <= 0 else top  # not a number


def norm_square(rows: arb_mat) -> arb:
    """An upper bound of ‖rows‖² as an operator."""
    few = rows if rows.nrows() <= rows.ncols() else rows.transpose()
    return eigenvalue_bound(few * few.transpose())


def eigenvalue_bound(gram: arb_mat) -> arb:
    """An upper bound of λ_max of a symmetric matrix M of balls, if that is not negative.

    For any σ and any matrix L, M = σI − LLᵀ − R with R = σI − M − LLᵀ, so that
    λ_max(M) ≤ σ + ‖R‖_F. σ and the Cholesky factor L are guessed in floats; R is enclosed in balls.
    """
    size = gram.nrows()
    if size == 0:
        return arb(0)
    middle = np.array([float(x.mid()) for x in gram.entries()]).reshape(size, size)
    require(bool(np.isfinite(middle).all()), "a matrix has finite entries")
    middle = (middle + middle.T) / 2
    sigma = abs(float(np.linalg.eigvalsh(middle)[-1])) * (1 + RAISED) + 1e-300
    sigma += size * TINY * float(np.abs(middle.diagonal()).sum())
    try:
        L = matrix(np.linalg.cholesky(sigma * np.eye(size) - middle))
    except np.linalg.LinAlgError:
        raise RefusedError("a matrix has no Cholesky factor") from None
    rest = L * L.transpose() + gram - matrix(sigma * np.eye(size))
    return arb(sigma) + root(sum(squares(rest), arb(0)))


def float_below(x: arb) -> float:
    """A float that is not above x: the conversion to a float is off by less than one step."""
    return math.nextafter(float(x.lower()), -math.inf)


def float_above(x: arb) -> float:
    """A float that is not below x."""
    return -float_below(-x)
