"""The problem that the dual of `attention.certificates.one_matrix` solves, as small records.

`Problem` = `GridRows` (the rows j ≠ i on their grids of moves) + `Prices` (what moves cost) +
`OwnRow` (row i). Shapes: m rows, G grid points, d dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch

from wordsway.maps.rigorous import SAFE, U, eigenvalue_upper_bound, gamma, opnorm_upper_bound

#: Grid points in a; logistic shares are followed for logits from −REACH to REACH.
NODES = 56
REACH = 9.0


class ShareCurve(NamedTuple):
    """The share p(a) of one key on a grid of moves (rows × grid points), and its derivatives."""

    p: torch.Tensor
    a: torch.Tensor
    step: torch.Tensor
    bend: torch.Tensor  # |p″|
    rise: torch.Tensor  # p′²
    trivial: torch.Tensor  # rows for which only the trivial bound is used (n−1, 1)
    below: torch.Tensor  # rows that Δ can move below the grid (n−1, 1)
    beyond: torch.Tensor  # rows that Δ can move beyond it (n−1, 1)


class Tail(NamedTuple):
    """‖row j‖² beyond an end of its grid, −∞ where Δ does not reach it, and its κ-term: (m, 1)."""

    value: torch.Tensor
    kappa_term: torch.Tensor

    @staticmethod
    def where(reachable: torch.Tensor, value: torch.Tensor, kappa_term: torch.Tensor) -> Tail:
        value = torch.where(reachable, value, -math.inf)
        return Tail(value, torch.where(reachable, kappa_term, 0.0))


def logistic_curve(
    logit: torch.Tensor, keys: torch.Tensor, radius: float, blur: torch.Tensor
) -> ShareCurve:
    """p(u) = σ(u) for u = logit p⁰ + a, as far as Δ can move it or from −9 to 9; what lies outside
    is bounded by the tails. ``logit``, ``keys`` and ``blur``, the error of a moved logit, have one
    row per row of the text but i.
    """
    reach = radius * keys.norm(dim=1, keepdim=True) * SAFE + blur
    low, high = (logit - reach).clamp(-REACH, REACH), (logit + reach).clamp(-REACH, REACH)
    u = low + (high - low) * torch.linspace(0, 1, NODES, dtype=keys.dtype, device=keys.device)
    p, step = torch.sigmoid(u), ((high - low) / (NODES - 1)).expand_as(u)
    # p(1−p) and |p″| = p(1−p)|1−2p| are at most min(p, 1−p), which changes by no more than a factor
    # e^step within a step.
    bound = torch.minimum(p, 1 - p) * torch.exp(step)
    below, beyond = logit - reach < -REACH, logit + reach > REACH
    return ShareCurve(
        p,
        u - logit,
        step,
        bound.clamp_max(0.0963),
        (bound * bound).clamp_max(1 / 16),
        torch.zeros_like(below),
        below,
        beyond,
    )


def neighbour(p: torch.Tensor, by: int) -> torch.Tensor:
    """The neighbour's value along the grid (the last axis); the ends repeat."""
    if by > 0:
        return torch.cat([p[..., :1], p[..., :-1]], -1)
    return torch.cat([p[..., 1:], p[..., -1:]], -1)


#: Beyond this many rows the Gram matrix is not made.
MOST_ROWS = 6000
#: Factors by which the estimate of λ_max(CGC) is raised until a Cholesky factorisation proves it.
RAISED = (1.01, 1.05, 1.15)
#: Vectors and steps of the subspace iteration; its outcome need not be exact.
VECTORS, STEPS = 6, 24


