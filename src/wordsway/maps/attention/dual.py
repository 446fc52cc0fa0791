"""The dual of `wordsway.maps.attention.certificate`: a bound for all multipliers, and good ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from wordsway.maps.attention.curves import Tail
from wordsway.maps.certificate import norm_above

COARSE, SPLITS = 12, 3  # cells over β at first, and how often the worst ones are halved
GOLDEN = (math.sqrt(5) - 1) / 2


#: finish(others, own, lo, hi) of each cell of β, growing in others and own.
Finish = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Problem:
    """All the dual needs of row i: rows j ≠ i (n−1 of them), G grid points each."""

    radius: float  # of the ball for Δ
    p: torch.Tensor  # shares at the grid points (n−1, G)
    a: torch.Tensor  # the moves that give them, times the row's weight (n−1, G)
    y2: torch.Tensor  # ‖y_j‖² (n−1, 1)
    most: torch.Tensor  # ‖row j‖² whatever the price (n−1, 1)
    ae: torch.Tensor  # A_j·e, times the row's weight (n−1, 1)
    across: torch.Tensor  # A_j without its e-component, unweighted (n−1, d)
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
    finish: Finish | None = None  # from the bounds of a cell to what is certified; their sum

    def tilted(self, tilt: float) -> Problem:
        """The same problem with weighted rows: a power of the move that would win 95 % of the row,
        largest where it is shortest.
        """
        # At any grid point a = logit p − logit p⁰, so the move that gives a share of 95 % follows
        # from the first one.
        need = (math.log(0.95 / 0.05) - torch.logit(self.p[:, :1]) + self.a[:, :1]).clamp_min(1.0)
        weight = (need.mean() / need) ** tilt
        return replace(
            self,
            a=weight * self.a,
            ae=weight * self.ae,
            price_width2=weight**2 * self.width2,
            norm_a=norm_above(weight * self.across),
        )

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

    def coarse(self) -> Problem:
        """Every third grid point, for tuning."""
        return replace(self, **{name: getattr(self, name)[:, ::3].contiguous() for name in _GRIDS})

    def with_rows(self, more: Problem) -> Problem:
        """The rows of both problems under one price; what belongs to row i stays as it is here."""
        both: dict[str, Any] = {
            name: torch.cat([getattr(self, name), getattr(more, name)])
            for name in (*_GRIDS, "y2", "most", "ae", "across")
        }
        low = Tail(*(torch.cat(pair) for pair in zip(self.low, more.low, strict=True)))
        high = Tail(*(torch.cat(pair) for pair in zip(self.high, more.high, strict=True)))
        return replace(self, **both, low=low, high=high, norm_a=norm_above(both["across"]))


#: The fields of a problem that have one column per grid point.
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

Multipliers = tuple[torch.Tensor, torch.Tensor]  # log λ and log κ of each coarse cell


def minimise_dual(
    problem: Problem, r: float, warm: Multipliers | None
) -> tuple[float, Multipliers]:
    """The largest bound over the cells of β ∈ [−r, r], the worst cells halved, with tuned
    multipliers.

    Multipliers of another row serve as a start; then only the cells that matter are tuned.
    """
    edges = torch.linspace(-r, r, COARSE + 1, dtype=torch.float64, device=problem.p.device)
    lo, hi = edges[:-1], edges[1:]
    grid = (lo + hi) / 2
    if warm is None:
        log_lambda = torch.full_like(
            lo, math.log((r * r + float(problem.y2.sum()) / max(1, len(problem.y2))) / 20 + 1e-30)
        )
        log_kappa = torch.full_like(
            lo, 0.5 * math.log(len(problem.p) / 5 / (r * r * problem.norm_y**2 + 1e-30) + 1e-30)
        )
        log_lambda, log_kappa = _tune(
            problem, r, lo, hi, (log_lambda, log_kappa), ((4.5, 10), (1.5, 7))
        )
    else:
        value = _bound(problem, r, lo, hi, *warm)
        matter = value >= 0.8 * value.max()
        coarse, kappa, a, b = problem.coarse(), warm[1][matter], lo[matter], hi[matter]
        tuned = _golden(lambda at: _price(coarse, r, a, b, at, kappa)[0], warm[0][matter], 0.5, 3)
        log_lambda, log_kappa = warm[0].masked_scatter(matter, tuned), warm[1]
    value = _bound(problem, r, lo, hi, log_lambda, log_kappa)
    for _ in range(SPLITS):
        worst = value >= value.max() * 0.95
        middle = (lo[worst] + hi[worst]) / 2
        new_lo, new_hi = torch.cat([lo[worst], middle]), torch.cat([middle, hi[worst]])
        at = (new_lo + new_hi) / 2
        fresh = _bound(
            problem,
            r,
            new_lo,
            new_hi,
            _interpolate(at, grid, log_lambda),
            _interpolate(at, grid, log_kappa),
        )
        # A half of a cell inherits the cell's bound where its own is no better.
        fresh = torch.minimum(fresh, value[worst].repeat(2))
        lo, hi, value = (
            torch.cat([lo[~worst], new_lo]),
            torch.cat([hi[~worst], new_hi]),
            torch.cat([value[~worst], fresh]),
        )
    return float(value.max()), (log_lambda, log_kappa)


def _tune(
    problem: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    start: Multipliers,
    schedule: tuple[tuple[float, int], ...],
) -> Multipliers:
    """Golden-section searches over log λ and log κ in turn, for every cell at once, on a coarser
    grid.

    The bound is convex in λ and in κ; any pair is valid, so nothing here needs to be exact.
    """
    problem, (log_lambda, log_kappa) = problem.coarse(), start
    for reach, steps in schedule:
        of_lambda = partial(_others, problem, r, lo, hi, log_kappa=log_kappa)
        log_lambda = _golden(of_lambda, log_lambda, reach, steps)
        of_kappa = partial(_others, problem, r, lo, hi, log_lambda)
        log_kappa = _golden(of_kappa, log_kappa, reach, steps)
    return log_lambda, log_kappa


def _others(
    problem: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    log_lambda: torch.Tensor,
    log_kappa: torch.Tensor,
) -> torch.Tensor:
    """The bound on Σ_{j≠i} ‖row j‖² of each cell."""
    return _price(problem, r, lo, hi, log_lambda, log_kappa)[0]


def _golden(
    function: Callable[[torch.Tensor], torch.Tensor], centre: torch.Tensor, reach: float, steps: int
) -> torch.Tensor:
    """Elementwise golden-section minimisation on [centre − reach, centre + reach]."""
    left, right = centre - reach, centre + reach
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    fa, fb = function(a), function(b)
    for _ in range(steps):
        lower = fa < fb
        left, right = torch.where(lower, left, a), torch.where(lower, b, right)
        probe = torch.where(lower, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        value = function(probe)
        a, b, fa, fb = (
            torch.where(lower, probe, b),
            torch.where(lower, a, probe),
            torch.where(lower, value, fb),
            torch.where(lower, fa, value),
        )
    return torch.where(fa < fb, a, b)


def _bound(
    problem: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    log_lambda: torch.Tensor,
    log_kappa: torch.Tensor,
) -> torch.Tensor:
    """The tuned bound, or the trivial one where it is smaller: no row moves further than ‖y_j‖ + r,
    whatever the price.
    """
    others, own = _price(problem, r, lo, hi, log_lambda, log_kappa)
    others = torch.minimum(others, problem.most.sum())
    own = own + problem.extra
    return others + own if problem.finish is None else problem.finish(others, own, lo, hi)


def _price(
    problem: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    log_lambda: torch.Tensor,
    log_kappa: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """For each cell [lo, hi] of β: the bounds on Σ_{j≠i} ‖row j‖² and on ‖row i‖²."""
    q = problem
    lam, kap = log_lambda.exp()[:, None, None], log_kappa.exp()[:, None, None]
    smallest = torch.where(lo * hi < 0, 0.0, torch.minimum(lo.abs(), hi.abs()))
    room = (r * r - smallest**2).clamp_min(0)
    ends = torch.stack([lo, hi])[..., None, None]  # (2, C, 1, 1)
    near, far = (ends * q.ae).amin(0), (ends * q.ae).amax(0)  # β A_j·e over the cell (C, n−1, 1)

    # Grid points, raised by what the function can exceed its chord by within a step: f″ ≥ −2λ −
    # |poly′||p″| − p⁰²p′²/κ.
    distance = torch.maximum(q.a - far, near - q.a).clamp_min(0)
    linear = 2 * torch.maximum(ends[0] * q.linear, ends[1] * q.linear)
    value = (
        (q.square + q.width2 * q.slope * q.bend)
        + linear
        + (q.quartic + q.width2 * q.kappa_bend) / kap
    )
    if q.ceiling < math.inf:
        # Between two grid points the polynomial is at most the larger of the two, and the ceiling:
        # a constant, from which the price is taken as before.
        beside = torch.maximum(value, torch.maximum(_shifted(value, 1), _shifted(value, -1)))
        value = beside.clamp_max(q.ceiling)
    value = (value - lam * (distance**2 - 2 * q.price_width2)).amax(-1)
    # The tails: shares below the first grid point and above the last one, at the distance of the
    # tail from the cell.
    low = q.low.value + q.low.kappa_term / kap - lam * (near - q.a[:, :1]).clamp_min(0) ** 2
    high = q.high.value + q.high.kappa_term / kap - lam * (q.a[:, -1:] - far).clamp_min(0) ** 2
    value = torch.maximum(value, torch.maximum(low, high).squeeze(-1))
    price = room * (log_lambda.exp() * q.norm_a**2 + log_kappa.exp() * q.norm_y**2)

    square, along, rest = q.own_far
    times = q.own_times
    reached = square + 2 * times * torch.maximum(lo * along, hi * along)
    reached = reached + 2 * times * rest * room.sqrt() + (times * r) ** 2
    own = q.own_scale * reached.clamp_min(q.own_hull).clamp_max(q.own_cap)
    return price + value.sum(1), own.clamp_max(q.own_ceiling)


def _shifted(value: torch.Tensor, by: int) -> torch.Tensor:
    """The neighbour's value along the grid (the last axis); the ends repeat."""
    if by > 0:
        return torch.cat([value[..., :1], value[..., :-1]], -1)
    return torch.cat([value[..., 1:], value[..., -1:]], -1)


def _interpolate(at: torch.Tensor, grid: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Piecewise linear interpolation; constant beyond the ends."""
    right = torch.searchsorted(grid, at).clamp(1, len(grid) - 1)
    share = ((at - grid[right - 1]) / (grid[right] - grid[right - 1])).clamp(0, 1)
    return values[right - 1] * (1 - share) + values[right] * share
