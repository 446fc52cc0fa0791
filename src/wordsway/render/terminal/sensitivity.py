"""A measured interval, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.render.numbers import count, largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, IntervalBar, table
from wordsway.render.wording.sensitivity import (
    average_line,
    interval,
    ranked,
    source_line,
    upper_end,
    witness,
)
from wordsway.sensitivity import Sensitivity, WordSensitivity

#: Rows shown of a long text: the ones that sway most.
SHOWN = 20


@panels.register(Sensitivity)
def sensitivity_panel(result: Sensitivity) -> RenderableType:
    """The interval, the witness, and the rows that sway most, with bars."""
    found = interval(result.lower, result.upper, result.certificate)
    head = Text.assemble(("S ", "bold"), found, f"   ‖Δ‖ ≤ {number(result.radius)}")
    average = average_line({"average": result.average, "real": result.real})
    if average is not None:
        head = Text.assemble(head, f"\non average, {average}")
    row = witness(result)
    name = f" “{one_line(row.word)}”" if row is not None and row.word else ""
    where = f"attained at row {result.position}{name} of {result.n}"
    tail = Text(f"{where} · {source_line(result)}", style="dim")
    if len(result.words) == 1:
        return Group(head, tail)
    rows = ranked(result)
    parts: list[RenderableType] = [head, _table(rows[:SHOWN])]
    if len(rows) > SHOWN:
        more = count(len(rows) - SHOWN, "more row")
        parts.append(Text(f"… and {more}, none above {number(rows[SHOWN - 1].lower)}", style="dim"))
    return Group(*parts, tail)


def _table(rows: list[WordSensitivity]) -> RenderableType:
    named = any(row.word for row in rows)
    top = largest(upper_end(row) for row in rows)
    word = [Column("word", "left", width=24)] if named else []
    columns: list[Column | str] = ["row", *word, "attained", "certified", Column("", "left")]
    cells = [
        (
            row.position,
            *([row.word or ""] if named else []),
            number(row.lower),
            number(row.upper),
            IntervalBar(row.lower, row.upper, top),
        )
        for row in rows
    ]
    return table(columns, cells)
