"""One update and the rows that were changed after it, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.learning.results import Learning
from wordsway.render.numbers import count, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import table
from wordsway.render.wording.learned import HEADS, KEY, learned_cells
from wordsway.render.wording.learning import about, headline, ranked

#: Rows shown of a long text: the easiest to flip.
SHOWN = 20


@panels.register(Learning)
def learning_panel(result: Learning) -> RenderableType:
    """The easiest row, then a line per row."""
    rows = ranked(result)
    cells = [[row.position, *learned_cells(row.to_dict())] for row in rows[:SHOWN]]
    parts: list[RenderableType] = [
        Text(headline(result), style="bold"),
        table(["row", *HEADS], cells, padding=(0, 1, 0, 0)),
    ]
    if len(rows) > SHOWN:
        more = count(len(rows) - SHOWN, "more row")
        parts.append(Text(f"… and {more}, none below {number(rows[SHOWN - 1].error)}", style="dim"))
    return Group(*parts, Text(KEY, style="dim"), Text(one_line(about(result)), style="dim"))
