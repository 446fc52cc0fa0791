"""Certificates for RAF and ReLU-RAF: rows can only be attracted at a price.

Fix word i. With m_j the mean of row j over the *other* words, p_j its share on word i and y_j = x_i
− m_j,

    φ_j(X^i(Δ)) − φ_j(X) = (p_j − p⁰_j) y_j + p_jΔ,        p_j = p_j(a_j),  a = AΔ,  A_j = Wᵀx_j/√d.

Split Δ = βe + Δ⊥ along e = (x_i − m̄)/‖·‖, and write A, Y (rows y_j) without their e-component as
A⊥, Y⊥. With ‖Δ‖ = r,

    ‖row j‖² = (p−p⁰)²‖y‖² + 2p(p−p⁰)(β y·e + η_j) + p²r²,     a_j = βA_j·e + (A⊥Δ⊥)_j,     η_j =
    (Y⊥Δ⊥)_j.

For any λ, κ > 0, Σ_j λ(A⊥Δ⊥)_j² + κη_j² ≤ (r² − β²)(λ‖A⊥‖² + κ‖Y⊥‖²) is the price, so Lagrangian
duality makes the rows separate: with 2p(p−p⁰)η − κη² ≤ p²(p−p⁰)²/κ,

    Σ_{j≠i} ‖row j‖² ≤ (r² − β²)(λ‖A⊥‖² + κ‖Y⊥‖²)
                       + Σ_{j≠i} max_a [(p−p⁰)²‖y‖² + 2p(p−p⁰)β y·e + p²r² + p²(p−p⁰)²/κ − λ(a −
                       βA_j·e)²].

Every λ and κ give a valid bound; they are tuned for each cell of a grid over β. So does every
positive weight of the rows, with A_j and a_j multiplied by it: softmax rows that need a longer move
to be won over get a smaller one, which where rows are many compared with d is worth a tenth of the
bound. Between grid points nothing is left out: β enters linearly or through distances to an
interval, and in a the function f obeys f″ ≥ −M, so that it exceeds its chord by at most M·width²/8.
Row i lies in the hull of the words: ‖row i‖ ≤ max(‖x_i + Δ − φ_i‖, max_l ‖x_l − φ_i‖), and for ReLU
attention `wordsway.maps.attention.silence` says how far row i can turn to its own word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from wordsway.maps.attention.scores import ReluScores
from wordsway.maps.attention.shares import neighbour, relu_curve, softmax_curve
from wordsway.maps.attention.silence import largest_own_score, own_row_above
from wordsway.maps.certificate import Certificate, norm_above
from wordsway.progress import Progress, silent

if TYPE_CHECKING:
    from wordsway.maps.attention.view import AttentionView

COARSE, SPLITS = 12, 3  # cells over β at first, and how often the worst ones are halved
TILTS = (0.0, 0.5, 1.0, 1.5)  # how strongly rows that are hard to win over are discounted
GOLDEN = (math.sqrt(5) - 1) / 2
SAFE = 1 + 1e-9  # rounding in a sum of n positive terms, generously


def certify(
    view: AttentionView, rows: Sequence[int], radius: float, progress: Progress = silent
) -> Certificate:
    """An exact certificate for each row; the view must be in float64."""
    relu = isinstance(view.kind, ReluScores)
    most = largest_own_score(view) if relu else math.inf
    tuned: Multipliers | None = None
    tilts: tuple[float, ...] = (0.0,) if relu else TILTS
    upper: list[float] = []
    for i in rows:
        # The first word tries every way to weight the rows; the others follow the best of them.
        problem = _Problem.of(view, i, radius, most)
        total, start, chosen = math.inf, tuned, tilts[0]
        for tilt in tilts:
            value, start = _dual(problem.tilted(tilt) if tilt else problem, radius, start)
            if not value >= total:  # also where it is not a number: the hull below takes over then
                total, tuned, chosen = value, start, tilt
        tilts = (chosen,)
        # However large or small the numbers: every row ends up in the hull of the words, the moved
        # one and zero.
        longest = max(float(view.X.norm(dim=1).max()), float(view.X[i].norm()) + radius)
        hull = float((view.phi.norm(dim=1) + longest).norm())
        progress("certifying", len(upper) + 1, len(rows))
        upper.append(
            (min(math.sqrt(total * SAFE), hull) if math.isfinite(total) else hull) / view.norm
        )
    return Certificate.exact(torch.tensor(upper, dtype=torch.float64))


@dataclass(frozen=True)
class _Problem:
    """All the dual needs of word i: rows j ≠ i (n−1 of them), G grid points each."""

    p: torch.Tensor  # shares at the grid points (n−1, G)
    a: torch.Tensor  # the moves that give them, times the row's weight (n−1, G)
    p0: torch.Tensor  # shares before (n−1, 1)
    y2: torch.Tensor  # ‖y_j‖² (n−1, 1)
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
    low: tuple[
        torch.Tensor, torch.Tensor
    ]  # the polynomial below the first grid point at most, and its κ-term (n−1, 1)
    high: tuple[torch.Tensor, torch.Tensor]  # the same above the last one
    norm_a: float
    norm_y: float
    own_far: tuple[float, float, float]  # ‖x_i−φ_i‖², its e-component, the norm of the rest
    own_hull: float  # max_l ‖x_l − φ_i‖², and ‖φ_i‖² where a row may fall silent
    own_cap: float  # another bound of ‖row i‖², +∞ where there is none

    @staticmethod
    def of(view: AttentionView, i: int, radius: float, most_own: float) -> _Problem:
        X, n = view.X, len(view.X)
        rows = torch.arange(n, device=X.device) != i
        x, s = X[i], view.s[rows]
        masked = s.clone()
        masked[:, i] = float("-inf")
        means = view.kind.attention(masked) @ X if n > 1 else X.new_zeros(0, X.shape[1])
        y = x - means
        e = y.mean(0) if n > 1 else x
        e = e / e.norm().clamp_min(torch.finfo(e.dtype).tiny)
        A = view.keys[rows]
        ae, ye = A @ e, y @ e
        far = x - view.phi[i]
        along = float(far @ e)
        relu = isinstance(view.kind, ReluScores)
        curve = relu_curve if relu else softmax_curve
        p, a, width, bend, rise, trivial, below, beyond = curve(view, rows, i, radius)
        across = A - torch.outer(ae, e)
        p0, y2, others = view.P[rows, i][:, None], (y * y).sum(1, keepdim=True), X[rows]
        cross = p * (p - p0)
        small, most = torch.maximum(p[:, :1], p0), (y2.sqrt() + radius) ** 2
        top = torch.maximum(
            torch.maximum(p, neighbour(p, -1)), p0
        )  # the largest share around each grid point
        return _Problem(
            p=p,
            a=a,
            p0=p0,
            y2=y2,
            ae=ae[:, None],
            across=across,
            square=torch.where(trivial, most, (p - p0) ** 2 * y2 + p * p * radius * radius),
            linear=torch.where(trivial, 0.0, cross * ye[:, None]),
            quartic=torch.where(trivial, 0.0, cross**2),
            width2=width**2 / 8,
            slope=top * (2 * y2 + 4 * radius * ye.abs()[:, None] + 2 * radius * radius),
            bend=bend,
            kappa_bend=4 * top * bend + p0**2 * rise,
            # Below its grid, a ReLU share is exactly 0.
            low=_tail(below, p0**2 * y2, torch.zeros_like(p0))
            if relu
            else _tail(below, small**2 * most, small**4),
            high=_tail(beyond, most, torch.ones_like(p0)),
            price_width2=width**2 / 8,
            norm_a=norm_above(across),
            norm_y=norm_above(y - torch.outer(ye, e)),
            own_far=(float(far @ far), along, float((far - along * e).norm())),
            own_hull=float(
                torch.cat([others, X.new_zeros(1, X.shape[1])] if relu else [others])
                .sub(view.phi[i])
                .norm(dim=1)
                .max()
            )
            ** 2
            if n > 1 or relu
            else 0.0,
            own_cap=own_row_above(view, i, radius, most_own) if relu else math.inf,
        )

    def tilted(self, tilt: float) -> _Problem:
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

    def coarse(self) -> _Problem:
        """Every third grid point, for tuning."""
        grids = (
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
        return replace(self, **{name: getattr(self, name)[:, ::3].contiguous() for name in grids})


def _tail(
    reachable: torch.Tensor, value: torch.Tensor, kappa_term: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a tail adds where Δ can reach it, −∞ elsewhere."""
    return torch.where(reachable, value, -math.inf), torch.where(reachable, kappa_term, 0.0)


