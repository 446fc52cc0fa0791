"""The sets that Δ may be taken from: ``sensitivity(…, constraint=…)``.

A search needs two operations of a set C ⊂ ℝ^d: a point of C near any x (`Constraint.project`), and
a step uphill that stays in C (`Constraint.step`). A step x⁺ along the gradient g is a mirror step,

    ∇ψ(x⁺) ∝ ∇ψ(x) + ηg,    then divided by its gauge if it left C,

with ψ half the square of the gauge that C is a ball of (‖·‖_p, or ‖A⁺·‖ of an ellipsoid): for p = 2
the projected gradient step, and for η → ∞ a step to where g·x is largest over C. The cube and the
cross-polytope (p = ∞, 1), whose gauges are not smooth, are projected onto instead.

Every set lies in the ball ‖Δ‖ ≤ `Constraint.span`, and what is certified for that ball holds for
the set. A finite set (`Choices`) is tried vector by vector.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, final

import torch

from wordsway.core.checks import Radius, Within, validated
from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.vectors import exactly_inside, into_ball

#: Combinations of vectors at several rows that are all tried; beyond, row after row is improved.
COMBINATIONS = 100_000
Exponent = Annotated[float, Within(1, 1e6, "L2 is the Euclidean ball, Linf the cube")]


class Constraint(ABC):
    """A set of Δ ∈ ℝ^d; batches of points are (…, d)."""

    @validated
    def __init__(self, radius: Radius | None = None) -> None:
        #: The set's size; None for the largest of its shape in the paper's ball ‖Δ‖ ≤ √d.
        self.radius = radius

    @abstractmethod
    def stretch(self, d: int) -> float:
        """The norm of the longest Δ of the set whose radius is 1."""

    @abstractmethod
    def project(self, x: torch.Tensor) -> torch.Tensor:
        """A point of the set near each x; points of the set stay where they are."""

    @abstractmethod
    def gauge(self, x: torch.Tensor) -> torch.Tensor:
        """The radius at which each x is on the boundary, (…, 1)."""

    def step(self, x: torch.Tensor, move: torch.Tensor) -> torch.Tensor:
        """A point of the set that is uphill of x where ``move`` points uphill."""
        return self.project(x + move)

    def size(self, d: int) -> float:
        """The radius, or its default."""
        return math.sqrt(d) / self.stretch(d) if self.radius is None else self.radius

    def span(self, d: int) -> float:
        """The norm of the longest Δ of the set."""
        return self.size(d) * self.stretch(d)

    def inside(self, x: torch.Tensor) -> torch.Tensor:
        """x (…, d) in float64, within the set as `gauge` computes it."""
        x = self.project(x.to("cpu", torch.float64))
        size = self.size(x.shape[-1])
        while bool((outside := self.gauge(x) > size).any()):
            x = torch.where(outside, x * (1 - torch.finfo(x.dtype).eps), x)
        return x

    def check(self, d: int) -> None:
        """Refuse texts of other dimensions; by default none."""
        return

    def __repr__(self) -> str:
        size = "" if self.radius is None else f"{self.radius:g}"
        return f"{type(self).__name__}({size})"


class NormBall(Constraint):
    """‖Δ‖_p ≤ radius, 1 ≤ p ≤ ∞."""

    p: float

    def stretch(self, d: int) -> float:
        return float(d ** max(0.0, 0.5 - 1 / self.p))

    def gauge(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.vector_norm(x, self.p, dim=-1, keepdim=True)

    def project(self, x: torch.Tensor) -> torch.Tensor:
        size = self.size(x.shape[-1])
        if self.p == math.inf:
            return x.clamp(-size, size)
        if self.p == 1:
            return torch.where(self.gauge(x) > size, _onto_cross_polytope(x, size), x)
        return x * (size / self.gauge(x).clamp_min(torch.finfo(x.dtype).tiny)).clamp_max(1)

    def step(self, x: torch.Tensor, move: torch.Tensor) -> torch.Tensor:
        if self.p in (1, 2, math.inf):
            return super().step(x, move)
        return self.project(_dual(_dual(x, self.p) + move, self.p / (self.p - 1)))


def _dual(x: torch.Tensor, p: float) -> torch.Tensor:
    """∇ of ½‖x‖_p²: sign(x)|x|^{p−1}‖x‖_p^{2−p}, scaled by the largest entry first."""
    largest = x.abs().amax(-1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)
    x = x / largest
    norm = torch.linalg.vector_norm(x, p, dim=-1, keepdim=True).clamp_min(1e-30)
    return largest * x.sign() * x.abs() ** (p - 1) * norm ** (2 - p)


def _onto_cross_polytope(x: torch.Tensor, size: float) -> torch.Tensor:
    """The nearest point with ‖·‖₁ = size: every entry is shortened by the same amount or to 0."""
    sorted_ = x.abs().sort(-1, descending=True).values
    count = torch.arange(1, x.shape[-1] + 1, device=x.device, dtype=x.dtype)
    excess = (sorted_.cumsum(-1) - size) / count
    last = (sorted_ > excess).sum(-1, keepdim=True).clamp_min(1) - 1
    return x.sign() * (x.abs() - excess.gather(-1, last)).clamp_min(0)


@final
class L2(NormBall):
    """‖Δ‖ ≤ radius, the paper's ball; √d by default."""

    p = 2.0


