"""Any result in a terminal: its table, where nobody wrote a view of its own."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.render.numbers import count
from wordsway.render.terminal.tables import Column, Fitted, table
from wordsway.render.wording.plain import cells_of, title_of
from wordsway.result import Result

#: Rows of a table, and characters of a cell; what is left is counted.
SHOWN, WIDEST = 20, 24


def plain_panel(result: Result) -> RenderableType:
    """The class's name and the rows of ``frame()``, as many columns as fit."""
    return Fitted(lambda width, colours: _panel(result, width))


def _panel(result: Result, width: int) -> RenderableType:
    names, rows, right = cells_of(result)
    shown = rows[:SHOWN]
    columns: list[Column] = []
    used = 0
    for place, name in enumerate(names):
        cells = [name, *(row[place] for row in shown)]
        wide = min(WIDEST, max(cell_len(cell) for cell in cells))
        used += wide + 2
        if used > width:
            break
        columns.append(Column(name, "right" if right[place] else "left", width=wide))
    kept = len(columns)
    drawn = table(columns, [row[:kept] for row in shown])
    parts: list[RenderableType] = [Text(title_of(result), style="bold"), drawn]
    if len(rows) > SHOWN:
        parts.append(Text(f"… and {count(len(rows) - SHOWN, 'more row')}", style="dim"))
    if len(names) > kept:
        parts.append(Text(f"not shown: {', '.join(names[kept:])}", style="dim"))
    return Group(*parts)
