"""A picture's content without its drawing: curves with references, points or tiles, in panels.

`wordsway.render.plot` draws a `Chart`. ``colour`` is a number of the palette, so that a series
looks the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from wordsway.core.result import SequenceResult

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Curve:
    """Means with a band of ± sd at each x, and a band from ``lower`` to ``upper``; ``upper`` alone
    is a thin line, the means of certified ends (None at an x without one).

    ``marker`` is a name of matplotlib's ("" for none), by default the one that goes with the
    colour; ``labels`` stand at the points.
    """

    label: str
    x: Sequence[float]
    mean: Sequence[float]
    sd: Sequence[float] = ()
    upper: Sequence[float | None] = ()
    colour: int | str = 0
    marker: str | None = None
    dashed: bool = False
    labels: Sequence[str] = ()
    lower: Sequence[float] = ()


@dataclass(frozen=True)
class ReferenceLine:
    """Theory or a rate: grey unless it has a colour, not in the key without a label."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int | str | None = None
    style: str = ":"


@dataclass(frozen=True)
class PointSeries:
    """Points with horizontal intervals ``low`` to ``high``; ``labels`` of the first of them."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: int | str = 0
    marker: str = "o"
    labels: Sequence[str] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True)
class Tiles:
    """Intervals over a plane: one tile per point (x, y) of logarithmic axes. Its lower left half
    has the colour of the attained value, its upper right half that of the certified one.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float | None]


#: Logarithmic axes end at most at this multiple of the largest attained value, with its sd.
DECADE = 10.0


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    ``logarithmic`` draws both axes in logarithms, where a rate is a straight line; ``right`` and
    ``top`` end the axes, and points beyond them stand on the edge. ``names`` are the rows of points
    at y = 0, 1, …, from the top; ``ticks`` the labels of the x axis.
    """

    title: str
    curves: Sequence[Curve] = ()
    references: Sequence[ReferenceLine] = ()
    points: Sequence[PointSeries] = ()
    tiles: Sequence[Tiles] = ()
    logarithmic: bool = False
    x_label: str = "number of tokens n"
    y_label: str = "word sensitivity S"
    right: float | None = None
    top: float | None = None
    names: Sequence[str] = ()
    ticks: Mapping[float, str] = field(default_factory=dict)

    @property
    def highest(self) -> float:
        """The upper end of logarithmic axes, at most."""
        spreads = (zip_longest(curve.mean, curve.sd, fillvalue=0.0) for curve in self.curves)
        return DECADE * max(mean + sd for spread in spreads for mean, sd in spread)

    @property
    def cut(self) -> bool:
        """Whether certified ends lie outside the axes."""
        ends = [end for curve in self.curves for end in curve.upper if end is not None]
        return self.logarithmic and max(ends, default=0.0) > self.highest


@dataclass(frozen=True)
class Chart(SequenceResult[Panel], items="panels", brief="title"):
    """Panels side by side, at most ``columns`` in a row; one key for all where ``shared_key``.

    >>> line = Curve("RAF", [10, 20], [0.8, 0.79], [0.01, 0.01])
    >>> Chart([Panel("RAF", [line])]).frame()[["series", "x", "y"]].values.tolist()
    [['RAF', 10, 0.8], ['RAF', 20, 0.79]]
    """

    panels: Sequence[Panel]
    columns: int = 3
    shared_key: bool = False
    title: str = ""

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per point of every series."""
        import pandas

        columns = ["panel", "kind", "series", "x", "y", "sd", "upper"]
        return pandas.DataFrame(
            [row for panel in self.panels for row in _rows(panel)], columns=columns
        ).astype({"sd": float, "upper": float})


def _rows(panel: Panel) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for curve in panel.curves:
        measured = zip_longest(curve.x, curve.mean, curve.sd, curve.upper)
        rows += [(panel.title, "measured", curve.label, *point) for point in measured]
    for kind, lines in (("reference", panel.references), ("point", panel.points)):
        for line in lines:
            points = zip(line.x, line.y, strict=True)
            rows += [(panel.title, kind, line.label, *point, None, None) for point in points]
    for tiles in panel.tiles:
        # Each row of tiles is a separate series.
        for x, y, lower, upper in zip(tiles.x, tiles.y, tiles.lower, tiles.upper, strict=True):
            series = f"{tiles.label}, {y:g}"
            rows.append((panel.title, "measured", series, x, lower, None, upper))
    return rows
