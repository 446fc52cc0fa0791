"""Any result as HTML: its table, where nobody wrote a view of its own."""

from __future__ import annotations

from wordsway.escape import html_line
from wordsway.render.html import elements
from wordsway.render.numbers import count
from wordsway.render.wording.plain import cells_of, title_of
from wordsway.result import Result

#: Rows of a table; what is left is counted.
SHOWN = 100


def plain_fragment(result: Result) -> str:
    """The class's name and the rows of ``frame()``."""
    names, rows, right = cells_of(result)
    heads = [
        (html_line(name), elements.RIGHT if number else elements.LEFT)
        for name, number in zip(names, right, strict=True)
    ]
    cells = [[html_line(cell) for cell in row] for row in rows[:SHOWN]]
    parts = [f"<div><b>{html_line(title_of(result))}</b></div>", elements.table(heads, cells)]
    if len(rows) > SHOWN:
        parts.append(elements.source(f"… and {count(len(rows) - SHOWN, 'more row')}"))
    return elements.frame(parts)