def quartic_price(A: torch.Tensor, error: float = 0.0) -> float:
    """A number B with Σ_j (A_j·u)⁴ ≤ B‖u‖⁴ for all u, or +∞ if there are too many rows; for every
    matrix within ``error`` of A in Frobenius norm, since (Σ_j (E_j·u)⁴)^¼ ≤ ‖E‖_F.

    >>> 1.0 <= quartic_price(torch.eye(3, dtype=torch.float64)) <= 1.02
    True
    """
    n, d = A.shape
    if not 1 <= n <= MOST_ROWS:
        return math.inf
    size = float((A * A).sum()) / n
    if not 1e-60 < size < 1e60:
        return math.inf
    A = A.to(torch.float64) / math.sqrt(size)
    G = (A @ A.T) ** 2
    # A product of length d is off by γ_d‖A_j‖‖A_l‖, its square by three times as much relative to
    # ‖A_j‖²‖A_l‖²: a matrix of norm at most Σ_j ‖A_j‖⁴, the trace of G.
    rounding = 3 * gamma(d + 4) * float(G.diagonal().sum())
    top, second, v = _top_two(G)
    tau = max(0.0, 1 - 1.02 * second / top) if n > 1 else 0.0
    Gv = G @ v
    along = float(v @ Gv)
    s = 1 - math.sqrt(1 - tau)
    cross = torch.outer(v, Gv)
    inner = G - s * (cross + cross.T) + s * s * along * torch.outer(v, v)
    # CGC is made of products of length n with G and v, ‖v‖ ≈ 1, and is symmetric to rounding.
    made = 16 * gamma(n + 8) * float(G.norm())
    guess = 1.02 * second if tau else top
    sigma = eigenvalue_upper_bound(
        (inner + inner.T) / 2, made + rounding, [factor * guess for factor in RAISED]
    )
    M = (A.T * v) @ A / math.sqrt(along)
    off = 2 * gamma(n + 8) * float((v.abs() * (A * A).sum(1)).sum()) / math.sqrt(along)
    m = min(1.0, opnorm_upper_bound(M, off))
    found = (sigma + tau * (along + made + rounding) * m * m) * SAFE * size * size
    return float((found**0.25 + error) ** 4) * (1 + 16 * U)


def _top_two(G: torch.Tensor) -> tuple[float, float, torch.Tensor]:
    """About the two largest eigenvalues, and the first eigenvector."""
    n = len(G)
    basis = torch.randn(
        n, min(n, VECTORS), dtype=G.dtype, generator=torch.Generator().manual_seed(0)
    )
    basis[:, 0] = 1
    for _ in range(STEPS):
        basis = G @ torch.linalg.qr(basis).Q
    basis = torch.linalg.qr(basis).Q
    values, vectors = torch.linalg.eigh(basis.T @ G @ basis)
    second = float(values[-2]) if len(values) > 1 else 0.0
    return float(values[-1]), max(second, 0.0), basis @ vectors[:, -1]


#: Where `Joined` is known, as shares of ‖A‖²/‖B‖².
JOINED_AT = (0.06, 0.15, 0.35, 0.8, 2.0)

#: finish(others, own, lo, hi) of each cell of β, growing in others and own.
Finish = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def across_error(A: torch.Tensor) -> float:
    """The rounding error, in Frobenius norm, of A − (Ae)eᵀ for a unit vector e."""
    return 4 * (A.shape[1] + 8) * U * float(A.norm())


