"""A measured interval: attained in full colour, certified in a lighter one."""

from __future__ import annotations

from collections.abc import Mapping

from wordsway.core.format import format_seconds
from wordsway.intervals import Sensitivity, WordSensitivity
from wordsway.maps.average import AverageChange
from wordsway.render.blocks import (
    Bar,
    BarColumn,
    Bars,
    Block,
    Column,
    Span,
    Table,
    View,
    plain,
    source,
)
from wordsway.render.numbers import largest, number
from wordsway.render.views.common import provenance

#: Rows in a picture: the most sensitive ones, in the order of the text.
DRAWN = 40
#: The names of both ends of a bar.
KEY = ("attained by Δ", "certified: S is not above")
#: What an average is over, by its name.
OVER = {"average": "random Δ", "real": "real words"}


def sensitivity_view(result: Sensitivity) -> View:
    """The interval, the witness, and the most sensitive rows."""
    rows = sorted(result.words, key=lambda row: -row.lower)
    found = interval(result.lower, result.upper, result.certificate)
    blocks: list[Block] = [plain(Span("S ", "bold"), found, f"   ‖Δ‖ ≤ {number(result.radius)}")]
    average = average_line({"average": result.average, "real": result.real})
    if average is not None:
        blocks.append(plain(f"on average, {average}"))
    if len(rows) > 1:
        blocks.append(_table(rows))
    witness = next((row for row in result.words if row.position == result.position), None)
    name = f" “{witness.word}”" if witness is not None and witness.word else ""
    about = (
        f"{result.map.get('map', 'map')} · {result.status} · {format_seconds(result.seconds)} · "
        f"seed {result.seed}"
    )
    attained = f"attained at row {result.position}{name} of {result.n}"
    facts = {name: str(value) for name, value in result.map.items()} | {
        "n × d": f"{result.n} × {result.d}",
        "radius of the ball": number(result.radius),
        "status": result.status,
        "certificate": result.certificate or "none",
    }
    drawn = sorted(rows[:DRAWN], key=lambda row: row.position)
    some = "" if len(drawn) == len(rows) else f" · the {len(drawn)} largest"
    return View(
        "Sensitivity of a map",
        [*blocks, source(f"{attained} · {about}")],
        provenance(result, facts),
        lambda: Bars(
            f"S {found}\n{about} · n = {result.n}, d = {result.d}{some}",
            [f"{row.word} ({row.position})" if row.word else f"({row.position})" for row in drawn],
            [
                BarColumn(
                    f"relative change S of the map by one row, ‖Δ‖ ≤ {number(result.radius)}",
                    [row.lower for row in drawn],
                    [row.upper for row in drawn],
                )
            ],
            KEY,
        ),
    )


def _table(rows: list[WordSensitivity]) -> Table:
    named = any(row.word for row in rows)
    top = largest(row.lower if row.upper is None else row.upper for row in rows)
    return Table(
        [
            Column("row"),
            *([Column("word", "text")] if named else []),
            Column("attained"),
            Column("certified"),
            Column("", "bar"),
        ],
        [
            (
                str(row.position),
                *([row.word or ""] if named else []),
                number(row.lower),
                number(row.upper),
                Bar(row.lower, top, row.lower if row.upper is None else row.upper),
            )
            for row in rows
        ],
        on_page=20,
        rest=lambda shown: f"none above {number(rows[shown - 1].lower)}",
    )


def interval(lower: float, upper: float | None, certificate: str | None) -> str:
    """S as an interval.

    >>> interval(0.5, 0.75, "exact"), interval(0.5, None, None)
    ('∈ [0.5000, 0.7500] (exact)', '≥ 0.5000 (no certificate)')
    """
    if upper is None:
        return f"≥ {number(lower)} (no certificate)"
    return f"∈ [{number(lower)}, {number(upper)}] ({certificate})"


def average_line(averages: Mapping[str, AverageChange | None]) -> str | None:
    """The average case, where it was measured."""
    lines = []
    for name, over in OVER.items():
        found = averages.get(name)
        if found is not None:
            error = "" if found.error is None else f" ± {number(found.error)}"
            quantiles = f"90 % below {number(found.q90)}, largest {number(found.most)}"
            lines.append(f"{over}: mean {number(found.mean)}{error}, {quantiles}")
    return " · ".join(lines) or None
