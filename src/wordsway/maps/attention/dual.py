"""The dual of `wordsway.maps.attention.certificate`: a bound for all multipliers, and good ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch

from wordsway.maps.attention.problem import Problem

COARSE, SPLITS = 12, 3  # cells over β at first, and how often the worst ones are halved
GOLDEN = (math.sqrt(5) - 1) / 2
FEW_ROWS = 160  # that multipliers are tuned on


Multipliers = tuple[torch.Tensor, torch.Tensor]  # log λ and log κ of each coarse cell

#: The price of fourth powers starts at λ/QUARTIC_START², for moves a of about that size.
QUARTIC_START = 6.0
#: At first λ is e^−TAKEN_OVER times that of the squares alone.
TAKEN_OVER = 4.0


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


def lower_with_fourth_powers(problem: Problem, r: float, start: Multipliers) -> float:
    """The bound with λ, κ and ν tuned together; +∞ where the price of fourth powers is unknown."""
    if problem.quartic_price == math.inf:
        return math.inf
    edges = torch.linspace(-r, r, COARSE + 1, dtype=torch.float64, device=problem.p.device)
    lo, hi = edges[:-1], edges[1:]
    # One price at a time would stop at a kink: fourth powers first take over from the squares.
    log_lambda, log_kappa = start[0] - TAKEN_OVER, start[1]
    log_nu = start[0] - 2 * math.log(QUARTIC_START)
    few = problem.coarse(FEW_ROWS)
    for reach, steps in ((5.0, 11), (TAKEN_OVER, 11), (1.0, 6)):
        of_nu = partial(_others, few, r, lo, hi, log_lambda, log_kappa)
        log_nu = _golden(of_nu, log_nu, reach, steps)
        of_kappa = partial(_others, few, r, lo, hi, log_lambda, log_nu=log_nu)
        log_kappa = _golden(of_kappa, log_kappa, min(reach, 3.0), steps)
        of_lambda = partial(_others, few, r, lo, hi, log_kappa=log_kappa, log_nu=log_nu)
        log_lambda = _golden(of_lambda, log_lambda, reach, steps)
    value = _bound(problem, r, lo, hi, log_lambda, log_kappa, log_nu)
    grid = (lo + hi) / 2
    for _ in range(SPLITS):
        worst = value >= value.max() * 0.95
        middle = (lo[worst] + hi[worst]) / 2
        new_lo, new_hi = torch.cat([lo[worst], middle]), torch.cat([middle, hi[worst]])
        tuned = [
            _interpolate((new_lo + new_hi) / 2, grid, part)
            for part in (log_lambda, log_kappa, log_nu)
        ]
        fresh = _bound(problem, r, new_lo, new_hi, *tuned)
        fresh = torch.minimum(fresh, value[worst].repeat(2))
        lo, hi = torch.cat([lo[~worst], new_lo]), torch.cat([hi[~worst], new_hi])
        value = torch.cat([value[~worst], fresh])
    return float(value.max())


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
    log_nu: torch.Tensor | None = None,
) -> torch.Tensor:
    """The bound on Σ_{j≠i} ‖row j‖² of each cell."""
    return _price(problem, r, lo, hi, log_lambda, log_kappa, log_nu)[0]


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
    log_nu: torch.Tensor | None = None,
) -> torch.Tensor:
    """The tuned bound, or the trivial one where it is smaller: no row moves further than ‖y_j‖ + r,
    whatever the price.
    """
    others, own = _price(problem, r, lo, hi, log_lambda, log_kappa, log_nu)
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
    log_nu: torch.Tensor | None = None,
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
    value = value - lam * (distance**2 - 2 * q.price_width2)
    # The tails: shares below the first grid point and above the last one, at the distance of the
    # tail from the cell.
    under, over = (near - q.a[:, :1]).clamp_min(0), (q.a[:, -1:] - far).clamp_min(0)
    low = q.low.value + q.low.kappa_term / kap - lam * under**2
    high = q.high.value + q.high.kappa_term / kap - lam * over**2
    price = room * (log_lambda.exp() * q.norm_a**2 + log_kappa.exp() * q.norm_y**2)
    if log_nu is not None:
        # (νt⁴)″ = 12νt², with t at most a step beyond the grid point's own distance.
        nu = log_nu.exp()[:, None, None]
        ahead = distance + (8 * q.price_width2).sqrt()
        value = value - nu * (distance**4 - 12 * ahead**2 * q.price_width2)
        low, high = low - nu * under**4, high - nu * over**4
        price = price + log_nu.exp() * q.quartic_price * room**2
    value = value.amax(-1)
    value = torch.maximum(value, torch.maximum(low, high).squeeze(-1))

    square, along, rest = q.own_far
    times = q.own_times
    reached = square + 2 * times * torch.maximum(lo * along, hi * along)
    reached = reached + 2 * times * rest * room.sqrt() + (times * r) ** 2
    own = q.own_scale * reached.clamp_min(q.own_hull).clamp_max(q.own_cap)
    return price + q.repeat * value.sum(1), own.clamp_max(q.own_ceiling)


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