@final
class Linf(NormBall):
    """|Δ_k| ≤ radius for every k; 1 by default.

    >>> Linf(1.0).project(torch.tensor([3.0, -0.5])).tolist(), Linf().span(9)
    ([1.0, -0.5], 3.0)
    """

    p = math.inf


@final
class Lp(NormBall):
    """‖Δ‖_p ≤ radius for a finite p ≥ 1.

    >>> Lp(1, 2.0).project(torch.tensor([3.0, 2.0, 0.5])).tolist()
    [1.5, 0.5, 0.0]
    >>> round(Lp(4).span(16), 12)
    4.0
    """

    @validated
    def __init__(self, p: Exponent, radius: Radius | None = None) -> None:
        self.p, self.radius = float(p), radius

    def __repr__(self) -> str:
        return f"Lp({self.p:g}" + (")" if self.radius is None else f", {self.radius:g})")


@final
class Shell(Constraint):
    """‖Δ‖ = radius; √d by default.

    >>> Shell(2.0).project(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).norm(dim=1).tolist()
    [2.0, 2.0]
    """

    def stretch(self, d: int) -> float:
        return 1.0

    def gauge(self, x: torch.Tensor) -> torch.Tensor:
        return x.norm(dim=-1, keepdim=True)

    def project(self, x: torch.Tensor) -> torch.Tensor:
        first = torch.zeros_like(x)
        first[..., 0] = 1
        x = torch.where((x == 0).all(-1, keepdim=True), first, x)
        x = x / x.abs().amax(-1, keepdim=True)
        return x * (self.size(x.shape[-1]) / self.gauge(x))


