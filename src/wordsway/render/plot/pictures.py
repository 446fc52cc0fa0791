"""Pictures of views: bars of intervals, matrices, curves, and a table where there is none."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.figure import Figure

from wordsway.core.chart import Chart
from wordsway.core.escape import runs_right_to_left, shortened
from wordsway.render.blocks import (
    Bar,
    Bars,
    Column,
    Fold,
    Matrices,
    Picture,
    Sentence,
    Span,
    Table,
    View,
)
from wordsway.render.numbers import largest, number
from wordsway.render.plot.chart import chart_figure, draw_panel
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.heat_map import NAMED, cell_size, colour_scale, heat_map, short_names
from wordsway.render.plot.style import BLUE, GREY, INK

#: Bars that are drawn; rows of a table, and letters of a cell.
MOST_BARS, ROWS, LETTERS = 60, 30, 24
#: Letters of a cell in a table of one column.
WIDE = 90


def view_figure(view: View, kind: str) -> Figure:
    """The view's picture, or its first table."""
    picture = view.picture() if view.picture is not None else None
    if picture is not None:
        return _figure(picture, kind)
    tables = [
        inner
        for block in view.blocks
        for inner in (block.blocks if isinstance(block, Fold) else (block,))
        if isinstance(inner, Table)
    ]
    return _table(view.title, tables[0] if tables else _sentences(view), kind)


def _sentences(view: View) -> Table:
    lines = [
        "".join(part if isinstance(part, str) else part.text for part in block.parts)
        for block in view.blocks
        if isinstance(block, Sentence)
    ]
    return Table([Column("", "text")], [[part] for line in lines for part in textwrap.wrap(line)])


def _figure(picture: Picture, kind: str) -> Figure:
    if isinstance(picture, Chart):
        return chart_figure(picture, kind)
    return _bars(picture, kind) if isinstance(picture, Bars) else _matrices(picture, kind)


def _wrapped(text: str, kind: str, letters: int) -> str:
    return "\n".join(textwrap.fill(spelled(line, kind), letters) for line in text.split("\n"))


def _bars(bars: Bars, kind: str) -> Figure:
    lower = list(bars.lower[:MOST_BARS])
    upper = list(bars.upper[:MOST_BARS]) or [None] * len(lower)
    rows = max(1, len(lower))
    title = _wrapped(bars.title, kind, 78)
    figure = Figure(
        figsize=(7.2, 1.5 + 0.26 * rows + 0.15 * title.count("\n")), layout="constrained"
    )
    axes = figure.subplots()
    ends = [low if end is None else end for low, end in zip(lower, upper, strict=True)]
    attained, certified = bars.key or ("", "")
    if any(end is not None for end in upper):
        axes.barh(range(len(lower)), ends, height=0.7, color=BLUE, alpha=0.25, label=certified)
    axes.barh(range(len(lower)), lower, height=0.7, color=BLUE, label=attained)
    axes.set_yticks(range(len(lower)), [_name(name, kind) for name in bars.names[:MOST_BARS]])
    axes.set_ylim(rows - 0.4, -0.6)
    for place, (low, end) in enumerate(zip(lower, upper, strict=True)):
        text = f" {number(low)}" + ("" if end is None else f" – {number(end)}")
        axes.text(ends[place], place, text, va="center", fontsize=8)
    for at, label, style in bars.lines:
        axes.axvline(at, color=INK, linestyle=style, linewidth=1.2, label=label or None)
    reach = largest([*ends, *(at for at, _, _ in bars.lines)])
    axes.set_xlim(0, 1.28 * (reach or 1.0))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(_wrapped(bars.x_label, kind, 64))
    if bars.key or any(label for _, label, _ in bars.lines):
        axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    more = len(bars.lower) - MOST_BARS
    title += f"\nthe first {MOST_BARS} of {len(bars.lower):,}" if more > 0 else ""
    figure.suptitle(title, fontsize=10.5)
    return figure


