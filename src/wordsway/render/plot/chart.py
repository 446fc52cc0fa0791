"""Panels of curves, points and tiles.

A tile shows an interval: attained in its lower left half, certified in its upper right one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.ticker import LogLocator, MaxNLocator

from wordsway.core.chart import Chart, Curve, Panel, PointSeries
from wordsway.core.escape import one_line
from wordsway.render.plot.style import GREY, INK, PALETTE, in_lines, key_below

#: Shades; a finer scale would be drawn as a bitmap.
STEPS = 40
#: A key of more lines stands below its panel; logarithmic axes leave less space.
INSIDE, INSIDE_LOGARITHMIC = 5, 3
#: The key of thin lines without markers, which have the colours and dashes of their curves.
CERTIFIED = "thin lines: certified upper bounds"
#: The colour of tiles without a certificate.
UNKNOWN = "#ffffff"


def chart_figure(chart: Chart) -> Figure:
    """The panels in rows, with a key each or one for all; a panel with names fills a row."""
    lists = [panel for panel in chart.panels if panel.names]
    panels = [panel for panel in chart.panels if not panel.names]
    columns = max(1, min(chart.columns, len(panels)))
    rows = -(-len(panels) // columns)
    wide, high = _size(panels)
    heights = [1.2 + 0.36 * len(panel.names) for panel in lists] + [high * rows] * bool(panels)
    width = max(wide * columns * bool(panels), 8.2 if lists else 0.0)
    size = (width + (2.4 if chart.shared_key else 0.0), sum(heights) or high)
    figure = Figure(figsize=size, layout="constrained")
    if chart.title:
        figure.suptitle(one_line(chart.title), fontsize=11)
    parts: list[Any] = [figure]
    if lists:
        found: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)
        parts = list(found[:, 0])
    for part, panel in zip(parts, lists, strict=False):
        draw_names(part.subplots(), panel)
    shared = _only_points(panels)
    if panels or not lists:
        grid = parts[-1].subplots(
            max(1, rows), columns, squeeze=False, sharex=shared, sharey=shared
        )
        axes_list: list[Axes] = list(grid.flat)
        for axes, panel in zip(axes_list, panels, strict=False):
            draw_panel(axes, panel, round(11.5 * wide))
            if not (chart.shared_key or panel.ticks):
                _key(axes, panel)
            if shared:
                axes.label_outer()
        for axes in axes_list[len(panels) :]:
            axes.set_visible(False)
        below = max((_entries(panel) for panel in panels if not _inside(panel)), default=0)
        if chart.shared_key:
            _shared_key(figure, axes_list)
        elif below:
            figure.set_figheight(size[1] + 0.09 * (below - 2 * INSIDE / 3) * rows)
    return figure


def _size(panels: Sequence[Panel]) -> tuple[float, float]:
    """Inches of a panel."""
    if any(panel.tiles for panel in panels):
        return 11.0, 5.4
    if any(panel.ticks for panel in panels):
        return 3.0, 2.5
    return (3.3, 3.0) if _only_points(panels) and len(panels) > 1 else (5.6, 4.6)


def _only_points(panels: Sequence[Panel]) -> bool:
    return all(panel.points and not panel.curves for panel in panels)


def draw_names(axes: Axes, panel: Panel) -> None:
    """Rows with names from the top, and points with their intervals in them."""
    for reference in panel.references:
        axes.plot(reference.x, reference.y, color=GREY, linestyle=reference.style, linewidth=1)
    for points in panel.points:
        colour, marker = _look(points.colour)
        label = one_line(points.label)
        axes.scatter(points.x, points.y, 34, color=colour, marker=marker, label=label, zorder=3)
        axes.hlines(points.y[: len(points.low)], points.low, points.high, color=colour, alpha=0.6)
    axes.set_yticks(range(len(panel.names)), [one_line(name) for name in panel.names])
    axes.set_ylim(len(panel.names) - 0.5, -0.5)
    axes.set_xlim(None if panel.right is None else 0, 1.0 if panel.right is None else panel.right)
    axes.grid(visible=True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(one_line(panel.x_label))
    axes.set_title(one_line(panel.title), fontsize=9, loc="right")
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def draw_panel(axes: Axes, panel: Panel, letters: int) -> None:
    axes.grid(visible=True)
    for curve in panel.curves:
        _curve(axes, curve)
    for reference in panel.references:
        colour = GREY if reference.colour is None else _look(reference.colour)[0]
        axes.plot(
            reference.x,
            reference.y,
            linestyle=reference.style,
            linewidth=1.2,
            color=colour,
            label=one_line(reference.label),
        )
    for points in panel.points:
        _points(axes, panel, points)
    if panel.tiles:
        draw_tiles(axes, panel)
    if panel.ticks:
        axes.set_xticks(list(panel.ticks), [one_line(one) for one in panel.ticks.values()])
    elif panel.curves:
        _scales(axes, panel)
    if panel.right is not None:
        axes.set_xlim(0, panel.right)
    if panel.top is not None:
        axes.set_ylim(0, panel.top)
    axes.set_xlabel(one_line(panel.x_label))
    axes.set_ylabel(one_line(panel.y_label))
    title = in_lines(one_line(panel.title), letters)
    axes.set_title(title, fontsize=8.5 if panel.ticks else 11 if panel.curves else 10)


def _curve(axes: Axes, curve: Curve) -> None:
    colour, marker = _look(curve.colour)
    marker = marker if curve.marker is None else curve.marker
    look: dict[str, Any] = {"markersize": 5, "linewidth": 1.5}
    if curve.dashed:
        look = {"linestyle": "--", "markerfacecolor": "white", "markersize": 4, "linewidth": 1.0}
    label = one_line(curve.label)
    axes.plot(curve.x, curve.mean, color=colour, marker=marker, label=label, **look)
    ends = [math.nan if end is None else end for end in curve.upper]  # a gap in the line
    if curve.lower:
        axes.fill_between(curve.x, curve.lower, ends, color=colour, alpha=0.12, linewidth=0)
    elif any(end is not None for end in curve.upper):
        dash = look.get("linestyle", "-")
        axes.plot(curve.x, ends, dash, color=colour, linewidth=0.7, label=CERTIFIED)
    if any(curve.sd):
        low, high = (
            [mean + side * sd for mean, sd in zip(curve.mean, curve.sd, strict=True)]
            for side in (-1, 1)
        )
        axes.fill_between(curve.x, low, high, color=colour, alpha=0.2, linewidth=0)
    ends = [-math.inf, *curve.mean, -math.inf]
    around = zip(ends, ends[2:], strict=True)
    for at, mean, (before, after), text in zip(
        curve.x, curve.mean, around, curve.labels, strict=False
    ):
        # On the side where the curve is not: below a valley, above anything else.
        valley = before > mean and after > mean
        side = (
            "center" if (before > mean) == (after > mean) else "right" if after > mean else "left"
        )
        axes.annotate(
            one_line(text),
            (at, mean),
            (0, -8 if valley else 6),
            textcoords="offset points",
            ha=side,
            va="top" if valley else "bottom",
            fontsize=9,
        )


def _points(axes: Axes, panel: Panel, points: PointSeries) -> None:
    """Points beyond the axes stand on their edge."""
    colour, _ = _look(points.colour)
    look: dict[str, Any] = {"facecolors": "none", "edgecolors": colour}
    if points.marker in ("x", "_"):
        look = {"color": colour}
    right = float("inf") if panel.right is None else 0.987 * panel.right
    top = float("inf") if panel.top is None else 0.988 * panel.top
    axes.scatter(
        [min(x, right) for x in points.x],
        [min(y, top) for y in points.y],
        s=26,
        marker=points.marker,
        linewidths=1.3,
        zorder=2,
        clip_on=False,
        label=one_line(points.label),
        **look,
    )
    for x, y, text in zip(points.x, points.y, points.labels, strict=False):
        axes.annotate(
            one_line(text),
            (min(x, right), min(y, top)),
            (5, 4),
            textcoords="offset points",
            fontsize=8,
        )


def _scales(axes: Axes, panel: Panel) -> None:
    """Ticks where something was measured, and limits of the axes."""
    ticks = sorted({x for curve in panel.curves for x in curve.x})
    if panel.logarithmic:
        _logarithms(axes, panel)
    else:
        space = 1.25 if _inside(panel) else 1.05  # for the key
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * space)
    along = math.log if panel.logarithmic else float
    kept = ticks[:1]
    for tick in ticks[1:]:  # two labels must not run into each other
        share = (along(tick) - along(kept[-1])) / (along(ticks[-1]) - along(ticks[0]))
        if share > 0.025 + 0.018 * len(f"{tick:g}"):
            kept.append(tick)
    axes.set_xticks(kept, [f"{tick:g}" for tick in kept])


def _logarithms(axes: Axes, panel: Panel) -> None:
    """Certificates above `Panel.highest` are outside the axes."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    spreads = [(curve, curve.sd or [0.0] * len(curve.mean)) for curve in panel.curves]
    low = min(
        [
            max(y - sd, y / 2)
            for curve, sds in spreads
            for y, sd in zip(curve.mean, sds, strict=True)
        ]
        + [value for line in panel.references for value in line.y]
    )
    top = min(float(axes.dataLim.y1), panel.highest)
    if top > 3 * low:
        steps = (1.0, 2.0, 5.0) if top > 30 * low else (1.0, 2.0, 3.0, 5.0, 7.0)
        axes.yaxis.set_major_locator(LogLocator(subs=steps))
        # Both ends of the axis have a label.
        decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(top)) + 2)
        labels = [step * 10.0**decade for decade in decades for step in steps]
        low = max(label for label in labels if label <= low)
        top = min(label for label in labels if label >= top)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    axes.minorticks_off()
    low /= (top / low) ** 0.03  # space for a marker
    axes.set_ylim(low * 0.98, top)


