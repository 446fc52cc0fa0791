"""Pictures of views: bars, matrices, curves and texts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from wordsway.core.chart import Chart
from wordsway.core.errors import InputError
from wordsway.core.escape import one_line, runs_right_to_left, shortened
from wordsway.render import blocks as b
from wordsway.render.numbers import hundredths, largest, number
from wordsway.render.plot.chart import chart_figure, draw_panel
from wordsway.render.plot.style import BLUE, GREY, INK, ORANGE

#: Bars that are drawn, and lines of a paragraph.
MOST_BARS, LINES = 60, 7
#: Up to this many tokens the cells of a matrix carry numbers, and up to this many every token is
#: named, with at most this many letters.
NUMBERED, NAMED, TOKEN = 14, 80, 14
#: Letters of a token that fit below a numbered cell.
SHORT = 6
HEAT = LinearSegmentedColormap.from_list(
    "sway", ["#ffffff", "#fbd3ad", "#ee8a3c", "#d55e00", "#5e2500"]
)


def view_figure(view: b.ResultView) -> Figure:
    """The view's picture."""
    picture = None if view.picture is None else view.picture()
    if picture is None:
        raise InputError(
            "a result with a picture", f"“{view.title}”, which has none", "save it as .html or .csv"
        )
    if isinstance(picture, Chart):
        return chart_figure(picture)
    if isinstance(picture, b.Texts):
        return _texts(picture)
    return _bars(picture) if isinstance(picture, b.Bars) else _matrices(picture)


def _wrapped(text: str, letters: int) -> str:
    return "\n".join(textwrap.fill(one_line(line), letters) for line in text.split("\n"))


def _bars(bars: b.Bars) -> Figure:
    """Columns of bars with common names, and layers or curves next to them."""
    names = bars.names[:MOST_BARS]
    rows = max(1 if bars.beside is None else 6, len(names))
    title = _wrapped(bars.title, 78)
    widths = [7.2 if bars.beside is None and len(bars.columns) < 2 else 3.4] + [2.3] * (
        len(bars.columns) - 1
    )
    if isinstance(bars.beside, b.LayerHeat):
        widths.append(min(6.0, max(2.4, 0.25 * bars.beside.values.shape[1])))
    elif bars.beside is not None:
        widths = [5.8, 4.7]
    more = len(bars.names) - MOST_BARS
    title += f"\nthe first {MOST_BARS} of {len(bars.names):,}" if more > 0 else ""
    note = _wrapped(bars.note, max(50, int(13 * sum(widths))))
    size = (sum(widths), 1.5 + 0.26 * rows + 0.15 * (title + note).count("\n"))
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, fontsize=10.5)
    if not names:
        return figure
    axes = list(figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0])
    shades = (BLUE if bars.key else ORANGE, *["#c9b8a8"] * len(bars.columns))
    for panel, column, colour in zip(axes, bars.columns, shades, strict=False):
        _bar_column(panel, column, colour, bars.key or ("", ""))
        panel.set_xlabel(_wrapped(column.label, 64))
        panel.set_yticks(range(len(names)), [_name(name) for name in names])
        panel.tick_params(axis="y", length=0, labelleft=panel is axes[0])
        panel.set_ylim(rows - 0.4, -0.6)
    for at, label, style in bars.lines:
        axes[0].axvline(at, color=INK, linestyle=style, linewidth=1.2, label=label or None)
        axes[0].set_xlim(0, max(axes[0].get_xlim()[1], 1.28 * at))
    if bars.key or any(label for _, label, _ in bars.lines):
        axes[0].legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    if isinstance(bars.beside, b.LayerHeat):
        _layers(figure, axes[-1], bars.beside, rows)
    elif bars.beside is not None:
        draw_panel(axes[-1], bars.beside.panels[0], 40)
        axes[-1].legend(fontsize=9)
    figure.supxlabel(note, fontsize=7.5, color=GREY, x=0.02, ha="left")
    return figure


