"""Any result in a terminal: its table, where nobody wrote a view of its own."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.render.numbers import count
from wordsway.render.terminal.tables import Column, table
from wordsway.render.wording.plain import cells_of, title_of
from wordsway.result import Result

#: Rows of a table; what is left is counted.
SHOWN = 20


def plain_panel(result: Result) -> RenderableType:
    """The class's name and the rows of ``frame()``."""
    names, rows, right = cells_of(result)
    columns = [
        Column(name, "right" if number else "left")
        for name, number in zip(names, right, strict=True)
    ]
    parts: list[RenderableType] = [
        Text(title_of(result), style="bold"),
        table(columns, rows[:SHOWN]),
    ]
    if len(rows) > SHOWN:
        parts.append(Text(f"… and {count(len(rows) - SHOWN, 'more row')}", style="dim"))
    return Group(*parts)
