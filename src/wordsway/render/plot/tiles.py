"""Intervals over a plane as split tiles: attained in the lower left half, certified in the upper
right one, in one scale of colours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex, to_rgb
from matplotlib.patches import Polygon

from wordsway.core.chart import Panel
from wordsway.render.plot.style import INK

#: Shades; a finer scale would be drawn as a bitmap.
STEPS = 40
#: Where no certificate is.
UNKNOWN = "#ffffff"


def draw_tiles(axes: Axes, panel: Panel) -> None:
    """All tiles of a panel, with their numbers and the scale of colours."""
    axes.grid(visible=False)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ends = [
        value
        for tiles in panel.tiles
        for values in (tiles.lower, tiles.upper)
        for value in values
        if value is not None
    ]
    colours = colormaps["YlGnBu"].resampled(STEPS)
    norm = Normalize(0.0, max(ends))
    across = sorted({x for tiles in panel.tiles for x in tiles.x})
    up = sorted({y for tiles in panel.tiles for y in tiles.y})
    reach = (_reach(across), _reach(up))
    for tiles in panel.tiles:
        for x, y, lower, upper in zip(tiles.x, tiles.y, tiles.lower, tiles.upper, strict=True):
            for value, side in ((lower, -1), (upper, 1)):
                colour = UNKNOWN if value is None else to_hex(colours(norm(value)))
                _half(axes, (x, y), reach, side, colour)
                if value is not None:
                    _number(axes, (x, y), reach, side, colour, value)
    axes.set_xticks(across, [_power(x) for x in across])
    axes.set_yticks(up, [f"{y:g}" for y in up])
    axes.minorticks_off()
    wide, high = reach
    left = min([across[0] / wide, *(x / wide for line in panel.references for x in line.x)])
    axes.set_xlim(left, across[-1] * wide)
    axes.set_ylim(up[0] / high, up[-1] * high * (1.6 if panel.references else 1))  # for the key
    scale = ScalarMappable(norm, colours)
    axes.figure.colorbar(scale, ax=axes, label="word sensitivity S", shrink=0.8, pad=0.01)


def _reach(places: Sequence[float]) -> float:
    """The factor that a tile reaches to either side of its place: half way to the next one.

    >>> _reach([1, 4, 16]), round(_reach([3]) ** 2, 9)
    (2.0, 2.0)
    """
    steps = [after / before for before, after in pairwise(places)]
    return math.sqrt(min(steps, default=2.0))


def _half(
    axes: Axes, place: tuple[float, float], reach: tuple[float, float], side: int, colour: str
) -> None:
    """One half of a tile: −1 is the lower left one, 1 the upper right one."""
    (x, y), (wide, high) = place, reach
    corner = (x * wide**side, y * high**side)
    corners = [(x / wide, y * high), (x * wide, y / high), corner]
    axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="none"))


def _number(
    axes: Axes,
    place: tuple[float, float],
    reach: tuple[float, float],
    side: int,
    colour: str,
    value: float,
) -> None:
    """The value in the middle of its half, dark on light or light on dark."""
    red, green, blue = to_rgb(colour)
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
    axes.text(
        place[0] * reach[0] ** (0.42 * side),
        place[1] * reach[1] ** (0.42 * side),
        f"{value:.2f}",
        ha="center",
        va="center",
        fontsize=7,
        color=INK if light else "white",
    )


def _power(x: float) -> str:
    """1/32 … 32."""
    return f"{x:g}" if x >= 1 else f"1/{1 / x:g}"
