"""Estimates with confidence intervals: a mean, and the rate of decay, a line through
(log n, log S).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist


@dataclass(frozen=True)
class Interval:
    """An estimate from ``points`` points and its 95 % interval ``low`` … ``high``."""

    value: float
    low: float
    high: float
    points: int

    def __format__(self, digits: str) -> str:
        form = digits or ".3f"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]".replace("-", "−")

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Slope(Interval):
    """S ≈ exp(intercept)·n^value."""

    intercept: float


def mean_interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """The mean of independent values with Student's interval; None of fewer than three.

    >>> found = mean_interval([1.0, 2.0, 3.0])
    >>> round(found.value, 9), round(found.high - found.value, 2)
    (2.0, 2.48)
    """
    count = len(values)
    if count < 3:
        return None
    mean = sum(values) / count
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    half = _student(level, count - 1) * spread / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def fit_slope(n: Sequence[float], S: Sequence[float], level: float = 0.95) -> Slope | None:
    """Least squares of log S on log n over all trials; None without two different n or three
    points.

    >>> slope = fit_slope([10, 20, 40, 80], [3 / 10**0.5, 3 / 20**0.5, 3 / 40**0.5, 3 / 80**0.5])
    >>> round(slope.value, 9), round(slope.high - slope.low, 9)
    (-0.5, 0.0)
    """
    pairs = [(math.log(a), math.log(b)) for a, b in zip(n, S, strict=True) if a > 0 and b > 0]
    count = len(pairs)
    if count < 3 or len({x for x, _ in pairs}) < 2:
        return None
    x0, y0 = (sum(pair[axis] for pair in pairs) / count for axis in (0, 1))
    spread = sum((x - x0) ** 2 for x, _ in pairs)
    value = sum((x - x0) * (y - y0) for x, y in pairs) / spread
    residual = sum((y - y0 - value * (x - x0)) ** 2 for x, y in pairs)
    half = _student(level, count - 2) * math.sqrt(residual / (count - 2) / spread)
    return Slope(value, value - half, value + half, count, y0 - value * x0)


def _student(level: float, freedom: int) -> float:
    """The two-sided quantile of Student's t: exact for one and two degrees of freedom, else Cornish
    and Fisher's expansion.

    >>> [round(_student(0.95, freedom), 2) for freedom in (1, 2, 5, 30)]
    [12.71, 4.3, 2.57, 2.04]
    """
    p = (1 + level) / 2
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (1 - (2 * p - 1) ** 2))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom ** (order + 1) for order, term in enumerate(terms)))