def _bar_column(axes: Axes, column: b.BarColumn, colour: str, key: tuple[str, str]) -> None:
    """Bars from 0 with their numbers, upper ends, errors and strokes; a missing value has none."""
    count = min(MOST_BARS, len(column.values))
    upper: list[Any] = list(column.upper)[:count] or [None] * count
    marks: list[Any] = list(column.marks)[:count] or [None] * count
    errors = list(column.errors)[:count] or [(0.0, 0.0)] * count
    known = [row for row in range(count) if column.values[row] is not None]
    values = [column.values[row] or 0.0 for row in known]
    if any(end is not None for end in upper):
        tops = [
            value if upper[row] is None else upper[row]
            for row, value in zip(known, values, strict=True)
        ]
        axes.barh(known, tops, height=0.7, color=colour, alpha=0.25, label=key[1])
    look: dict[str, Any] = {}
    if column.errors:
        sides = [[errors[row][side] for row in known] for side in (0, 1)]
        look = {"xerr": sides, "ecolor": INK, "error_kw": {"lw": 0.9}}
    axes.barh(known, values, height=0.7, color=colour, label=key[0] or None, **look)
    marked = [row for row in range(count) if marks[row] is not None]
    strokes = [marks[row] for row in marked]
    axes.plot(strokes, marked, "|", color=BLUE, markersize=8, linestyle="none")
    reach = []
    for row, value in zip(known, values, strict=True):
        ends = (value + errors[row][1], upper[row] or 0.0, marks[row] or 0.0)
        reach.append(max(ends))
        text = f" {number(value)}" + ("" if upper[row] is None else f" – {number(upper[row])}")
        axes.text(reach[-1], row, text, va="center", fontsize=8)
    axes.set_xlim(0, 1.28 * (largest([*reach, *strokes]) or 1.0))
    axes.spines["left"].set_visible(False)