Multipliers = tuple[torch.Tensor, torch.Tensor]  # log λ and log κ of each coarse cell


def _dual(problem: _Problem, r: float, warm: Multipliers | None) -> tuple[float, Multipliers]:
    """The largest bound over the cells of β ∈ [−r, r], the worst cells halved, with tuned
    multipliers.

    Multipliers of another word serve as a start; then only the cells that matter are tuned.
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
    problem: _Problem,
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
        log_lambda = _golden(
            lambda at: _price(problem, r, lo, hi, at, log_kappa)[0], log_lambda, reach, steps
        )
        log_kappa = _golden(
            lambda at: _price(problem, r, lo, hi, log_lambda, at)[0], log_kappa, reach, steps
        )
    return log_lambda, log_kappa


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
    problem: _Problem,
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
    return torch.minimum(others, ((problem.y2.sqrt() + r) ** 2).sum()) + own


def _price(
    problem: _Problem,
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
    value = (value - lam * (distance**2 - 2 * q.price_width2)).amax(-1)
    # The tails: shares below the first grid point and above the last one, at the distance of the
    # tail from the cell.
    low = q.low[0] + q.low[1] / kap - lam * (near - q.a[:, :1]).clamp_min(0) ** 2
    high = q.high[0] + q.high[1] / kap - lam * (q.a[:, -1:] - far).clamp_min(0) ** 2
    value = torch.maximum(value, torch.maximum(low, high).squeeze(-1))
    price = room * (log_lambda.exp() * q.norm_a**2 + log_kappa.exp() * q.norm_y**2)

    square, along, rest = q.own_far
    reached = square + 2 * torch.maximum(lo * along, hi * along) + 2 * rest * room.sqrt() + r * r
    own = reached.clamp_min(q.own_hull).clamp_max(q.own_cap)
    return price + value.sum(1), own


def _interpolate(at: torch.Tensor, grid: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Piecewise linear interpolation; constant beyond the ends."""
    right = torch.searchsorted(grid, at).clamp(1, len(grid) - 1)
    share = ((at - grid[right - 1]) / (grid[right] - grid[right - 1])).clamp(0, 1)
    return values[right - 1] * (1 - share) + values[right] * share
