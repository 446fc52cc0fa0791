"""Upper bounds of one row's change, minus the price of its move, over a cell of β:

    max over β in [lo, hi] and u of  F(p(u), β) − λ(c·t)² − ν(c·t)⁴,

    F = square·q² + own·p² + plain·p + gain·|q| + 2β(cross·p·q + tilt·|q|)
        + (quartic·(p·q)² + quadratic·q²)/κ,     q = p − p⁰,

p(u) = σ(u), or u₊/(R + u₊) for ReLU scores, and t the distance of u − u⁰ from {βA·e}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from wordsway.verifier.balls import arb, float_above, float_below, require, square

#: Logits beyond which rows are nearly silent or won; points in between; most intervals halved.
REACH, POINTS, HALVED = 9.0, 12, 300


class Beta(NamedTuple):
    """β in [lo, hi], with the multipliers used there."""

    lo: float
    hi: float
    lam: float
    kappa: float
    nu: float

    def room(self, r: arb) -> arb:
        """r² − β² at most."""
        nearest = 0.0 if self.lo <= 0 <= self.hi else min(abs(self.lo), abs(self.hi))
        return (r * r - arb(nearest) ** 2).nonnegative_part()


@dataclass
class Row:
    """One row: its score ``start`` = u⁰ and share ``before`` = p⁰ without a move, how far its score
    can move, A·e, its weight c, a bound ``cap`` of F, the numbers of F, and R for ReLU scores.
    """

    start: arb
    before: arb
    reach: arb
    ae: arb
    weight: arb
    cap: arb
    square: arb | int = 0
    own: arb | int = 0
    plain: arb | int = 0
    gain: arb | int = 0
    cross: arb | int = 0
    tilt: arb | int = 0
    quartic: arb | int = 0
    quadratic: arb | int = 0
    rest: arb | None = None
    points: dict[float, tuple[arb, arb, arb, arb]] = field(default_factory=dict)

    def point(self, u: float) -> tuple[arb, arb, arb, arb]:
        """The share at u, and the parts of F: without β and κ, times β, times 1/κ."""
        if u not in self.points:
            w = arb(max(u, 0.0))
            p = 1 / (1 + (-arb(u)).exp()) if self.rest is None else w / (self.rest + w)
            q, gained = p - self.before, abs(p - self.before)
            constant = (
                self.square * square(q) + self.own * p * p + self.plain * p + self.gain * gained
            )
            of_beta = 2 * (self.cross * p * q + self.tilt * gained)
            of_kappa = self.quartic * square(p * q) + self.quadratic * square(q)
            self.points[u] = p, constant, of_beta, of_kappa
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

    def breaks(self) -> list[float]:
        """Points of u that cover its range, to begin with."""
        low, high = float_below(self.start - self.reach), float_above(self.start + self.reach)
        bottom, top = max(low, -REACH), min(high, REACH)
        inner = [bottom + (top - bottom) * k / POINTS for k in range(POINTS + 1)]
        if self.rest is not None:
            inner = [max(high, 0.0) * (k / POINTS) ** 2 for k in range(POINTS + 1)]
        return [low, *(u for u in inner if low < u < high), math.nextafter(high, math.inf)]

    def largest(self, cell: Beta, tolerance: float, limit: arb | None = None) -> arb:
        """An upper bound of the maximum, within about ``tolerance``; where t ≤ ``limit`` if given.
        Intervals of u are halved; docs/proofs.md has the two bounds that are used on each.
        """
        ends = arb(cell.lo) * self.ae, arb(cell.hi) * self.ae
        near, far, inverse = ends[0].min(ends[1]), ends[0].max(ends[1]), 1 / arb(cell.kappa)
        squared, fourth = arb(cell.lam) * self.weight**2, arb(cell.nu) * self.weight**4
        concave = self.quartic * self.before**2 * inverse
        beta = 2 * arb(max(abs(cell.lo), abs(cell.hi)))
        steep = 2 * (self.square + self.own + beta * abs(arb(self.cross)))
        flat = arb(self.plain + self.gain) + beta * abs(arb(self.tilt))
        values: dict[float, tuple[arb, arb, arb, arb, float]] = {}

        def price(distance: arb) -> arb:
            t2 = square(distance.nonnegative_part())
            return squared * t2 + fourth * t2 * t2

        def value(u: float) -> tuple[arb, arb, arb, arb, float]:
            if u not in values:
                (_, F, of_beta, of_kappa), a = self.point(u), arb(u) - self.start
                F += of_kappa * inverse + (of_beta * arb(cell.lo)).max(of_beta * arb(cell.hi))
                beyond, short = a - far, near - a
                paid, reached = price(beyond.max(short)), -math.inf
                if limit is None or not beyond.max(short) > limit:
                    reached = float((F.min(self.cap) - paid).lower())
                values[u] = F.upper(), (F - paid).upper(), beyond, short, reached
            return values[u]

        waiting, found, halved = list(pairwise(self.breaks())), arb(0), 0
        attained = max(value(u)[4] for u in self.breaks())
        while waiting:
            u0, u1 = waiting.pop()
            (F0, f0, beyond0, short0, _), (F1, f1, beyond1, short1, _) = value(u0), value(u1)
            apart = beyond0 if beyond0 > 0 else short1 if short1 > 0 else arb(0)
            if limit is not None and apart > limit:
                continue
            p0, p1 = self.point(u0)[0], self.point(u1)[0]
            first = F0.max(F1) + concave * square(p1 - p0) / 8
            bound = (first.min(self.cap) if first.is_finite() else self.cap) - price(apart)
            top, (rise, bend) = p1.max(self.before), self.bends(u0, u1)
            slope = (4 * top**3 * self.quartic + 2 * top * self.quadratic) * inverse
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
