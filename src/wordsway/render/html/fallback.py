"""Any result as HTML: its table, where nobody wrote a view of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordsway.escape import html_line
from wordsway.render.html import elements
from wordsway.render.numbers import count
from wordsway.render.wording.plain import cells_of, frame_cells, title_of
from wordsway.result import Result

if TYPE_CHECKING:
    import pandas

#: Rows of a table; what is left is counted.
SHOWN = 100


def plain_fragment(result: Result) -> str:
    """The class's name and the rows of ``frame()``."""
    title = elements.paragraph(f"<b>{html_line(title_of(result))}</b>")
    return elements.frame([title, plain_table(result)])


def plain_table(result: Result) -> str:
    """The first rows of ``frame()``."""
    return _table(*cells_of(result))


def frame_table(frame: pandas.DataFrame) -> str:
    """The first rows of a data frame."""
    return _table(*frame_cells(frame))


def _table(names: list[str], rows: list[list[str]], right: list[bool]) -> str:
    heads = [
        (html_line(name), elements.RIGHT if number else elements.LEFT)
        for name, number in zip(names, right, strict=True)
    ]
    table = elements.table(heads, [[html_line(cell) for cell in row] for row in rows[:SHOWN]])
    if len(rows) <= SHOWN:
        return table
    return table + elements.soft(f"… and {count(len(rows) - SHOWN, 'more row')}")