def _layers(figure: Figure, axes: Axes, layers: b.LayerHeat, rows: int) -> None:
    """One cell per row and layer."""
    count, columns = layers.values.shape
    across, down = np.arange(columns + 1) - 0.5, np.arange(count + 1) - 0.5
    low = float(layers.values[:, 1:].min(initial=math.inf))
    high = largest(layers.values.ravel().tolist()) or 1.0
    look: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.4, "cmap": HEAT}
    mesh = axes.pcolormesh(across, down, layers.values, vmin=min(low, high), vmax=high, **look)
    if layers.mark is not None:
        frame: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 1.4}
        place = (layers.mark - 0.5, -0.5)
        axes.add_patch(Rectangle(place, 1, count, clip_on=False, zorder=3, **frame))
    axes.set_xticks(range(0, columns, max(1, -(-columns // 14))))
    axes.set_xlabel("layer")
    axes.set_ylim(rows - 0.4, -0.6)
    axes.spines[:].set_visible(False)
    axes.tick_params(axis="y", length=0, labelleft=False)
    colour_scale(figure, mesh, [axes], layers.label)


def _texts(picture: b.Texts) -> Figure:
    """Paragraphs on the left, the chart on the right."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    left.axis("off")
    place = 1.0
    for span in picture.texts:
        lines = _wrapped(span.text, 56).split("\n")
        lines = [line for line in lines if line.strip()]
        text = "\n".join(lines[:LINES] + ["…"] * (len(lines) > LINES))
        colour = {"first": BLUE, "second": ORANGE}.get(span.style, INK)
        weight = "bold" if span.style else "normal"
        look: dict[str, Any] = {"va": "top", "fontweight": weight, "color": colour}
        left.text(0, place, text, transform=left.transAxes, **look)
        place -= 0.062 * (text.count("\n") + 1) + (0.025 if span.style else 0.075)
    draw_panel(right, picture.chart.panels[0], 52)
    right.legend(fontsize=9)
    return figure


def _name(name: str) -> str:
    shown = shortened(name, 32)
    mark = "\u200e" if runs_right_to_left(shown) else ""  # a number in it stays on the right
    return f"{mark}{shown}{mark}"


def _matrices(picture: b.Matrices) -> Figure:
    spellings = [[one_line(name) for name in one.names] for one in picture.matrices]
    names = [
        [name if len(name) <= TOKEN else f"{name[: TOKEN - 1]}…" for name in one]
        for one in spellings
    ]
    n = max(len(one) for one in names)
    # So that names or numbers fit into a cell.
    cells = max(1.8, 9.0 if n > NAMED else n * (0.52 if n <= NUMBERED else 0.27))
    letters = max(len(name) for one in names for name in one)
    space = 0.25 + (0.1 * letters if n <= NAMED else 0.4)
    widths = [cells + space] * len(names) + ([3.8] if picture.curves else [])
    titles = [_wrapped(shortened(one.title, 138), 46) for one in picture.matrices]
    below = 0.45 if all(map(_level, names)) else space
    high = cells + below + 0.2 * max(title.count("\n") + 1 for title in titles) + 1.1
    wide = max(4.8, sum(widths) + 0.95 * len({one.scale for one in picture.matrices}) + 0.4)
    figure = Figure(figsize=(wide, high), layout="constrained")
    ratios = widths if picture.curves else None
    axes = list(figure.subplots(1, len(widths), squeeze=False, width_ratios=ratios)[0])
    images: dict[str, Any] = {}
    for panel, matrix, labels, title in zip(axes, picture.matrices, names, titles, strict=False):
        image = _heat_map(panel, matrix, labels, title)
        images.setdefault(matrix.scale, (image, []))[1].append(panel)
    for label, (image, panels) in images.items():
        colour_scale(figure, image, panels, label)
    named = n <= NAMED
    axes[0].set_ylabel("attending token" if named else "number of the attending token, from 0")
    for panel in axes[: len(names)]:
        panel.set_xlabel("attended token" if named else "number of the attended token, from 0")
    if picture.curves is not None:
        draw_panel(axes[-1], picture.curves.panels[0], 40)
        axes[-1].set_ylim(bottom=0)
        axes[-1].legend(fontsize=9)
    figure.suptitle(_wrapped(picture.title, int(10 * wide)), fontsize=10.5)
    return figure


def _level(names: Sequence[str]) -> bool:
    """Whether all names fit below their cells; the two words of a change have a line each."""
    longest = max(len(word) for name in names for word in name.split("→"))
    return len(names) <= NUMBERED and longest <= SHORT


def _heat_map(axes: Axes, matrix: b.Matrix, names: Sequence[str], title: str) -> Any:
    """Draw the matrix; rows and columns carry their names."""
    signed = bool((matrix.values < 0).any())
    image = axes.imshow(
        matrix.values,
        cmap="RdBu_r" if signed else "Blues",
        vmin=-matrix.top if signed else 0.0,
        vmax=matrix.top,
        aspect="equal",
        interpolation="nearest",
    )
    n = len(names)
    axes.set_title(title, fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if n <= NAMED:
        level = _level(names)
        below = [name.replace("→", "→\n") for name in names] if level else names
        axes.set_xticks(range(n), below, rotation=0 if level else 90)
        axes.set_yticks(range(n), names)
        labels = [*enumerate(axes.get_xticklabels()), *enumerate(axes.get_yticklabels())]
        for place, label in labels:
            label.set(fontsize=10, fontweight="bold" if place in matrix.bold else "normal")
    elif matrix.bold:
        row = matrix.bold[0]
        axes.set_xticks([row], [f"{row} {names[row]}"])
    for (row, column), value in np.ndenumerate(matrix.values) if n <= NUMBERED else ():
        text = hundredths(value, signed)
        if text != "0.00":
            ink = "white" if abs(value) > 0.6 * matrix.top else INK
            number = axes.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
            number.set_in_layout(False)  # it is inside its cell; measuring it takes time
    return image


def colour_scale(figure: Figure, image: Any, axes: Sequence[Axes], label: str) -> None:
    """The colour bars next to their matrices."""
    bar = figure.colorbar(image, ax=list(axes), shrink=0.9, aspect=24, pad=0.02, label=label)
    bar.outline.set_visible(False)