def _name(name: str, kind: str) -> str:
    shown = spelled(shortened(name, 32), kind)
    mark = "\u200e" if runs_right_to_left(shown) else ""  # a number in it stays on the right
    return f"{mark}{shown}{mark}"


def _matrices(picture: Matrices, kind: str) -> Figure:
    names = [short_names(matrix.names, kind) for matrix in picture.matrices]
    n = max(len(one) for one in names)
    cells = max(1.8, n * cell_size(n))
    letters = max(len(name) for one in names for name in one)
    space = 0.25 + (0.1 * letters if n <= NAMED else 0.4)
    widths = [cells + space] * len(names) + ([3.8] if picture.curves else [])
    titles = [_wrapped(shortened(one.title, 138), kind, 46) for one in picture.matrices]
    high = cells + space + 0.2 * max(title.count("\n") + 1 for title in titles) + 1.1
    wide = max(4.8, sum(widths) + 0.95 * len({one.scale for one in picture.matrices}) + 0.4)
    figure = Figure(figsize=(wide, high), layout="constrained")
    ratios = widths if picture.curves else None
    axes = list(figure.subplots(1, len(widths), squeeze=False, width_ratios=ratios)[0])
    images: dict[str, Any] = {}
    for panel, matrix, labels, title in zip(axes, picture.matrices, names, titles, strict=False):
        signed = bool((matrix.values < 0).any())
        scale: dict[str, Any] = {"cmap": "RdBu_r" if signed else "Blues", "vmax": matrix.top}
        scale["vmin"] = -matrix.top if signed else 0.0
        image = heat_map(panel, matrix.values, labels, title, matrix.bold, **scale)
        if n > NAMED and matrix.bold:
            row = matrix.bold[0]
            panel.set_xticks([row], [f"{row} {labels[row]}"])
        images.setdefault(matrix.scale, (image, []))[1].append(panel)
    for label, (image, panels) in images.items():
        colour_scale(figure, image, panels, label)
    named = n <= NAMED
    axes[0].set_ylabel("attending token" if named else "number of the attending token, from 0")
    axes[0].set_xlabel("attended token" if named else "number of the attended token, from 0")
    if picture.curves is not None:
        draw_panel(axes[-1], picture.curves.panels[0], kind, 40)
        axes[-1].set_ylim(bottom=0)
        axes[-1].legend(fontsize=9)
    figure.suptitle(_wrapped(picture.title, kind, int(10 * wide)), fontsize=10.5)
    return figure


def _table(title: str, table: Table, kind: str) -> Figure:
    """A table of text; columns are as wide as their longest cell, bars are left out."""
    kept = [place for place, head in enumerate(table.heads) if head.kind != "bar"]
    heads = [table.heads[place] for place in kept]
    rows = [[_text(row[place]) for place in kept] for row in table.rows[:ROWS]]
    lines = [
        [spelled(shortened(cell, WIDE if len(kept) == 1 else LETTERS), kind) for cell in row]
        for row in [[head.name for head in heads], *rows]
    ]
    widths = [0.085 * max(len(row[place]) for row in lines) + 0.25 for place in range(len(kept))]
    high = 0.24 * len(lines) + 0.7
    figure = Figure(figsize=(max(3.0, sum(widths) + 0.3), high))
    across = figure.get_figwidth()
    figure.text(0.15 / across, 1 - 0.22 / high, title, fontweight="bold", va="center")
    left = 0.15
    for place, width in enumerate(widths):
        right = heads[place].kind == "number"
        for row, line in enumerate(lines):
            figure.text(
                (left + width - 0.25 if right else left) / across,
                1 - (0.55 + 0.24 * row) / high,
                line[place],
                ha="right" if right else "left",
                va="center",
                fontsize=9,
                color=GREY if row == 0 else INK,
            )
        left += width
    if rest := table.beyond(ROWS):
        figure.text(0.15 / across, 0.1 / high, spelled(rest, kind), fontsize=8, color=GREY)
    return figure


def _text(cell: object) -> str:
    if isinstance(cell, Span):
        return cell.text
    return "" if isinstance(cell, Bar) else str(cell)
