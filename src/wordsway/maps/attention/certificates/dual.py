"""The dual of `attention.certificates.one_matrix`: a bound for all multipliers, and good ones.

For a cell [lo, hi] of β and the multipliers λ, κ (and ν, where fourth powers are priced) it is

    room·price(λ, κ, ν) + Σ_j max over grid points of [c_j + q_j/κ + λ g_j − ν h_j]

with c_j + q_j/κ the polynomial of row j, raised by what it can exceed its chord by, and g_j, h_j
from the distance t_j of a grid point to the moves that the cell has anyway: 2w² − t² and t⁴ less
what t⁴ bends within a step. The tails, below and above the grid, are two columns more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import final

import torch

from wordsway.maps.attention.certificates.problem import Problem, interpolate, neighbour
from wordsway.maps.rigorous import SAFE, U

COARSE, SPLITS = 12, 3  # cells over β at first, and how often the worst ones are halved
FINE_SPLITS = 5  # the same where fourth powers are priced
GOLDEN = (math.sqrt(5) - 1) / 2
AGAIN = (1.0, 5)  # how far, in how many steps, the best of several problems is tuned again
FEWER_ROWS = 80  # that they are roughly tuned on at first


Multipliers = tuple[torch.Tensor, torch.Tensor]  # log λ and log κ of each coarse cell

#: The price of fourth powers starts at λ/QUARTIC_START², for moves a of about that size.
QUARTIC_START = 6.0
#: At first λ is e^−TAKEN_OVER times that of the squares alone.
TAKEN_OVER = 4.0
#: Stages of tuning with fourth powers: approximate number of rows, range, number of steps.
FOURTH = ((160, 5.0, 11), (160, TAKEN_OVER, 11), (160, 1.0, 6), (320, 1.0, 6))


#: A multiplier's logarithm in every cell (C,) to the bound on Σ_{j≠i} ‖row j‖² there.
AlongOne = Callable[[torch.Tensor], torch.Tensor]


@final
class Cells:
    """Cells [lo, hi] of β ∈ [−r, r], C of them, for m rows on a grid of G points."""

    def __init__(self, problem: Problem, r: float, lo: torch.Tensor, hi: torch.Tensor) -> None:
        q = problem.rows
        self.problem, self.r, self.lo, self.hi = problem, r, lo, hi
        smallest = torch.where(lo * hi < 0, 0.0, torch.minimum(lo.abs(), hi.abs()))
        self.room = (r * r - smallest**2).clamp_min(0)
        half, middle = (hi - lo)[:, None, None] / 2, (hi + lo)[:, None, None] / 2
        # β A_j·e over the cell (C, m, 1), and what rounding may add to its distance from a.
        centre, spread = middle * q.ae, half * q.ae.abs() + q.blur
        self._distance = q.a.new_empty(len(lo), q.a.shape[0], q.a.shape[1] + 2)
        self._distance[..., :-2] = (q.a - centre).abs_().sub_(spread)
        self._distance[..., -2:-1] = centre - spread - q.a[:, :1]
        self._distance[..., -1:] = q.a[:, -1:] - centre - spread
        self._distance.clamp_min_(0)
        # The polynomial without its κ-term; the grid's f″ ≥ −2λ − |poly′||p″| − p⁰²p′²/κ.
        self._constant = torch.empty_like(self._distance)
        grid = torch.addcmul(problem.raised, middle, q.linear, value=2)
        self._constant[..., :-2] = grid.addcmul_(half, q.linear.abs(), value=2)
        self._constant[..., -2:-1] = q.low.value
        self._constant[..., -1:] = q.high.value
        self._of_lambda = torch.addcmul(
            problem.price_steps, self._distance, self._distance, value=-1
        )

    @cached_property
    def _of_nu(self) -> torch.Tensor:
        """(νt⁴)″ = 12νt², with t at most a step beyond the grid point's own distance."""
        width2 = self.problem.price_steps / 2
        ahead = self._distance + (8 * width2).sqrt()
        return 12 * ahead**2 * width2 - self._distance**4

    def others(
        self, log_lambda: torch.Tensor, log_kappa: torch.Tensor, log_nu: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The bound on Σ_{j≠i} ‖row j‖² of each cell (C,)."""
        return self.along_lambda(log_kappa, log_nu)(log_lambda)

    def along_lambda(self, log_kappa: torch.Tensor, log_nu: torch.Tensor | None = None) -> AlongOne:
        """The same as a function of log λ."""
        base = self._with_fourth(self._polynomial(log_kappa), log_nu)
        return lambda log_lambda: (
            self._price(log_lambda, log_kappa, log_nu)
            + self._largest(torch.addcmul(base, _each(log_lambda), self._of_lambda))
        )

    def along_kappa(self, log_lambda: torch.Tensor, log_nu: torch.Tensor | None = None) -> AlongOne:
        """The same as a function of log κ."""
        if self.problem.ceiling < math.inf:  # cuts the polynomial off
            return lambda log_kappa: self.others(log_lambda, log_kappa, log_nu)
        base = torch.addcmul(self._constant, _each(log_lambda), self._of_lambda)
        base = self._with_fourth(base, log_nu)
        return lambda log_kappa: (
            self._price(log_lambda, log_kappa, log_nu)
            + self._largest(torch.addcmul(base, _each(-log_kappa), self.problem.kappa_terms))
        )

    def along_nu(self, log_lambda: torch.Tensor, log_kappa: torch.Tensor) -> AlongOne:
        """The same as a function of log ν."""
        base = torch.addcmul(self._polynomial(log_kappa), _each(log_lambda), self._of_lambda)
        return lambda log_nu: (
            self._price(log_lambda, log_kappa, log_nu)
            + self._largest(torch.addcmul(base, _each(log_nu), self._of_nu))
        )

    def bound(
        self, log_lambda: torch.Tensor, log_kappa: torch.Tensor, log_nu: torch.Tensor | None = None
    ) -> torch.Tensor:
        """The bound on all rows, of which row j moves by ‖y_j‖ + r at most, whatever the price."""
        q = self.problem
        others = self.others(log_lambda, log_kappa, log_nu)
        others = (others + self._rounding(log_kappa)).clamp_max(q.sizes[0] * SAFE)
        own = q.own.bound(self.lo, self.hi, self.room, self.r) + q.extra
        return others + own if q.finish is None else q.finish(others, own, self.lo, self.hi)

    def _rounding(self, log_kappa: torch.Tensor) -> torch.Tensor:
        """The rounding error of the rows' maxima (C,), the price apart, which `SAFE` covers.

        A grid point whose value is not negative costs at most its polynomial, which is at most
        2‖row j‖² whatever the price, plus its κ-term: each of some 64 roundings of it, of products
        of length d and of a sum over rows, is relative to that.
        """
        rows, terms = self.problem.sizes
        roundings = 64 + sum(self.problem.prices.across.shape)
        return 2 * roundings * U * (2 * rows + (-log_kappa).exp() * terms)

    def _polynomial(self, log_kappa: torch.Tensor) -> torch.Tensor:
        q = self.problem
        value = torch.addcmul(self._constant, _each(-log_kappa), q.kappa_terms)
        if q.ceiling < math.inf:
            # Between two grid points the polynomial is at most the larger of the two, and the
            # ceiling: a constant, from which the price is taken as before.
            grid = value[..., :-2]
            beside = torch.maximum(grid, torch.maximum(neighbour(grid, 1), neighbour(grid, -1)))
            value[..., :-2] = beside.clamp_max_(q.ceiling)
        return value

    def _price(
        self, log_lambda: torch.Tensor, log_kappa: torch.Tensor, log_nu: torch.Tensor | None
    ) -> torch.Tensor:
        prices = self.problem.prices
        price = self.room * prices(log_lambda, log_kappa)
        return price if log_nu is None else price + log_nu.exp() * prices.fourth * self.room**2

    def _with_fourth(self, base: torch.Tensor, log_nu: torch.Tensor | None) -> torch.Tensor:
        return base if log_nu is None else torch.addcmul(base, _each(log_nu), self._of_nu)

    def _largest(self, value: torch.Tensor) -> torch.Tensor:
        return self.problem.repeat * value.amax(-1).sum(1)


def _each(log_multiplier: torch.Tensor) -> torch.Tensor:
    """A multiplier in every cell, for all rows and grid points: (C, 1, 1)."""
    return log_multiplier.exp()[:, None, None]


def minimise_duals(
    problems: Sequence[Problem], r: float, warm: Multipliers | None
) -> tuple[float, Multipliers, int]:
    """The largest bound over the cells of β ∈ [−r, r] of the most promising of several problems
    that bound the same, its tuned multipliers, and its number. With a start, the multipliers of
    another row (``warm``), only the cells that matter are tuned.
    """
    found = []
    for number, problem in enumerate(problems):
        if number and (problem.prices.joined is None) != (
            problems[number - 1].prices.joined is None
        ):
            warm = None  # prices of another kind are no start
        few, warm = _tuned(problem, r, warm)
        # Their values tell problems apart, and nothing else.
        value = largest(few, r, _cast(warm, few.rows.p)) if len(problems) > 1 else 0.0
        found.append((value if value == value else math.inf, warm))
    best = min(range(len(found)), key=lambda number: found[number][0])
    tuned = found[best][1]
    if len(problems) > 1:
        few = problems[best].coarse().single()
        again = tune(few, r, *cells(r, few.rows.p), _cast(tuned, few.rows.p), (AGAIN,))
        tuned = _cast(again, tuned[0])
    return largest(problems[best], r, tuned), tuned, best


def cells(r: float, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The ends of the coarse cells of β ∈ [−r, r]."""
    edges = torch.linspace(-r, r, COARSE + 1, dtype=like.dtype, device=like.device)
    return edges[:-1], edges[1:]


def _tuned(problem: Problem, r: float, warm: Multipliers | None) -> tuple[Problem, Multipliers]:
    """Good multipliers of each coarse cell, and the problem that they were tuned on: single
    precision and every third grid point are enough, since all multipliers are valid.
    """
    few = problem.coarse().single()
    lo, hi = cells(r, few.rows.p)
    if warm is None:
        start = _cast(first_multipliers(problem, r), few.rows.p)
        start = tune(problem.coarse(FEWER_ROWS).single(), r, lo, hi, start, ((4.5, 10),))
        found = tune(few, r, lo, hi, start, ((1.5, 7),))
    else:
        found = tune_where_it_matters(few, few, r, lo, hi, _cast(warm, few.rows.p))
    return few, _cast(found, problem.rows.p)


def _cast(multipliers: Multipliers, like: torch.Tensor) -> Multipliers:
    return multipliers[0].to(like.dtype), multipliers[1].to(like.dtype)


def first_multipliers(problem: Problem, r: float) -> Multipliers:
    """Where tuning starts: the sizes of λ and κ that suit typical rows, in every cell."""
    like = cells(r, problem.rows.p)[0]
    rows = problem.rows
    count = max(1, len(rows.y2))
    log_lambda = math.log((r * r + float(rows.y2.sum()) / count) / 20 + 1e-30)
    turn = len(rows.p) / 5 / (r * r * problem.prices.norm_y**2 + 1e-30)
    log_kappa = 0.5 * math.log(turn + 1e-30)
    return torch.full_like(like, log_lambda), torch.full_like(like, log_kappa)


def tune_where_it_matters(
    problem: Problem,
    judge: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    start: Multipliers,
) -> Multipliers:
    """Tune λ again, on ``problem``, in those cells whose bound by ``judge`` is near the largest."""
    log_lambda, log_kappa = start
    value = Cells(judge, r, lo, hi).bound(*start)
    matter = value >= 0.8 * value.max()
    few = Cells(problem, r, lo[matter], hi[matter])
    tuned = golden(few.along_lambda(log_kappa[matter]), log_lambda[matter], 0.5, 3)
    return log_lambda.masked_scatter(matter, tuned), log_kappa


def largest(
    problem: Problem, r: float, multipliers: Sequence[torch.Tensor], splits: int = SPLITS
) -> float:
    """The largest bound over the cells of β; log ν may stand behind log λ and log κ."""
    return float(halved_cells(problem, r, multipliers, splits)[2].max())


def halved_cells(
    problem: Problem, r: float, multipliers: Sequence[torch.Tensor], splits: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The ends of the cells of β, the worst of which are halved a few times, and their bounds."""
    lo, hi = cells(r, problem.rows.p)
    grid = (lo + hi) / 2
    value = Cells(problem, r, lo, hi).bound(*multipliers)
    for _ in range(splits):
        worst = value >= value.max() * 0.95
        middle = (lo[worst] + hi[worst]) / 2
        new_lo, new_hi = torch.cat([lo[worst], middle]), torch.cat([middle, hi[worst]])
        at = (new_lo + new_hi) / 2
        tuned = [interpolate(at, grid, part) for part in multipliers]
        few = (part.split(2 * COARSE) for part in (new_lo, new_hi, *tuned))  # as memory allows
        parts = zip(*few, strict=True)
        fresh = torch.cat([Cells(problem, r, a, b).bound(*more) for a, b, *more in parts])
        # A half of a cell inherits the cell's bound where its own is no better.
        fresh = torch.minimum(fresh, value[worst].repeat(2))
        lo, hi, value = (
            torch.cat([lo[~worst], new_lo]),
            torch.cat([hi[~worst], new_hi]),
            torch.cat([value[~worst], fresh]),
        )
    return lo, hi, value


def lower_with_fourth_powers(
    problem: Problem, r: float, start: Multipliers
) -> tuple[float, Sequence[torch.Tensor]]:
    """The bound with λ, κ and ν tuned together, and their logarithms; +∞ where B is unknown."""
    if problem.prices.fourth == math.inf:
        return math.inf, start
    like = problem.coarse(FOURTH[0][0]).single().rows.p
    lo, hi = cells(r, like)
    # One price at a time would stop at a kink: fourth powers first take over from the squares.
    log_lambda, log_kappa = _cast((start[0] - TAKEN_OVER, start[1]), like)
    log_nu = log_lambda + TAKEN_OVER - 2 * math.log(QUARTIC_START)
    for rows, reach, steps in FOURTH:
        few = Cells(problem.coarse(rows).single(), r, lo, hi)
        log_nu = golden(few.along_nu(log_lambda, log_kappa), log_nu, reach, steps)
        of_kappa = few.along_kappa(log_lambda, log_nu)
        log_kappa = golden(of_kappa, log_kappa, min(reach, 3.0), steps)
        log_lambda = golden(few.along_lambda(log_kappa, log_nu), log_lambda, reach, steps)
    tuned = [part.to(problem.rows.p.dtype) for part in (log_lambda, log_kappa, log_nu)]
    return largest(problem, r, tuned, FINE_SPLITS), tuned


def tune(
    problem: Problem,
    r: float,
    lo: torch.Tensor,
    hi: torch.Tensor,
    start: Multipliers,
    schedule: tuple[tuple[float, int], ...],
) -> Multipliers:
    """Golden-section searches over log λ and log κ in turn, for every cell at once."""
    log_lambda, log_kappa = start
    prepared = Cells(problem, r, lo, hi)
    for reach, steps in schedule:
        log_lambda = golden(prepared.along_lambda(log_kappa), log_lambda, reach, steps)
        log_kappa = golden(prepared.along_kappa(log_lambda), log_kappa, reach, steps)
    return log_lambda, log_kappa


def golden(
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
