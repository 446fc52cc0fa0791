"""Upper bounds of one row's change, minus the price of its move, over a cell of β (docs/proofs.md):

    max over β in [lo, hi] and u of  F(σ(u), β) − λ(c·t)² − ν(c·t)⁴,
    F(p, β) = (p−p⁰)²‖y‖² + 2p(p−p⁰)β y·e + p²r² + p²(p−p⁰)²/κ,

t the distance of a = u − u⁰ from {βA·e}, by bisection. On an interval of u, the smaller of

1. the larger value of F at the ends, plus p⁰²(p₁ − p₀)²/8κ, minus the smallest price,
2. the larger value of the whole function at the ends plus M·width²/8, −M below its f″,

    M = p⁰²p′²/κ + |F′||p″| + 2λc² + 12νc⁴t²,   |F′| ≤ 2T(‖y‖² + 2|β y·e| + r²) + 4T³/κ,

T = max(p, p⁰), is used. With the linear objective, F = p, and neither κ nor β occurs.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from wordsway.verifier.balls import arb, root

#: Logits beyond which a row is nearly silent or nearly won; points in between to begin with.
REACH, POINTS = 9.0, 12


class Beta(NamedTuple):
    """β in [lo, hi], with the multipliers used there."""

    lo: float
    hi: float
    lam: float
    kappa: float
    nu: float


@dataclass
class Row:
    """One row: its score ``start`` and share ``before`` without a move, ‖y‖², y·e, A·e, its weight
    c, how far its score can move, r², and whether its objective is p instead of F.
    """

    start: arb
    before: arb
    y2: arb
    ye: arb
    ae: arb
    weight: arb
    reach: arb
    r2: arb
    linear: bool = False
    points: dict[float, tuple[arb, arb, arb, arb]] = field(default_factory=dict)

    def point(self, u: float) -> tuple[arb, arb, arb, arb]:
        """The share at u, and the parts of F: without β and κ, times β, times 1/κ."""
        if u not in self.points:
            p = 1 / (1 + (-arb(u)).exp())
            q = p - self.before
            square = p if self.linear else q * q * self.y2 + p * p * self.r2
            self.points[u] = p, square, 2 * p * q * self.ye, (p * q) ** 2
        return self.points[u]

    def breaks(self) -> list[float]:
        """Points of u that cover its range, to begin with."""
        low, high = float_below(self.start - self.reach), float_above(self.start + self.reach)
        bottom, top = max(low, -REACH), min(high, REACH)
        inner = {bottom + (top - bottom) * k / POINTS for k in range(POINTS + 1)}
        return [low, *sorted(u for u in inner if low < u < high), math.nextafter(high, math.inf)]


class CellRow:
    """One row in one cell: intervals of u in a heap, the largest upper bound first. With a
    ``limit``, t is at most that, and there is no κ-term.
    """

    def __init__(self, row: Row, cell: Beta, limit: arb | None = None) -> None:
        self.row, self.cell, self.limit = row, cell, limit
        ends = arb(cell.lo) * row.ae, arb(cell.hi) * row.ae
        self.near, self.far = ends[0].min(ends[1]), ends[0].max(ends[1])
        self.cap = arb(1) if row.linear else (root(row.y2) + root(row.r2)) ** 2
        self.quadratic = arb(cell.lam) * row.weight**2
        self.fourth = arb(cell.nu) * row.weight**4
        self.inverse = arb(0) if row.linear or limit is not None else 1 / arb(cell.kappa)
        self.kappa_part = row.before**2 * self.inverse
        b = max(abs(cell.lo), abs(cell.hi))
        self.steep = row.y2 + 2 * arb(b) * abs(row.ye) + row.r2
        self.values: dict[float, tuple[arb, arb, arb, arb]] = {}
        self.attained = -math.inf
        self.heap: list[tuple[float, int, float, float]] = []
        self.count = 0
        for u0, u1 in pairwise(row.breaks()):
            self.push(u0, u1, None)

    def value(self, u: float) -> tuple[arb, arb, arb, arb]:
        """F, the function itself, and by how much a is above and below the moves of the cell."""
        found = self.values.get(u)
        if found is None:
            (_, F, linear, quartic), a = self.row.point(u), arb(u) - self.row.start
            F += quartic * self.inverse
            if not self.row.linear:
                F += (linear * arb(self.cell.lo)).max(linear * arb(self.cell.hi))
            beyond, short = a - self.far, self.near - a
            price = self.price(beyond.max(short))
            found = self.values[u] = F.upper(), (F - price).upper(), beyond, short
            if self.limit is None or not beyond.max(short) > self.limit:
                self.attained = max(self.attained, float(found[1]))
        return found

    def price(self, distance: arb) -> arb:
        """λ(c·t)² + ν(c·t)⁴."""
        t2 = distance.nonnegative_part() ** 2
        return self.quadratic * t2 + self.fourth * t2 * t2

    def push(self, u0: float, u1: float, parent: arb | None) -> None:
        (F0, f0, beyond0, short0), (F1, f1, beyond1, short1) = self.value(u0), self.value(u1)
        row, p0, p1 = self.row, self.row.point(u0)[0], self.row.point(u1)[0]
        apart = beyond0 if beyond0 > 0 else short1 if short1 > 0 else arb(0)
        if self.limit is not None and apart > self.limit:
            return
        first = F0.max(F1) + self.kappa_part * (p1 - p0) ** 2 / 8
        bound = first.min(self.cap) - self.price(apart)
        top = p1.max(row.before)
        rise = p1.min(1 - p0).min(arb(0.25))  # p′ = p(1 − p), and |p″| ≤ p′, |p″| ≤ 0.0963
        slope = arb(1) if row.linear else 2 * top * self.steep + 4 * top**3 * self.inverse
        t2 = beyond1.max(short0).nonnegative_part() ** 2
        M = self.kappa_part * rise**2 + slope * rise.min(arb(0.0963))
        M += 2 * self.quadratic + 12 * self.fourth * t2
        bound = bound.min(f0.max(f1) + M * (arb(u1) - arb(u0)) ** 2 / 8)
        bound = bound if bound.is_finite() else self.cap
        bound = bound if parent is None else bound.min(parent)
        self.count += 1
        heapq.heappush(self.heap, (-float_above(bound), self.count, u0, u1))

    @property
    def bound(self) -> arb:
        """An upper bound for all u."""
        return arb(-self.heap[0][0]) if self.heap else arb(0)

    @property
    def gap(self) -> float:
        """About how much bisection can still gain."""
        return -self.heap[0][0] - self.attained if self.heap else 0.0

    def split(self) -> None:
        """Halve the interval with the largest bound."""
        key, _, u0, u1 = self.heap[0]
        middle = u0 + (u1 - u0) / 2
        if not u0 < middle < u1:
            return
        heapq.heappop(self.heap)
        self.push(u0, middle, arb(-key))
        self.push(middle, u1, arb(-key))


def float_below(x: arb) -> float:
    """A float that is not above x."""
    size, found = abs(float(x.mid())) + float(x.rad()), float(x.mid()) - float(x.rad())
    while math.isfinite(found) and not arb(found) <= x:
        size = 2 * size + 1e-300
        found -= size * 2**-52
    return found


def float_above(x: arb) -> float:
    """A float that is not below x."""
    return -float_below(-x)