def _look(colour: int | str) -> tuple[str, str]:
    """The colour and the marker of a number of the palette, or of a name."""
    return PALETTE[colour % len(PALETTE)] if isinstance(colour, int) else (colour, "o")


def _ordered(axes: Axes) -> list[tuple[Any, str]]:
    """Measurements first, then theory; one grey line stands for all certificates."""
    handles, labels = axes.get_legend_handles_labels()
    pairs = [pair for pair in zip(handles, labels, strict=True) if pair[1] != CERTIFIED]
    pairs.sort(key=lambda pair: isinstance(pair[0], Line2D) and pair[0].get_marker() == "None")
    thin = Line2D([], [], color=GREY, linewidth=0.7)
    dashed = any(isinstance(one, Line2D) and one.get_linestyle() == "--" for one, _ in pairs)
    label = "thin lines: certified, same dash" if dashed else CERTIFIED
    return [*pairs, (thin, label)] if CERTIFIED in labels else pairs


def _entries(panel: Panel) -> int:
    """Lines of a panel's key."""
    certified = any(any(curve.upper) and not curve.lower for curve in panel.curves)
    lines = sum(bool(curve.label) for curve in panel.curves) + certified
    lines += sum(bool(reference.label) for reference in panel.references)
    return lines + sum(bool(points.label) for points in panel.points)


