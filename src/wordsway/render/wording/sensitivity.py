"""What every medium says of a measured interval."""

from __future__ import annotations

from collections.abc import Mapping

from wordsway.format import format_seconds
from wordsway.maps.average import AverageChange
from wordsway.render.numbers import number
from wordsway.sensitivity import Sensitivity, WordSensitivity


def interval(lower: float, upper: float | None, certificate: str | None) -> str:
    """S as an interval.

    >>> interval(0.5, 0.75, "exact"), interval(0.5, None, None)
    ('∈ [0.5000, 0.7500] (exact)', '≥ 0.5000 (no certificate)')
    """
    if upper is None:
        return f"≥ {number(lower)} (no certificate)"
    return f"∈ [{number(lower)}, {number(upper)}] ({certificate})"


def witness(result: Sensitivity) -> WordSensitivity | None:
    """The searched row that attains the lower end."""
    return next((row for row in result.words if row.position == result.position), None)


def ranked(result: Sensitivity) -> list[WordSensitivity]:
    """The searched rows, the largest S first."""
    return sorted(result.words, key=lambda row: -row.lower)


def upper_end(row: WordSensitivity) -> float:
    """Where a row's bar ends: what is certified, or what was attained."""
    return row.lower if row.upper is None else row.upper


#: What an average is over, by its name.
OVER = {"average": "random Δ", "real": "real words"}


def average_line(averages: Mapping[str, AverageChange | None]) -> str | None:
    """The average case beside the worst, where it was asked for."""
    told = []
    for name, over in OVER.items():
        found = averages.get(name)
        if found is not None:
            error = "" if found.error is None else f" ± {number(found.error)}"
            quantiles = f"90 % below {number(found.q90)}, largest {number(found.most)}"
            told.append(f"{over}: mean {number(found.mean)}{error}, {quantiles}")
    return " · ".join(told) or None


def source_line(result: Sensitivity) -> str:
    name = result.map.get("map", "map")
    seconds = format_seconds(result.seconds)
    return f"{name} · {result.status} · {seconds} · seed {result.seed}"
