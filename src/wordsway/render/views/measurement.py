"""A random map measured on several texts: the request, its forecast, an interval per trial and mean
± sd.
"""

from __future__ import annotations

from collections.abc import Sequence

from wordsway.core.format import format_bytes, format_seconds
from wordsway.render.blocks import (
    Bar,
    BarColumn,
    Bars,
    Block,
    Column,
    Span,
    Table,
    View,
    headline,
    plain,
    soft,
    source,
    warning,
)
from wordsway.render.numbers import count, digits, largest, number
from wordsway.render.views.common import provenance
from wordsway.render.views.sensitivity import KEY, OVER, average_line
from wordsway.studies.forecast import Forecast
from wordsway.studies.measure import Measurement, Trial
from wordsway.studies.request import Request


def request_line(request: Request) -> str:
    """What is being measured, in one line."""
    sizes = f"n={request.n} d={request.d}"
    for name, value in request.settings.items():
        shown = request.features if name == "k" else value
        if shown is None:
            continue
        letter = "L" if name == "depth" else name
        sizes += f" {letter}={shown:,}" if isinstance(shown, int) else f" {letter}={shown}"
    if isinstance(request.positions, str):
        where = "all rows" if request.positions == "all" else "all words"
    else:
        where = _named(request.positions)
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"


def _named(positions: Sequence[int | str]) -> str:
    """Rows and words, counted from 0.

    >>> _named((0,)), _named((0, 3)), _named(("word:0",)), _named((2, "word:1"))
    ('row 0', 'rows 0,3', 'word 0', 'row 2, word 1')
    """
    parts = []
    for what, found in (
        ("row", [str(row) for row in positions if isinstance(row, int)]),
        ("word", [str(name).partition(":")[2] for name in positions if isinstance(name, str)]),
    ):
        if found:
            parts.append(f"{what}{'s' if len(found) > 1 else ''} {','.join(found)}")
    return ", ".join(parts)


def forecast_view(cost: Forecast) -> View:
    needs = f"{format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
    blocks: list[Block] = [
        headline(request_line(cost.request)),
        plain(f"forecast for {count(cost.request.trials, 'trial')}: {needs}"),
    ]
    if cost.refused is not None:
        blocks.append(warning(f"It would be refused: {cost.refused}."))
    return View("Forecast", blocks)


def measurement_view(result: Measurement) -> View:
    request = result.request
    blocks: list[Block] = [headline(request_line(request)), _table(result)]
    blocks.append(plain(Span("S ", "bold"), _mean(result)))
    average = average_line(result.averages)
    if average is not None:
        blocks.append(plain(f"on average, {average}"))
    if "model" in result.source:
        how = f"layer {result.source['layer']}, padding {result.source['padding']}"
        blocks.append(soft(f"embedded by {result.source['model']}, {how}"))
    cost = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    if result.interrupted:
        cost += f" · interrupted after {len(result.trials)} of {request.trials} trials"
    facts = {name: str(value) for name, value in request.sizes.items() if value is not None}
    facts |= {"texts": request.data, "seed": str(request.seed)}
    return View(
        "Sensitivity of a random map",
        [*blocks, source(cost)],
        provenance(result, facts),
        lambda: _bars(result, average),
    )


def _mean(result: Measurement) -> str:
    """Mean ± sd of what was attained, and the kinds of certificates."""
    if result.mean is None:
        return "no trial was finished"
    spread = "" if result.sd is None else f" ± {digits(result.sd, 2)} (sd)"
    kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
    certificate = f"certificate: {', '.join(kinds)}" if kinds else "no certificate"
    return f"mean attained {number(result.mean)}{spread} · {certificate}"


def _table(result: Measurement) -> Table:
    real = any(trial.text for trial in result.trials)
    top = largest(trial.upper or trial.lower for trial in result.trials)
    averages = [name for name in OVER if name in result.averages]
    columns = [Column(name) for name in ("trial", "attained", "certified", "ratio", "row")]
    columns += [Column(OVER[name]) for name in averages]
    columns += [Column("word", "text"), Column("text", "text")] if real else []
    rows = [
        [
            str(index),
            number(trial.lower),
            number(trial.upper),
            _ratio(trial),
            str(trial.position),
            *(number(trial.averages[name].mean) for name in averages),
            *([trial.word or "", (trial.text or {}).get("id", "")] if real else []),
            format_seconds(trial.seconds),
            Bar(trial.lower, top, trial.lower if trial.upper is None else trial.upper),
        ]
        for index, trial in enumerate(result.trials)
    ]
    return Table([*columns, Column("time", optional=True), Column("", "bar")], rows, shown=100)


def _ratio(trial: Trial) -> str:
    """Certified over attained."""
    if trial.upper is None or not trial.lower:
        return "–"
    return f"{trial.upper / trial.lower:.2f}"


def _bars(result: Measurement, average: str | None) -> Bars:
    lines = [] if result.mean is None else [(result.mean, "", "--")]
    lines += [(change.mean, "", ":") for change in result.averages.values()]
    over = ", ".join(OVER[name] for name in result.averages)
    dotted = f", dotted: mean over {over}" if over else ""
    return Bars(
        f"{request_line(result.request)}\n{_mean(result)}"
        + (f"\non average, {average}" if average else ""),
        [
            f"trial {index}" + (f", {trial.word}" if trial.word else "")
            for index, trial in enumerate(result.trials)
        ],
        [
            BarColumn(
                f"relative change S by one row; dashed: mean attained{dotted}",
                [trial.lower for trial in result.trials],
                [trial.upper for trial in result.trials],
            )
        ],
        KEY,
        lines,
    )