class LinearBall(Constraint):
    """{Az: ‖z‖ ≤ radius} for a matrix A (d×m) of full rank: the ball in other coordinates."""

    def __init__(self, A: torch.Tensor, radius: float | None) -> None:
        self.A, self.radius = A, radius
        self.inverse = torch.linalg.pinv(A)
        self._stretch = float(torch.linalg.matrix_norm(A, 2))

    def stretch(self, d: int) -> float:
        return self._stretch

    def gauge(self, x: torch.Tensor) -> torch.Tensor:
        return self._coordinates(x).norm(dim=-1, keepdim=True)

    def project(self, x: torch.Tensor) -> torch.Tensor:
        return self._ball(self._coordinates(x))

    def step(self, x: torch.Tensor, move: torch.Tensor) -> torch.Tensor:
        """A gradient g in Δ is Aᵀg in z."""
        along = move @ self.A.to(move)
        scale = move.norm(dim=-1, keepdim=True) / self._stretch
        longest = along.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(move.dtype).tiny)
        return self._ball(self._coordinates(x) + along * (scale / longest))

    def _coordinates(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.inverse.T.to(x)

    def _ball(self, z: torch.Tensor) -> torch.Tensor:
        return into_ball(z, self.size(len(self.A))) @ self.A.T.to(z)

    def check(self, d: int) -> None:
        if len(self.A) != d:
            raise InputError(
                f"a constraint in {d} dimensions",
                f"{type(self).__name__} in {len(self.A)}",
                "make it of vectors of the text's d",
            )

    def __repr__(self) -> str:
        size = "" if self.radius is None else f", {self.radius:g}"
        return f"{type(self).__name__}({self.A.shape[0]}×{self.A.shape[1]}{size})"


@final
class Subspace(LinearBall):
    """‖Δ‖ ≤ radius within the span of the rows of ``basis`` (m×d); √d by default.

    >>> plane = Subspace([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], 2.0)
    >>> plane.project(torch.tensor([1.0, 1.0, 5.0]).double()).allclose(
    ...     torch.tensor([1.0, 1.0, 0.0]).double())
    True
    """

    @validated
    def __init__(self, basis: Any, radius: Radius | None = None) -> None:
        _, s, rows = torch.linalg.svd(finite_matrix(basis, "a basis"), full_matrices=False)
        kept = s > 1e-10 * float(s.max())
        if not bool(kept.any()):
            raise InputError("a basis of a subspace", "zero vectors alone", "pass one that is not")
        super().__init__(rows[kept].T.contiguous(), radius)


@final
class Ellipsoid(LinearBall):
    """Δᵀ Σ⁺ Δ ≤ radius² within the range of Σ, the symmetric ``matrix`` (a covariance, say): the
    longest semi-axis is radius·√λ_max(Σ), √d by default.

    >>> round(Ellipsoid([[4.0, 0.0], [0.0, 1.0]], 3.0).span(2), 9)
    6.0
    """

    @validated
    def __init__(self, matrix: Any, radius: Radius | None = None) -> None:
        M = finite_matrix(matrix, "a covariance")
        if M.shape[0] != M.shape[1] or not torch.allclose(M, M.T):
            raise InputError(
                "a symmetric matrix", f"shape {tuple(M.shape)}", "pass a covariance, d×d"
            )
        values, vectors = torch.linalg.eigh(M)
        top = float(values[-1])
        if not top > 0 or float(values[0]) < -1e-10 * top:
            raise InputError(
                "a matrix without negative eigenvalues",
                f"eigenvalues from {float(values[0]):.3g} to {top:.3g}",
                "pass a covariance",
            )
        kept = values > 1e-12 * top
        super().__init__(vectors[:, kept] * values[kept].sqrt(), radius)


@final
class Choices:
    """The vectors (V×d) that may stand in the row's place: Δ = v − x_i. All are tried, so that
    ``upper`` is ``lower``.

    >>> len(Choices([[1.0, 0.0], [0.0, 1.0]]).vectors)
    2
    """

    @validated
    def __init__(self, vectors: Any) -> None:
        self.vectors = finite_matrix(vectors, "the vectors to choose from")

    def combined(self, rows: torch.Tensor) -> torch.Tensor:
        """Δ of every combination of vectors in the place of the rows (m×d), (V^m, m, d)."""
        V, m = len(self.vectors), len(rows)
        if V**m > COMBINATIONS:
            raise InputError(
                f"at most {COMBINATIONS:,} combinations", f"{V}^{m}", "pass fewer vectors or rows"
            )
        every = torch.cartesian_prod(*[torch.arange(V)] * m).reshape(-1, m)
        return self.vectors[every] - rows

    def check(self, d: int) -> None:
        if self.vectors.shape[1] != d:
            raise InputError(
                f"vectors of {d} dimensions",
                f"shape {tuple(self.vectors.shape)}",
                "embed them as the text is",
            )

    def __repr__(self) -> str:
        return f"Choices({len(self.vectors)} vectors)"


def euclidean(constraint: Constraint | Choices | None) -> bool:
    """Whether it is the paper's ball, for which the solvers are made."""
    return constraint is None or (isinstance(constraint, NormBall) and constraint.p == 2)


def exactly_in(constraint: Constraint | None, x: torch.Tensor, radius: float) -> torch.Tensor:
    """x (…, d) in float64 and in the constraint, or in the ball."""
    if constraint is not None and not euclidean(constraint):
        return constraint.inside(x)
    flat = [exactly_inside(one, radius) for one in x.reshape(-1, x.shape[-1])]
    return torch.stack(flat).reshape(x.shape)


#: Constraints with no other argument than a radius, by name.
NAMED: dict[str, Callable[[float | None], Constraint]] = {
    "l1": lambda radius: Lp(1, radius),
    "l2": L2,
    "linf": Linf,
    "shell": Shell,
}


def named(name: str, radius: float | None = None) -> Constraint:
    """The constraint of this name.

    >>> named("linf", 0.5)
    Linf(0.5)
    """
    if name not in NAMED:
        raise InputError(
            f"a constraint among {', '.join(NAMED)}", repr(name), "or one of wordsway.constraints"
        )
    return NAMED[name](radius)
