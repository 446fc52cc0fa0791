"""What every medium says of every map over a few n."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordsway.experiments.tour import Tour
from wordsway.render.numbers import number

if TYPE_CHECKING:
    import pandas


def means(result: Tour) -> pandas.DataFrame:
    """Mean attained – certified S of every map (rows) at every n (columns)."""
    import pandas

    measurements = result.measurements
    lengths = sorted({found.request.n for found in measurements})
    rows = []
    for name in dict.fromkeys(found.request.map for found in measurements):
        own = {found.request.n: found for found in measurements if found.request.map == name}
        depth = next(iter(own.values())).request.settings.get("depth")
        row = {"map": name + (f" (L = {depth})" if depth else "")}
        for n in lengths:
            found = own.get(n)
            row[f"n = {n}"] = "–" if found is None else _interval(found.mean, found.mean_upper)
        rows.append(row)
    return pandas.DataFrame(rows)


def _interval(lower: float | None, upper: float | None) -> str:
    return number(lower) if upper is None else f"{number(lower)} – {number(upper)}"
