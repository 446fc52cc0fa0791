"""A measured interval as HTML: what was attained in full colour, what is certified in a lighter
one.
"""

from __future__ import annotations

from wordsway.escape import html_line, html_name
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import largest, number
from wordsway.render.wording.provenance import provenance
from wordsway.render.wording.sensitivity import (
    average_line,
    interval,
    ranked,
    source_line,
    upper_end,
    witness,
)
from wordsway.sensitivity import Sensitivity, WordSensitivity

#: Rows of the table; the rest is counted.
SHOWN = 20


@fragments.register(Sensitivity)
def sensitivity_fragment(result: Sensitivity) -> str:
    """The interval, the rows that sway most, and where the numbers come from."""
    rows = ranked(result)
    row = witness(result)
    name = f" “<b>{html_name(row.word)}</b>”" if row is not None and row.word else ""
    where = f"attained at row {result.position}{name} of {result.n}, ‖Δ‖ ≤ {number(result.radius)}"
    found = html_line(interval(result.lower, result.upper, result.certificate))
    parts = [elements.paragraph(f"<b>S {found}</b>, {where}")]
    average = average_line({"average": result.average, "real": result.real})
    if average is not None:
        parts.append(elements.paragraph(html_line(f"on average, {average}")))
    if len(rows) > 1:
        parts.append(_table(rows[:SHOWN]))
    if len(rows) > SHOWN:
        least = number(rows[SHOWN - 1].lower)
        parts.append(elements.soft(f"… and {len(rows) - SHOWN} more, none above {least}"))
    return elements.frame([*parts, elements.source(source_line(result))])


def _table(rows: list[WordSensitivity]) -> str:
    named = any(row.word for row in rows)
    top = largest(upper_end(row) for row in rows)
    heads = [("row", elements.RIGHT), *([("word", elements.WORD)] if named else [])]
    heads += [("attained", elements.RIGHT), ("certified", elements.RIGHT), ("", elements.BARS)]
    cells = [
        [
            str(row.position),
            *([html_name(row.word or "")] if named else []),
            number(row.lower),
            number(row.upper),
            elements.interval_bar(row.lower, row.upper, top),
        ]
        for row in rows
    ]
    return elements.table(heads, cells)


@pages.register(Sensitivity)
def sensitivity_page(result: Sensitivity) -> str:
    more = {name: str(value) for name, value in result.map.items()}
    more |= {
        "n × d": f"{result.n} × {result.d}",
        "radius of the ball": number(result.radius),
        "status": result.status,
        "certificate": result.certificate or "none",
    }
    return page_around(
        "Sensitivity of a map",
        sensitivity_fragment(result),
        provenance(result, more),
        result.to_dict(),
    )
