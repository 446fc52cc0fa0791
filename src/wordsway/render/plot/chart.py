"""Panels of curves, points and tiles."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from wordsway.core.chart import Chart, Curve, Panel, Points
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import GREY, PALETTE
from wordsway.render.plot.tiles import draw_tiles

#: From this ratio of the largest to the smallest value on, ticks are powers of ten.
DECADE = 10.0


def chart_figure(chart: Chart, kind: str) -> Figure:
    """The panels in rows, with a key each, or one beside them all."""
    columns = max(1, min(chart.columns, len(chart.panels)))
    rows = max(1, -(-len(chart.panels) // columns))
    small = _only_points(chart) and len(chart.panels) > 1
    wide, high = (3.3, 3.0) if small else (5.6, 4.6)
    if any(panel.tiles for panel in chart.panels):
        wide, high = 11.0, 5.4
    size = (wide * columns + (2.4 if chart.shared_key else 0.0), high * rows)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(
        rows,
        columns,
        squeeze=False,
        sharex=_only_points(chart),
        sharey=_only_points(chart),
    )
    if chart.title:
        figure.suptitle(spelled(chart.title, kind), fontsize=11)
    axes_list = list(grid.flat)
    for axes, panel in zip(axes_list, chart.panels, strict=False):
        draw_panel(axes, panel, kind, round(11.5 * wide))
        if not chart.shared_key:
            single = panel.logarithmic or len(panel.curves) < 4
            place = "upper left" if panel.tiles else "best"
            _key(axes, fontsize=8, ncols=1 if single else 2, loc=place)
    for axes in axes_list[len(chart.panels) :]:
        axes.set_visible(False)
    if chart.shared_key:
        _shared_key(figure, axes_list)
    return figure


def _only_points(chart: Chart) -> bool:
    return all(panel.points and not panel.curves for panel in chart.panels)


def draw_panel(axes: Axes, panel: Panel, kind: str, letters: int) -> None:
    axes.grid(visible=True)
    for curve in panel.curves:
        _curve(axes, curve, kind)
    for reference in panel.references:
        colour = GREY if reference.colour is None else _colour(reference.colour)
        axes.plot(
            reference.x,
            reference.y,
            linestyle=reference.style,
            linewidth=1.2,
            color=colour,
            label=spelled(reference.label, kind),
        )
    for points in panel.points:
        _points(axes, panel, points, kind)
    if panel.tiles:
        draw_tiles(axes, panel)
    if panel.curves:
        _scales(axes, panel)
    if panel.right is not None:
        axes.set_xlim(0, panel.right)
    if panel.top is not None:
        axes.set_ylim(0, panel.top)
    axes.set_xlabel(spelled(panel.x_label, kind))
    axes.set_ylabel(spelled(panel.y_label, kind))
    title = textwrap.fill(spelled(panel.title, kind), letters)
    axes.set_title(title, fontsize=11 if panel.curves else 10)


def _curve(axes: Axes, curve: Curve, kind: str) -> None:
    colour = _colour(curve.colour)
    look: dict[str, Any] = {"markersize": 5, "linewidth": 1.5}
    if curve.dashed:
        look = {
            "linestyle": "--",
            "markerfacecolor": "white",
            "markersize": 4,
            "linewidth": 1.0,
        }
    axes.errorbar(
        curve.x,
        curve.mean,
        yerr=curve.sd or None,
        capsize=2.5,
        color=colour,
        marker=curve.marker or _marker(curve.colour),
        label=spelled(curve.label, kind),
        **look,
    )
    if any(end is not None for end in curve.upper):
        ends = [math.nan if end is None else end for end in curve.upper]  # a gap in the band
        axes.fill_between(curve.x, curve.mean, ends, color=colour, alpha=0.12, linewidth=0)
    for at, mean, text in zip(curve.x, curve.mean, curve.labels, strict=False):
        axes.annotate(
            spelled(text, kind),
            (at, mean),
            (0, 8),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )


def _points(axes: Axes, panel: Panel, points: Points, kind: str) -> None:
    """Points beyond the axes stand on their edge."""
    colour = _colour(points.colour)
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
        label=spelled(points.label, kind),
        **look,
    )
    for x, y, text in zip(points.x, points.y, points.labels, strict=False):
        axes.annotate(
            spelled(text, kind),
            (min(x, right), min(y, top)),
            (5, 4),
            textcoords="offset points",
            fontsize=8,
        )


def _scales(axes: Axes, panel: Panel) -> None:
    """Ticks where something was measured; in logarithms, axes that end with what was attained."""
    ticks = sorted({x for curve in panel.curves for x in curve.x})
    if panel.logarithmic:
        _logarithms(axes, panel)
    else:
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.25)  # room for the key
        span = (ticks[-1] - ticks[0]) or 1
        ticks = [
            tick
            for place, tick in enumerate(ticks)  # two labels must not run into each other
            if place == 0 or tick - ticks[place - 1] > 0.02 * span
        ]
    turned = 0 if len(ticks) <= 13 else 45
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], rotation=turned)


def _logarithms(axes: Axes, panel: Panel) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    spreads = [(curve, curve.sd or [0.0] * len(curve.mean)) for curve in panel.curves]
    top = max(mean + sd for curve, sds in spreads for mean, sd in zip(curve.mean, sds, strict=True))
    low = min(
        [value for curve in panel.curves for value in curve.mean]
        + [value for line in panel.references for value in line.y]
    )
    if top > DECADE * low:
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(6))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
    axes.minorticks_off()
    axes.set_ylim(low * 0.96, min(axes.get_ylim()[1], top * 1.6))  # a loose certificate may leave


def _colour(colour: int | str) -> str:
    return PALETTE[colour % len(PALETTE)][0] if isinstance(colour, int) else colour


def _marker(colour: int | str) -> str:
    return PALETTE[colour % len(PALETTE)][1] if isinstance(colour, int) else "o"


def _ordered(axes: Axes) -> list[tuple[Any, str]]:
    """Measurements (those with error bars) first, then theory."""
    handles, labels = axes.get_legend_handles_labels()
    pairs = list(zip(handles, labels, strict=True))
    return sorted(pairs, key=lambda pair: not isinstance(pair[0], ErrorbarContainer))


def _key(axes: Axes, **look: Any) -> None:
    """Inside a panel, on a ground of its own: a curve behind it does not cross the letters."""
    pairs = _ordered(axes)
    if pairs:
        ground: dict[str, Any] = {"frameon": True, "framealpha": 0.85, "edgecolor": "none"}
        handles, labels = zip(*pairs, strict=True)
        axes.legend(handles, labels, **(ground | look))


def _shared_key(figure: Figure, axes_list: list[Axes]) -> None:
    """Every series of every panel, once."""
    unique = {label: handle for axes in axes_list for handle, label in _ordered(axes)}
    figure.legend(list(unique.values()), list(unique), loc="outside right center", fontsize=9)
