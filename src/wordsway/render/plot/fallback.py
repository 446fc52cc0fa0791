"""Any result as a picture: its table, where nobody wrote a view of its own."""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.escape import shortened
from wordsway.render.numbers import count
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import INK
from wordsway.render.wording.plain import cells_of, title_of
from wordsway.result import Result

#: Rows of a table, and letters of a cell; the rest is counted, or cut.
SHOWN, LETTERS = 30, 24


def plain_figure(result: Result, kind: str) -> Figure:
    """The class's name and the rows of ``frame()``."""
    names, rows, right = cells_of(result)
    return table_figure(title_of(result), names, rows, right, kind)


def table_figure(
    title: str, names: list[str], rows: list[list[str]], right: list[bool], kind: str
) -> Figure:
    """A table of text; columns are as wide as their longest cell."""
    lines = [
        [spelled(shortened(cell, LETTERS), kind) for cell in row] for row in [names, *rows[:SHOWN]]
    ]
    widths = [0.085 * max(len(row[column]) for row in lines) + 0.25 for column in range(len(names))]
    high = 0.24 * len(lines) + 0.7
    figure = Figure(figsize=(max(3.0, sum(widths) + 0.3), high))
    figure.text(
        0.15 / figure.get_figwidth(), 1 - 0.22 / high, title, fontweight="bold", va="center"
    )
    left = 0.15
    for column, width in enumerate(widths):
        x = left + width - 0.25 if right[column] else left
        for row, line in enumerate(lines):
            figure.text(
                x / figure.get_figwidth(),
                1 - (0.55 + 0.24 * row) / high,
                line[column],
                ha="right" if right[column] else "left",
                va="center",
                fontsize=9,
                color="#666666" if row == 0 else INK,
            )
        left += width
    if len(rows) > SHOWN:
        more = f"… and {count(len(rows) - SHOWN, 'more row')}"
        figure.text(0.15 / figure.get_figwidth(), 0.1 / high, more, fontsize=8, color="#666666")
    return figure
