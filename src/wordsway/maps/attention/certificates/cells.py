"""The dual function of `attention.certificates.one_matrix` over cells of β, prepared so that many
multipliers can be tried.

For a cell [lo, hi] of β and the multipliers λ, κ (and ν, where fourth powers are priced) it is

    room·price(λ, κ, ν) + Σ_j max over grid points of [c_j + q_j/κ + λ g_j − ν h_j]

with c_j + q_j/κ the polynomial of row j, raised by what it can exceed its chord by, and g_j, h_j
from the distance t_j of a grid point to the moves that the cell has anyway: 2w² − t² and t⁴ less
what t⁴ bends within a step. The tails, below the first grid point and above the last one, are two
columns more, at the distance of the tail from the cell. Along one multiplier all but one product
stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import final

import torch

from wordsway.maps.attention.certificates.curves import neighbour
from wordsway.maps.attention.certificates.problem import Problem
from wordsway.maps.rigorous import SAFE, U

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
        self,
        log_lambda: torch.Tensor,
        log_kappa: torch.Tensor,
        log_nu: torch.Tensor | None = None,
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
        self,
        log_lambda: torch.Tensor,
        log_kappa: torch.Tensor,
        log_nu: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The bound on all rows, or the trivial one where it is smaller: no row moves further than
        ‖y_j‖ + r, whatever the price.
        """
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
