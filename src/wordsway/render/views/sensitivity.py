"""A measured interval: attained in full colour, certified in a lighter one."""

from __future__ import annotations

from collections.abc import Mapping

from wordsway.core.format import format_seconds
from wordsway.intervals import Sensitivity, WordSensitivity
from wordsway.maps.average import AverageChange
from wordsway.maps.proof import Verification
from wordsway.render import blocks as b
from wordsway.render.numbers import at_least, at_most, largest, number
from wordsway.render.views.common import provenance

#: Rows in a picture: the most sensitive ones, in the order of the text.
DRAWN = 40
#: The names of both ends of a bar.
KEY = ("attained by Δ", "certified: S is not above")
#: What an average is over, by its name.
OVER = {"average": "random Δ", "real": "real words"}


def sensitivity_view(result: Sensitivity) -> b.ResultView:
    """The interval, the witness, and the most sensitive rows."""
    rows = sorted(result.words, key=lambda row: -row.lower)
    found = interval(result.lower, result.upper, result.certificate)
    ball = f"‖Δ‖ ≤ {number(result.radius)}"
    if result.constraint is not None:
        ball = f"Δ in {result.constraint}"
    ball = {"insert": f"inserted {ball}", "delete": "deleted words"}.get(result.edit, ball)
    if result.objective != "frobenius":
        ball += f", objective {result.objective}"
    blocks: list[b.Block] = [b.plain(b.Span("S ", "bold"), found, f"   {ball}")]
    average = average_line({"average": result.average, "real": result.real})
    if average is not None:
        blocks.append(b.plain(f"on average, {average}"))
    if len(rows) > 1:
        blocks.append(_table(rows))
    witness = next((row for row in result.words if row.position == result.position), None)
    name = f" “{witness.word}”" if witness is not None and witness.word else ""
    about = (
        f"{result.map.get('map', 'map')} · {result.status} · {format_seconds(result.seconds)} · "
        f"seed {result.seed}"
    )
    where = f"row {result.position}{name}"
    if result.together is not None:
        where = f"rows {', '.join(map(str, result.together))} together"
    attained = f"attained at {where} of {result.n}"
    facts = {name: str(value) for name, value in result.map.items()} | {
        "n × d": f"{result.n} × {result.d}",
        "radius of the ball": number(result.radius),
        "status": result.status,
        "certificate": result.certificate or "none",
    }
    drawn = sorted(rows[:DRAWN], key=lambda row: row.position)
    some = "" if len(drawn) == len(rows) else f" · the {len(drawn)} largest"
    label = f"relative change S of the map, {ball}"
    return b.ResultView(
        "Sensitivity of a map",
        [*blocks, b.source(f"{attained} · {about}")],
        provenance(result, facts),
        lambda: b.Bars(
            f"S {found}\n{about} · n = {result.n}, d = {result.d}{some}",
            [f"{row.word} ({row.position})" if row.word else f"({row.position})" for row in drawn],
            [b.BarColumn(label, [row.lower for row in drawn], [row.upper for row in drawn])],
            KEY,
        ),
    )


def verification_view(result: Verification) -> b.ResultView:
    """The bound that a proof proves, and the inputs that it is about."""
    rows = list(zip(result.rows, result.uppers, strict=True))
    where = f"row {rows[0][0]}" if len(rows) == 1 else f"{len(rows)} rows"
    claim = f"≤ {at_most(result.upper, 6)}   ‖Δ‖ ≤ {number(result.radius)} at {where}"
    blocks: list[b.Block] = [b.plain(b.Span("verified: S ", "bold"), claim)]
    if len(rows) > 1:
        columns = [
            b.Column("row", cell=lambda row: str(row[0])),
            b.Column("proved", cell=lambda row: at_most(row[1])),
        ]
        blocks.append(b.table_of(rows, columns, on_page=20))
    about = result.about.get("map")
    origin = f"{about.get('map')} · " if isinstance(about, dict) else ""
    facts = {name: str(value) for name, value in result.map.items()} | {
        f"SHA-256 of {name}": value for name, value in result.inputs.items()
    }
    said = f"{origin}{result.bytes:,} bytes · {format_seconds(result.seconds)}"
    return b.ResultView("A verified proof", [*blocks, b.source(said)], provenance(result, facts))


def _table(rows: list[WordSensitivity]) -> b.Table:
    named = any(row.word for row in rows)
    top = largest(row.lower if row.upper is None else row.upper for row in rows)
    return b.table_of(
        rows,
        [
            b.Column("row", cell=lambda row: str(row.position)),
            *([b.Column("word", "text", cell=lambda row: row.word or "")] if named else []),
            *interval_columns(top),
        ],
        on_page=20,
        rest=lambda shown: f"none above {number(rows[shown - 1].lower)}",
    )


def interval_columns(top: float) -> list[b.Column]:
    """The ends of an interval ``lower`` … ``upper``, and its bar."""
    return [
        b.Column("attained", cell=lambda row: at_least(row.lower)),
        b.Column("certified", cell=lambda row: at_most(row.upper)),
        b.Column(
            "",
            "bar",
            cell=lambda row: b.Bar(row.lower, top, row.lower if row.upper is None else row.upper),
        ),
    ]


def interval(lower: float, upper: float | None, certificate: str | None) -> str:
    """S as an interval.

    >>> interval(0.5, 0.75, "float64"), interval(0.5, None, None)
    ('∈ [0.5000, 0.7500] (float64)', '≥ 0.5000 (no certificate)')
    """
    if upper is None:
        return f"≥ {at_least(lower)} (no certificate)"
    return f"∈ [{at_least(lower)}, {at_most(upper)}] ({certificate})"


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