def interpolate(at: torch.Tensor, grid: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Piecewise linear interpolation; constant beyond the ends."""
    right = torch.searchsorted(grid, at).clamp(1, len(grid) - 1)
    share = ((at - grid[right - 1]) / (grid[right] - grid[right - 1])).clamp(0, 1)
    return values[right - 1] * (1 - share) + values[right] * share


@dataclass(frozen=True)
class Joined:
    """g(ρ) = λ_max(AᵀA + ρBᵀB) at most: by chords, as it is convex, and slopes up to ‖B‖²."""

    at: tuple[float, ...]
    value: tuple[float, ...]
    slope: float

    @classmethod
    def of(cls, A: torch.Tensor, B: torch.Tensor, error: float = 0.0) -> Joined | None:
        """Known at a few ρ around ‖A‖²/‖B‖²; None where that is no number. A is off by ``error``,
        and B by as much as splitting it off e makes.

        >>> A = torch.eye(2, dtype=torch.float64)
        >>> float(Joined.of(A, A)(torch.tensor(0.0), torch.tensor(0.0)).round(decimals=6))
        2.0
        """
        other = across_error(B)
        size, slope = opnorm_upper_bound(A, error) ** 2, opnorm_upper_bound(B, other) ** 2
        if not (1e-30 < size < 1e30 and 1e-30 < slope < 1e30):
            return None
        at, value = [0.0], [size]
        for share in JOINED_AT:
            at.append(share * size / slope)
            root = math.sqrt(at[-1])
            both = torch.cat([A, root * B])
            value.append(opnorm_upper_bound(both, error + 2 * root * other) ** 2)
        return cls(tuple(at), tuple(value), slope)

    def __call__(self, log_lambda: torch.Tensor, log_kappa: torch.Tensor) -> torch.Tensor:
        """λ_max(λAᵀA + κBᵀB) at most."""
        rho = (log_kappa - log_lambda).exp()
        at, value = rho.new_tensor(self.at), rho.new_tensor(self.value)
        beyond = self.slope * (rho - at[-1]).clamp_min(0)
        return log_lambda.exp() * (interpolate(rho, at, value) + beyond) * SAFE


class GridRows(NamedTuple):
    """The rows of the dual, m of them, on grids of G moves each.

    Row j contributes at most

        poly(p) = (p − p⁰)²‖y‖² + p²r² + 2β·p(p − p⁰) y·e + p²(p − p⁰)²/κ

    at the share p, for which its score has to move by a. Fields are (m, G) down to ``kappa_bend``,
    then (m, 1).
    """

    p: torch.Tensor  # shares at the grid points
    a: torch.Tensor  # the moves that give them, times the row's weight
    square: torch.Tensor  # the part of poly without β and κ
    linear: torch.Tensor  # p(p − p⁰) y·e, of which 2β is the factor
    quartic: torch.Tensor  # κ times the κ-term
    width2: torch.Tensor  # (grid step)²/8 around each grid point
    price_width2: torch.Tensor  # the same in the weighted units of a
    slope: torch.Tensor  # |∂poly/∂p| around each grid point at most, without the κ-term
    bend: torch.Tensor  # |p″| around each grid point at most
    kappa_bend: torch.Tensor  # what the κ-term adds to the concavity
    y2: torch.Tensor  # ‖y_j‖²
    trivial_bound: torch.Tensor  # ‖row j‖² whatever the price
    ae: torch.Tensor  # A_j·e, times the row's weight
    blur: torch.Tensor  # rounding error of a moved logit, times the row's weight
    low: Tail  # poly below the first grid point
    high: Tail  # and above the last

    def each(self, change: Callable[..., torch.Tensor], *more: GridRows) -> GridRows:
        """These rows with change(tensor, …) in place of every tensor, given those of ``more``."""

        def changed(*parts: Any) -> Any:
            if isinstance(parts[0], Tail):
                return Tail(*map(change, *parts))
            return change(*parts)

        return GridRows(*map(changed, self, *more))

    def weighted(self, weight: torch.Tensor) -> GridRows:
        """These rows with moves in other units: weights (m, 1)."""
        return self._replace(
            a=weight * self.a,
            ae=weight * self.ae,
            blur=weight * self.blur * SAFE,
            price_width2=weight**2 * self.price_width2,
        )

    def times(self, scale: torch.Tensor | float) -> GridRows:
        """The rows of Σ_j scale_j‖row j‖² with scale (m, 1)."""
        return self._replace(
            y2=scale * self.y2,
            trivial_bound=scale * self.trivial_bound,
            square=scale * self.square,
            linear=scale * self.linear,
            quartic=scale**2 * self.quartic,
            slope=scale * self.slope,
            kappa_bend=scale**2 * self.kappa_bend,
            low=Tail(scale * self.low.value, scale**2 * self.low.kappa_term),
            high=Tail(scale * self.high.value, scale**2 * self.high.kappa_term),
        )

    def limited(self, ceiling: float) -> GridRows:
        """The same where no row counts more than ``ceiling``."""
        return self._replace(
            trivial_bound=self.trivial_bound.clamp_max(ceiling),
            low=self.low._replace(value=self.low.value.clamp_max(ceiling)),
            high=self.high._replace(value=self.high.value.clamp_max(ceiling)),
        )


@dataclass(frozen=True)
class OwnRow:
    """‖row i‖² ≤ min(ceiling, scale·min(cap, max(hull, ‖far + kΔ‖²)))."""

    hull: float = 0.0
    far: torch.Tensor | None = None  # x_i − φ_i for rows in the hull of the text
    cap: float = math.inf
    share: float = 1.0  # how often ‖Δ‖² counts in ``hull`` where Δ is added to the row
    delta_multiplicity: float = 1.0  # k, how often Δ itself counts
    axis: torch.Tensor | None = None  # the unit vector e of Δ = βe + Δ⊥
    scale: float = 1.0  # scale and ceiling are those of a norm around the layer
    ceiling: float = math.inf

    def with_delta(self, radius: float) -> OwnRow:
        """Where Δ itself is added to the row: hull and cap grow by its length."""
        hull = (math.sqrt(self.hull) + math.sqrt(self.share) * radius) ** 2
        cap = (math.sqrt(self.cap) + radius) ** 2
        return replace(self, hull=hull, cap=cap, delta_multiplicity=2.0)

    @cached_property
    def _far(self) -> tuple[float, float, float]:
        """‖far‖², its component along e, and the length of the rest."""
        assert self.far is not None and self.axis is not None
        along = float(self.far @ self.axis)
        across = float((self.far - along * self.axis).norm())
        return float(self.far @ self.far), along, across

    def bound(
        self, lo: torch.Tensor, hi: torch.Tensor, room: torch.Tensor, r: float
    ) -> torch.Tensor:
        """The bound for β ∈ [lo, hi] and ‖Δ⊥‖² ≤ ``room``, ‖Δ‖ ≤ r."""
        reached = torch.zeros_like(room)
        if self.far is not None:
            (square, along, across), k = self._far, self.delta_multiplicity
            reached = square + 2 * k * torch.maximum(lo * along, hi * along)
            reached = reached + 2 * k * across * room.sqrt() + (k * r) ** 2
            reached = reached + 64 * U * (square + (k * r) ** 2)
        own = self.scale * reached.clamp_min(self.hull).clamp_max(self.cap)
        return own.clamp_max(self.ceiling)


@dataclass(frozen=True)
class Prices:
    """Upper bounds of what a unit Δ⊥ pays, Σ_j λ(A⊥Δ⊥)_j² + κ(Y⊥Δ⊥)_j² + ν(A⊥Δ⊥)_j⁴."""

    across: torch.Tensor  # A⊥, times the rows' weights (m, d)
    error: float  # its rounding error, in Frobenius norm
    norm_a: float  # ‖A⊥‖
    norm_y: float  # ‖Y⊥‖
    fourth: float = math.inf  # Σ_j (A⊥u)_j⁴ over unit vectors u
    beside: torch.Tensor | None = None  # rows B (·, d) whose price κ(BΔ⊥)_l² is joined with A⊥'s
    joined: Joined | None = None  # the norms of A⊥ and B together
    norm_rest: float = 0.0  # ‖Y⊥‖ without B

    def __call__(self, log_lambda: torch.Tensor, log_kappa: torch.Tensor) -> torch.Tensor:
        """The price of squares of a unit Δ⊥."""
        if self.joined is not None:
            return self.joined(log_lambda, log_kappa) + log_kappa.exp() * self.norm_rest**2
        return log_lambda.exp() * self.norm_a**2 + log_kappa.exp() * self.norm_y**2

    def weighted(self, weight: torch.Tensor) -> Prices:
        """The prices of weighted rows, weights (m, 1)."""
        across = weight * self.across
        error = float(weight.max()) * 2 * self.error if len(weight) else 0.0
        return replace(
            self,
            across=across,
            error=error,
            norm_a=opnorm_upper_bound(across, error),
            joined=None if self.beside is None else Joined.of(across, self.beside, error),
            fourth=math.inf,
        )

    def with_rows(self, more: Prices) -> Prices:
        """The prices of both sets of rows for one Δ⊥."""
        across, error = torch.cat([self.across, more.across]), self.error + more.error
        return Prices(
            across,
            error,
            opnorm_upper_bound(across, error),
            math.hypot(self.norm_y, more.norm_y),
            beside=more.beside,
            joined=None if more.beside is None else Joined.of(across, more.beside, error),
            norm_rest=self.norm_y,
        )


@dataclass(frozen=True)
class Problem:
    """All that the dual needs of row i."""

    radius: float
    rows: GridRows
    prices: Prices
    own: OwnRow
    ceiling: float = math.inf  # what each of the rows counts at most
    extra: float = 0.0  # what all of them count in addition
    repeat: float = 1.0  # for how many rows each one stands, where multipliers are tuned
    finish: Finish | None = None  # from the bounds of a cell to what is certified; None: their sum

    def reweighted(self, power: float) -> Problem:
        """Rows weighted by a power of the move that wins 95 % of them, more where it is short."""
        # At any grid point a = logit p − logit p⁰, so the move that gives a share of 95 % follows
        # from the first one.
        p, a = self.rows.p[:, :1], self.rows.a[:, :1]
        need = (math.log(0.95 / 0.05) - torch.logit(p) + a).clamp_min(1.0)
        weight = (need.mean() / need) ** power
        return replace(self, rows=self.rows.weighted(weight), prices=self.prices.weighted(weight))

    @cached_property
    def raised(self) -> torch.Tensor:
        """The polynomial at β = 0 without its κ-term, raised by what it can exceed its chord by."""
        return self.rows.square + self.rows.width2 * self.rows.slope * self.rows.bend

    @cached_property
    def raised_quartic(self) -> torch.Tensor:
        """The same of κ times its κ-term."""
        return self.rows.quartic + self.rows.width2 * self.rows.kappa_bend

    @cached_property
    def kappa_terms(self) -> torch.Tensor:
        """κ times the κ-terms of all grid points and of the two tails behind them, (m, G+2)."""
        ends = self.rows.low.kappa_term, self.rows.high.kappa_term
        return torch.cat([self.raised_quartic, *ends], 1)

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """Σ_j ‖row j‖² whatever the price, and Σ_j of the largest κ-term."""
        return float(self.rows.trivial_bound.sum()), float(self.kappa_terms.amax(1).sum())

    @cached_property
    def price_steps(self) -> torch.Tensor:
        """What λ times a squared distance bends within a step, 0 in the tails: (m, G+2)."""
        return torch.nn.functional.pad(2 * self.rows.price_width2, (0, 2))

    def coarse(self, rows: int | None = None) -> Problem:
        """Every third grid point, for tuning; and about ``rows`` of the rows."""
        count = len(self.rows.p)
        every = 1 if rows is None else max(1, count // rows)
        few = self.rows.each(lambda part: part[::every, ::3].contiguous())
        repeat = count / max(1, len(few.ae)) if every > 1 else self.repeat
        return replace(self, rows=few, repeat=repeat)

    def single(self) -> Problem:
        """The same in single precision, for tuning, unless numbers are too large or small."""
        prices = self.prices
        sizes = (self.radius**2, self.sizes[0], prices.norm_a**2, prices.norm_y**2)
        if not all(1e-9 < size < 1e15 for size in sizes):
            return self
        rows = self.rows.each(torch.Tensor.float)
        # An infinite blur has no distance to shorten.
        return replace(self, rows=rows._replace(blur=rows.blur.clamp_max(1e30)))

    def with_rows(self, more: Problem) -> Problem:
        """The rows of both problems under one price; row i stays as it is here."""
        rows = self.rows.each(lambda one, two: torch.cat([one, two]), more.rows)
        return replace(self, rows=rows, prices=self.prices.with_rows(more.prices))
