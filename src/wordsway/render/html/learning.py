"""One update and the rows that were changed after it, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line
from wordsway.learning.results import Learning
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import number
from wordsway.render.wording.learned import HEADS, KEY, learned_cells
from wordsway.render.wording.learning import about, headline, ranked
from wordsway.render.wording.provenance import provenance

#: Rows of the table; the rest is counted.
SHOWN = 40


@fragments.register(Learning)
def learning_fragment(result: Learning) -> str:
    rows = ranked(result)
    heads = [(name, elements.RIGHT) for name in ("row", *HEADS)]
    cells = [[str(row.position), *learned_cells(row.to_dict())] for row in rows[:SHOWN]]
    parts = [
        elements.paragraph(f"<b>{html_line(headline(result))}</b>"),
        elements.table(heads, cells),
    ]
    if len(rows) > SHOWN:
        least = number(rows[SHOWN - 1].error)
        parts.append(elements.soft(f"… and {len(rows) - SHOWN} more, none below {least}"))
    return elements.frame([*parts, elements.soft(KEY), elements.source(about(result))])


@pages.register(Learning)
def learning_page(result: Learning) -> str:
    more = {name: str(value) for name, value in result.map.items()}
    more |= {
        "n × d": f"{result.n} × {result.d}",
        "training texts": f"{result.train:,}",
        "update": result.update,
        "loss": result.loss,
        "radius of the ball": number(result.radius),
    }
    title = "The error after a one-word change"
    return page_around(title, learning_fragment(result), provenance(result, more), result.to_dict())