def _inside(panel: Panel) -> bool:
    """Whether the key stands inside the panel."""
    return _entries(panel) <= (INSIDE_LOGARITHMIC if panel.logarithmic else INSIDE)


def _key(axes: Axes, panel: Panel) -> None:
    """A short key inside the panel, on an opaque background; a long one below it."""
    pairs = _ordered(axes)
    if not pairs:
        return
    if not _inside(panel):
        key_below(axes, pairs, columns=1 if len(pairs) <= INSIDE else 2, fontsize=8)
        return
    handles, labels = zip(*pairs, strict=True)
    look: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none"}
    look["loc"] = "upper left" if panel.tiles else "best"
    axes.legend(handles, labels, fontsize=8, **look)


def _shared_key(figure: Figure, axes_list: list[Axes]) -> None:
    """Every series of every panel, once."""
    unique = {label: handle for axes in axes_list for handle, label in _ordered(axes)}
    figure.legend(list(unique.values()), list(unique), loc="outside right center", fontsize=9)


# Tiles


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
                _half(axes, (x, y), reach, side, colour, value)
    axes.set_xticks(across, [f"{x:g}" if x >= 1 else f"1/{1 / x:g}" for x in across])
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
    axes: Axes,
    place: tuple[float, float],
    reach: tuple[float, float],
    side: int,
    colour: str,
    value: float | None,
) -> None:
    """One half of a tile with its value: −1 is the lower left one, 1 the upper right one."""
    (x, y), (wide, high) = place, reach
    corner = (x * wide**side, y * high**side)
    corners = [(x / wide, y * high), (x * wide, y / high), corner]
    axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="none"))
    if value is None:
        return
    red, green, blue = to_rgb(colour)
    light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.55
    middle = (x * wide ** (0.42 * side), y * high ** (0.42 * side))
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": INK if light else "white"}
    axes.text(*middle, f"{value:.2f}", fontsize=7, **look)
