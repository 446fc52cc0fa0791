"""Numbers as every medium spells them, and the scales that bars and colours share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from wordsway.core.format import rounded


def number(value: float | None) -> str:
    """Four digits; – for a missing value.

    >>> number(0.123456), number(1.59), number(1000.2), number(None), number(float("nan"))
    ('0.1235', '1.590', '1000', '–', '–')
    """
    return "–" if value is None or math.isnan(value) else f"{value:#.4g}".removesuffix(".")


def at_least(value: float | None, digits: int = 4) -> str:
    """Four digits, rounded down, for the lower end of an interval; – for a missing value.

    >>> at_least(1.23459), at_least(0.0), at_least(None)
    ('1.234', '0.000', '–')
    """
    return _towards(value, digits, ROUND_FLOOR)


def at_most(value: float | None, digits: int = 4) -> str:
    """Four digits, rounded up, for a certified bound; – for a missing value.

    >>> at_most(3.7772524095), at_most(3.7772524095, 6), at_most(2.0), at_most(float("inf"))
    ('3.778', '3.77726', '2.000', 'inf')
    """
    return _towards(value, digits, ROUND_CEILING)


def _towards(value: float | None, digits: int, rounding: str) -> str:
    if value is None or not math.isfinite(value) or not value:
        return number(value)
    exact = Decimal(value)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(step, rounding)):#.{digits}g}".removesuffix(".")


def small(value: float | None) -> str:
    """Three decimals, or as many as needed; – for a missing value.

    >>> small(0.25), small(0.00002), small(0.0), small(None)
    ('0.250', '2.0e-05', '0.000', '–')
    """
    if value is None:
        return "–"
    return f"{value:.3f}" if value >= 0.001 or not value else f"{value:.1e}"


def hundredths(value: float, signed: bool) -> str:
    """Two decimals; a change has a sign unless it rounds to nothing.

    >>> hundredths(0.234, False), hundredths(-0.234, True), hundredths(-0.001, True)
    ('0.23', '−0.23', '0.00')
    """
    shown = f"{abs(value):.2f}"
    return shown if not signed or shown == "0.00" else f"{'+' if value > 0 else '−'}{shown}"


def digits(value: float, count: int) -> str:
    """Format with ``count`` significant digits, at least those before the point; a power of ten
    only below 1e-4.

    >>> [digits(value, 2) for value in (99.6, 0.0201, 3.14159, 1234.4, 0.0, 0.000012)]
    ['100', '0.020', '3.1', '1,234', '0', '1.2e-05']
    """
    if not value or not math.isfinite(value):
        return f"{value:g}"
    scientific = f"{value:.{count - 1}e}"
    exponent = int(scientific.rpartition("e")[2])
    return scientific if exponent < -4 else f"{value:,.{max(0, count - 1 - exponent)}f}"


def percent(share: float, count: int = 2) -> str:
    """
    >>> percent(0.996), percent(0.14), percent(12.3)
    ('100 %', '14 %', '1,230 %')
    """
    return f"{digits(100 * share, count)} %"


def whole_percent(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """A value that is in percent already, with its interval; – for a missing one.

    >>> whole_percent(12.5), whole_percent(35.0, 26.4, 44.8), whole_percent(None)
    ('13 %', '35 % (26–45)', '–')
    """
    ends = "" if low is None or high is None else f" ({rounded(low, 0)}–{rounded(high, 0)})"
    return "–" if value is None else f"{rounded(value, 0)} %{ends}"


def spread(error: float) -> str:
    """A standard error, if there is one.

    >>> spread(0.0123), spread(0.0), spread(float("nan"))
    ('0.01', '', '')
    """
    return digits(error, 1) if error > 0 else ""


def times(value: float | None) -> str:
    """A ratio.

    >>> times(5.234), times(1234.5), times(None)
    ('5.23×', '1,234×', '–')
    """
    return "–" if value is None else f"{digits(value, 3)}×"


def share(value: float, top: float) -> float:
    """value / top within [0, 1]; 0 where that means nothing.

    >>> share(1.0, 4.0), share(1.0, 0.0), share(float("nan"), 1.0)
    (0.25, 0.0, 0.0)
    """
    if not (math.isfinite(value) and math.isfinite(top)) or top <= 0:
        return 0.0
    return min(1.0, max(0.0, value / top))


def largest(values: Iterable[float]) -> float:
    """The largest finite value, 0 if there is none."""
    return max((value for value in values if math.isfinite(value)), default=0.0)
