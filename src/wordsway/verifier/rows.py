"""Upper bounds of one row's change, minus the price of its move, over a cell of β:

    max over β in [lo, hi] and u of  F(p(u), β) − λ(c·t)² − ν(c·t)⁴,

F, p(u) and t are those of docs/statements/verifier.md, "One-dimensional maxima".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wordsway.proof_format import Array
from wordsway.verifier.balls import Balls, arb, exact, float_above, require, root, square

#: Points of u to begin with, their distance for σ, and most intervals halved.
POINTS, STEP, HALVED = 12, 1.5, 300
#: Tolerances of rows relative to their caps, tried in turn; how often a cell is halved.
TOLERANCES, DEPTH = (1e-2, 1e-3, 1e-4, 1e-5), 14


class ProofCell(NamedTuple):
    """β (or τ) in [lo, hi], with the multipliers used there."""

    lo: float
    hi: float
    lam: float
    kappa: float
    nu: float


@dataclass
class Row:
    """One row: its weight c, its score ``start`` = u⁰ and share ``before`` = p⁰ without a move, R
    for ReLU scores, A·e and the length ``across`` of the rest of A, a bound ``cap`` of F, and the
    ``numbers`` of F: square, own, plain, gain, cross, tilt, quartic, quadratic.
    """

    weight: arb
    start: arb
    before: arb
    rest: arb | None
    ae: arb
    across: arb
    cap: arb
    numbers: tuple[Any, ...]
    points: dict[float, list[arb]] = field(default_factory=dict)

    @classmethod
    def each(cls: Any, *parts: Any) -> list[Row]:
        """A row for each weight, given arrays or numbers for all of them."""
        arrays: Any = np.broadcast_arrays(*(np.array(part, object) for part in parts))
        return [cls(*row[:7], row[7:]) for row in zip(*arrays, strict=True)]

    def point(self, u: float) -> list[arb]:
        """The share at u, and the parts of F: without β and κ, times β, times 1/κ."""
        if u not in self.points:
            w = arb(max(u, 0.0))
            p = 1 / (1 + (-arb(u)).exp()) if self.rest is None else w / (self.rest + w)
            q, (first, own, plain, gain, cross, tilt, *of_kappa) = p - self.before, self.numbers
            pq, gained = p * q, abs(q)
            fixed = first * q * q + own * p * p + plain * p + gain * gained
            of_kappa = of_kappa[0] * pq * pq + of_kappa[1] * q * q
            self.points[u] = [p, fixed, 2 * (cross * pq + tilt * gained), of_kappa]
        return self.points[u]

    def bends(self, u0: float, u1: float) -> tuple[arb, arb]:
        """Upper bounds of p′ and |p″| on [u0, u1]; for ReLU not across its kink."""
        if self.rest is None:  # p′ = p(1 − p), |p″| ≤ p′ and |p″| ≤ 0.0963
            rise = self.point(u1)[0].min(1 - self.point(u0)[0]).min(arb(0.25))
            return rise, rise.min(arb(0.0963))
        if u1 <= 0:
            return arb(0), arb(0)
        total = self.rest + arb(u0) if u0 >= 0 else arb("nan")
        return self.rest / total**2, 2 * self.rest / total**3

    def breaks(self, low: float, high: float) -> list[float]:
        """Points of u that cover [low, high], to begin with; 0 is among them, the kink of ReLU."""
        inner = [STEP * (k - POINTS // 2) for k in range(POINTS + 1)]
        if self.rest is not None:  # shares at equal distances
            inner = sorted({float(self.rest.mid()) * k / (POINTS - k) for k in range(POINTS)})
        return [low, *(u for u in inner if low < u < high), math.nextafter(high, math.inf)]

    def largest(self, cell: ProofCell, room: arb, tolerance: float) -> arb:
        """An upper bound of the maximum over t² ≤ across²·``room``, within about ``tolerance``."""
        first, own, plain, gain, cross, tilt, quartic, quadratic = self.numbers
        ends, limit = (arb(cell.lo) * self.ae, arb(cell.hi) * self.ae), self.across * root(room)
        near, far, inverse = ends[0].min(ends[1]), ends[0].max(ends[1]), 1 / arb(cell.kappa)
        squared, fourth = arb(cell.lam) * self.weight**2, arb(cell.nu) * self.weight**4
        concave, beta = quartic * self.before**2 * inverse, 2 * arb(max(-cell.lo, cell.hi))
        steep, flat = 2 * (first + own + beta * abs(cross)), plain + gain + beta * abs(tilt)

        def price(distance: arb) -> arb:
            t = distance.nonnegative_part()
            return (squared + fourth * t * t) * t * t

        @cache
        def value(u: float) -> tuple[arb, arb, arb, arb, float]:
            (_, F, of_beta, of_kappa), a = self.point(u), arb(u) - self.start
            F += of_kappa * inverse + (of_beta * arb(cell.lo)).max(of_beta * arb(cell.hi))
            beyond, short = a - far, near - a
            paid = price(beyond.max(short))
            reached = float((F.min(self.cap) - paid).lower())
            return F.upper(), (F - paid).upper(), beyond, short, reached

        low, high = self.start + near - limit, self.start + far + limit
        breaks, found, halved = self.breaks(-float_above(-low), float_above(high)), arb(0), 0
        waiting, attained = list(pairwise(breaks)), max(value(u)[4] for u in breaks)
        while waiting:
            u0, u1 = waiting.pop()
            (F0, f0, beyond0, short0, _), (F1, f1, beyond1, short1, _) = value(u0), value(u1)
            apart = beyond0 if beyond0 > 0 else short1 if short1 > 0 else arb(0)
            p0, p1 = self.point(u0)[0], self.point(u1)[0]
            above = F0.max(F1) + concave * square(p1 - p0) / 8
            bound = (above.min(self.cap) if above.is_finite() else self.cap) - price(apart)
            top, (rise, bend) = p1.max(self.before), self.bends(u0, u1)
            slope = (4 * top**3 * quartic + 2 * top * quadratic) * inverse
            M = concave * rise**2 + (slope + top * steep + flat) * bend + 2 * squared
            M += 12 * fourth * square(beyond1.max(short0).nonnegative_part())
            second = f0.max(f1) + M * (arb(u1) - arb(u0)) ** 2 / 8
            bound = bound.min(second) if second.is_finite() else bound
            require(bound.is_finite(), "a row has a bound")
            middle = u0 + (u1 - u0) / 2
            if bound > attained + tolerance and u0 < middle < u1 and halved < HALVED:
                attained, halved = max(attained, value(middle)[4]), halved + 1
                waiting += [(u0, middle), (middle, u1)]
            else:
                found = found.max(bound)
        return found


#: In one cell: its rows, a bound of ‖Δ⊥‖², and the cell's bound given the sum over its rows.
Parts = tuple[list[Row], arb, Callable[[arb], arb]]


def multipliers(arrays: dict[str, Array], low: float, high: float) -> tuple[list[ProofCell], Balls]:
    """The cells of the file, which cover [low, high], and the weights of rows."""
    values, weights = arrays["cells"], arrays["weights"]
    require(values.ndim == 2 and values.shape[1] == 5 and len(values) > 0, "cells have 5 numbers")
    cells = [ProofCell(*row) for row in values.tolist()]
    ends = [low, *(cell.hi for cell in cells)]
    covered = all(one.lo <= end for one, end in zip(cells, ends, strict=False)) and ends[-1] >= high
    require(covered and all(one.lo <= one.hi for one in cells), "the cells cover all β or τ")
    require(bool((values[:, 2:] >= 0).all() and (values[:, 3] > 0).all()), "λ, ν ≥ 0 and κ > 0")
    require(weights.ndim == 1 and bool((weights > 0).all()), "the weights are positive")
    return cells, exact(weights)


def prove_cells(
    cells: list[ProofCell], parts_of: Callable[[ProofCell], Parts], target: arb
) -> None:
    """Refuse unless every cell, halved where its rows do not suffice, is at most ``target``."""
    waiting = [(cell, 0) for cell in cells]
    while waiting:
        cell, depth = waiting.pop()
        rows, room, finish = parts_of(cell)
        for part in TOLERANCES:
            total = sum((row.largest(cell, room, part * float(row.cap)) for row in rows), arb(0))
            if finish(total) <= target:
                break
            least = (total - part * sum(row.cap for row in rows)).nonnegative_part()
            if part == TOLERANCES[-1] or finish(least) > target:
                named = f"the change is at most U‖φ(X)‖ in the cell [{cell.lo:.6g}, {cell.hi:.6g}]"
                require(depth < DEPTH, named)
                middle = cell.lo + (cell.hi - cell.lo) / 2
                waiting += [(cell._replace(**{end: middle}), depth + 1) for end in ("hi", "lo")]
                break
