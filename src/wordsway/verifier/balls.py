"""Arrays of balls (NumPy's, of objects of Arb), and upper bounds of norms."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordsway.proof_format import RefusedError

try:
    from flint import arb as arb
    from flint import arb_mat as arb_mat
    from flint import ctx as ctx
except ImportError:  # the extra `proofs`; `wordsway.maps.proof.verify` says so
    arb = arb_mat = ctx = None  # type: ignore[assignment,misc]

Balls = NDArray[np.object_]
#: Bits of a midpoint; how much a guessed eigenvalue is raised, relative to itself and to the trace.
PRECISION, RAISED, TINY = 128, 1e-7, 1e-15


def require(holds: bool, what: str) -> None:
    """Refuse the proof unless the inequality ``what`` holds."""
    if not holds:
        raise RefusedError(f"this condition does not hold: {what}")


def _root(x: arb) -> arb:
    if x > 0:
        return x.sqrt()
    top = x.upper()
    return arb(0).union(top.sqrt()) if top > 0 else arb(0) if top <= 0 else top  # not a number


#: Element by element: a number as an exact ball, the middle of a ball, max(x, 0), x² (a power of a
#: ball around 0 would be no number), √x for x ≥ 0 whose ball may reach below zero; the smaller one
#: of two; weight/total, and 0 where the total is exactly 0.
exact: Any = np.frompyfunc(lambda x: arb(x), 1, 1)
middles: Any = np.frompyfunc(lambda x: float(x.mid()), 1, 1)
part_above_0: Any = np.frompyfunc(lambda x: x.nonnegative_part(), 1, 1)
square: Any = np.square
root: Any = np.frompyfunc(_root, 1, 1)
smaller: Any = np.frompyfunc(lambda x, y: x.min(y), 2, 1)
share: Any = np.frompyfunc(lambda x, total: arb(0) if total == 0 else x / total, 2, 1)


def product(A: Any, B: Any) -> Any:
    """AB, where None for B stands for the identity."""
    if B is None:
        return A
    left, right = (arb_mat(len(M), M.shape[1], list(M.flat)) for M in (A, B))
    return np.array((left * right).entries(), object).reshape(len(A), B.shape[1])


def squares(rows: Balls) -> Balls:
    """The squared norm of each row."""
    return (rows * rows).sum(1)


def unit(vector: Balls) -> Balls:
    """The unit vector along a vector that is not zero."""
    length2 = vector @ vector
    require(length2 > 0, "a vector with a direction is not zero")
    return vector / length2.sqrt()


def across(rows: Balls, e: Balls) -> Balls:
    """The rows without their parts along the unit vector e."""
    return rows - np.outer(rows @ e, e)


def largest(values: Any) -> arb:
    """The largest of numbers that are not negative, 0 if there are none."""
    return reduce(arb.max, values, arb(0))


def norm_square(rows: Balls) -> arb:
    """An upper bound of ‖rows‖² as an operator."""
    few = rows if len(rows) <= rows.shape[1] else rows.T
    return eigenvalue_bound(product(few, few.T))


def eigenvalue_bound(gram: Balls) -> arb:
    """An upper bound of λ_max of a symmetric matrix M, if that is not negative: σ + ‖R‖_F, as
    M = σI − LLᵀ − R with R = σI − M − LLᵀ for any σ and any matrix L. σ and the Cholesky factor L
    are guessed in floats; R is enclosed in balls.
    """
    if len(gram) == 0:
        return arb(0)
    middle, I = middles(gram).astype(float), np.eye(len(gram))
    require(bool(np.isfinite(middle).all()), "a matrix has finite entries")
    middle = (middle + middle.T) / 2
    sigma = max(float(np.linalg.eigvalsh(middle)[-1]), 0.0) * (1 + RAISED) + 1e-300
    sigma += len(gram) * TINY * float(np.abs(middle.diagonal()).sum())
    L = exact(np.linalg.cholesky(sigma * I - middle))
    return arb(sigma) + root(squares(product(L, L.T) + gram - sigma * I).sum())


def float_above(x: arb) -> float:
    """A float that is not below x: the conversion to a float is off by less than one step."""
    return math.nextafter(float(x.upper()), math.inf)
