"""The problem that the dual of `attention.certificates.one_matrix` solves, and its variations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from wordsway.maps.attention.certificates.curves import Tail
from wordsway.maps.rigorous import SAFE, U, opnorm_upper_bound, opnorm_upper_bound_fast

#: Where `Joined` is known, as shares of ‖A‖²/‖B‖².
JOINED_AT = (0.06, 0.15, 0.35, 0.8, 2.0)

#: finish(others, own, lo, hi) of each cell of β, growing in others and own.
Finish = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def across_error(A: torch.Tensor) -> float:
    """The rounding error, in Frobenius norm, of A − (Ae)eᵀ for a unit vector e that is itself
    rounded: products of length d, one multiplication and one subtraction per entry.
    """
    return 4 * (A.shape[1] + 8) * U * float(A.norm())


@dataclass(frozen=True)
class Joined:
    """g(ρ) = λ_max(AᵀA + ρBᵀB) at most: it is convex in ρ, so that chords lie above it, and its
    slope is ‖B‖² at most.
    """

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
        at = [share * size / slope for share in JOINED_AT]
        value = [
            opnorm_upper_bound(
                torch.cat([A, math.sqrt(rho) * B]), error + 2 * math.sqrt(rho) * other
            )
            ** 2
            for rho in at
        ]
        return cls((0.0, *at), (size, *value), slope)

    def __call__(self, log_lambda: torch.Tensor, log_kappa: torch.Tensor) -> torch.Tensor:
        """λ_max(λAᵀA + κBᵀB) at most."""
        rho = (log_kappa - log_lambda).exp()
        at, value = rho.new_tensor(self.at), rho.new_tensor(self.value)
        right = torch.searchsorted(at, rho).clamp(1, len(at) - 1)
        share = ((rho - at[right - 1]) / (at[right] - at[right - 1])).clamp(0, 1)
        chord = value[right - 1] * (1 - share) + value[right] * share
        return log_lambda.exp() * (chord + self.slope * (rho - at[-1]).clamp_min(0)) * SAFE


@dataclass(frozen=True)
class Problem:
    """All the dual needs of row i: rows j ≠ i (n−1 of them), G grid points each."""

    radius: float  # of the ball for Δ
    p: torch.Tensor  # shares at the grid points (n−1, G)
    a: torch.Tensor  # the moves that give them, times the row's weight (n−1, G)
    y2: torch.Tensor  # ‖y_j‖² (n−1, 1)
    most: torch.Tensor  # ‖row j‖² whatever the price (n−1, 1)
    ae: torch.Tensor  # A_j·e, times the row's weight (n−1, 1)
    blur: torch.Tensor  # error of a moved logit, times the row's weight (n−1, 1)
    across: torch.Tensor  # A_j without its e-component, times the row's weight (n−1, d)
    across_error: float  # its rounding error, in Frobenius norm
    square: torch.Tensor  # (p−p⁰)²‖y‖² + p²r² (n−1, G)
    linear: torch.Tensor  # p(p−p⁰) y·e (n−1, G)
    quartic: torch.Tensor  # p²(p−p⁰)² (n−1, G)
    width2: torch.Tensor  # (grid step)²/8 around each grid point (n−1, G)
    price_width2: torch.Tensor  # the same in the weighted units of a (n−1, G)
    slope: torch.Tensor  # |poly′| around each grid point, without the κ-term (n−1, G)
    bend: torch.Tensor  # |p″| around each grid point (n−1, G)
    kappa_bend: torch.Tensor  # what the κ-term adds to the concavity (n−1, G)
    low: Tail  # the polynomial below the first grid point at most, and its κ-term
    high: Tail  # the same above the last one
    norm_a: float
    norm_y: float
    own_far: tuple[float, float, float]  # ‖x_i−φ_i‖², its e-component, the norm of the rest
    own_hull: float  # max_l ‖x_l − φ_i‖², and ‖φ_i‖² where a row may fall silent
    own_cap: float  # another bound of ‖row i‖², +∞ where there is none
    own_times: float = 1.0  # how often Δ itself counts in row i
    own_scale: float = 1.0  # what ‖row i‖² counts
    own_ceiling: float = math.inf  # what it counts at most
    ceiling: float = math.inf  # what each of the rows counts at most
    extra: float = 0.0  # what all of them count in addition
    quartic_price: float = math.inf  # Σ_j (across_j·u)⁴ for unit vectors u at most
    repeat: float = 1.0  # for how many rows each one stands, where multipliers are tuned
    gram: torch.Tensor | None = None  # of the rows of ``across``, where they are at most d
    beside: torch.Tensor | None = None  # rows whose price κ(B_l·Δ⊥)² is joined with that of moves
    joined: Joined | None = None  # the norms of both together
    norm_rest: float = 0.0  # ‖Y⊥‖ without them
    finish: Finish | None = None  # from the bounds of a cell to what is certified; their sum

    def tilted(self, tilt: float) -> Problem:
        """The same problem with weighted rows: a power of the move that would win 95 % of the row,
        largest where it is shortest.
        """
        # At any grid point a = logit p − logit p⁰, so the move that gives a share of 95 % follows
        # from the first one.
        need = (math.log(0.95 / 0.05) - torch.logit(self.p[:, :1]) + self.a[:, :1]).clamp_min(1.0)
        weight = (need.mean() / need) ** tilt
        across = weight * self.across
        error = float(weight.max()) * 2 * self.across_error if len(weight) else 0.0
        gram = None if self.gram is None else weight * self.gram * weight.T
        return replace(
            self,
            a=weight * self.a,
            ae=weight * self.ae,
            blur=weight * self.blur * SAFE,
            across=across,
            across_error=error,
            price_width2=weight**2 * self.price_width2,
            norm_a=opnorm_upper_bound(across, error)
            if gram is None
            else opnorm_upper_bound_fast(gram, across.shape[1], error),
            gram=gram,
            joined=None if self.beside is None else Joined.of(across, self.beside, error),
            quartic_price=math.inf,
        )

    @cached_property
    def raised(self) -> torch.Tensor:
        """The polynomial at β = 0 without its κ-term, raised by what it can exceed its chord by."""
        return self.square + self.width2 * self.slope * self.bend

    @cached_property
    def raised_quartic(self) -> torch.Tensor:
        """The same of κ times its κ-term."""
        return self.quartic + self.width2 * self.kappa_bend

    @cached_property
    def kappa_terms(self) -> torch.Tensor:
        """κ times the κ-terms of all grid points and of the two tails behind them, (n−1, G+2)."""
        return torch.cat([self.raised_quartic, self.low.kappa_term, self.high.kappa_term], 1)

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """Σ_j ‖row j‖² whatever the price, and Σ_j of the largest κ-term."""
        return float(self.most.sum()), float(self.kappa_terms.amax(1).sum())

    @cached_property
    def price_steps(self) -> torch.Tensor:
        """What λ times a squared distance bends within a step, 2·``price_width2``; in the tails
        nothing: (n−1, G+2).
        """
        return torch.nn.functional.pad(2 * self.price_width2, (0, 2))

    def times(self, scale: torch.Tensor | float) -> Problem:
        """The problem of Σ_j scale_j‖row j‖² with scale (n−1, 1)."""

        def tail(one: Tail) -> Tail:
            return Tail(scale * one.value, scale**2 * one.kappa_term)

        return replace(
            self,
            y2=scale * self.y2,
            most=scale * self.most,
            square=scale * self.square,
            linear=scale * self.linear,
            quartic=scale**2 * self.quartic,
            slope=scale * self.slope,
            kappa_bend=scale**2 * self.kappa_bend,
            low=tail(self.low),
            high=tail(self.high),
        )

    def scaled(
        self,
        scale: torch.Tensor,
        ceiling: float,
        own_scale: float,
        own_ceiling: float,
        extra: float,
    ) -> Problem:
        """The problem of Σ_j min(scale_j‖row j‖², ceiling) + min(own_scale‖row i‖², own_ceiling) +
        extra.
        """
        found = self.times(scale)
        return replace(
            found,
            most=found.most.clamp_max(ceiling),
            low=Tail(found.low.value.clamp_max(ceiling), found.low.kappa_term),
            high=Tail(found.high.value.clamp_max(ceiling), found.high.kappa_term),
            ceiling=ceiling,
            own_scale=own_scale,
            own_ceiling=own_ceiling,
            extra=extra,
        )

    def coarse(self, rows: int | None = None) -> Problem:
        """Every third grid point, for tuning; and about so many of the rows."""
        every = 1 if rows is None else max(1, len(self.p) // rows)
        some = {name: getattr(self, name)[::every, ::3].contiguous() for name in _GRIDS}
        if every > 1:
            some |= {name: getattr(self, name)[::every] for name in _COLUMNS}
            some["low"] = Tail(*(part[::every] for part in self.low))
            some["high"] = Tail(*(part[::every] for part in self.high))
            some["repeat"] = len(self.p) / max(1, len(some["ae"]))
        return replace(self, **some)

    def single(self) -> Problem:
        """The same in single precision, for tuning; as it is where numbers are too large or small
        for that.
        """
        sizes = (self.radius**2, float(self.most.sum()), self.norm_a**2, self.norm_y**2)
        if not all(1e-9 < size < 1e15 for size in sizes):
            return self
        some: dict[str, Any] = {name: getattr(self, name).float() for name in (*_GRIDS, *_COLUMNS)}
        some["blur"] = some["blur"].clamp_max(1e30)  # an infinite one has no distance to shorten
        some["low"] = Tail(*(part.float() for part in self.low))
        some["high"] = Tail(*(part.float() for part in self.high))
        return replace(self, **some)

    def with_rows(self, more: Problem) -> Problem:
        """The rows of both problems under one price; what belongs to row i stays as it is here."""
        both: dict[str, Any] = {
            name: torch.cat([getattr(self, name), getattr(more, name)])
            for name in (*_GRIDS, *_COLUMNS, "across")
        }
        low = Tail(*(torch.cat(pair) for pair in zip(self.low, more.low, strict=True)))
        high = Tail(*(torch.cat(pair) for pair in zip(self.high, more.high, strict=True)))
        across, beside = both["across"], more.beside
        error = self.across_error + more.across_error
        return replace(
            self,
            **both,
            low=low,
            high=high,
            gram=None,
            across_error=error,
            norm_a=opnorm_upper_bound(across, error),
            norm_y=math.hypot(self.norm_y, more.norm_y),
            beside=beside,
            norm_rest=self.norm_y,
            joined=None if beside is None else Joined.of(across, beside, error),
        )


#: The fields of a problem that have one number per row, and those with one column per grid point.
_COLUMNS = ("y2", "most", "ae", "blur")
_GRIDS = (
    "p",
    "a",
    "square",
    "linear",
    "quartic",
    "width2",
    "price_width2",
    "slope",
    "bend",
    "kappa_bend",
)
