"""A random map measured on several texts: the request, its forecast, and every trial."""

from __future__ import annotations

from functools import partial

from wordsway.core.format import format_bytes, format_seconds
from wordsway.intervals import CONVERGED
from wordsway.render import blocks as b
from wordsway.render.numbers import at_least, count, digits, largest, number
from wordsway.render.views.common import provenance
from wordsway.render.views.sensitivity import KEY, OVER, average_line, interval_columns
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
    where = rows_line(request)
    for name, value in request.moves.items():
        where += f" · {value}" if name != "together" else ""
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"


def rows_line(request: Request) -> str:
    """The rows and words that may change, counted from 0.

    >>> [rows_line(Request("raf", 9, 4, positions=rows)) for rows in ((0,), (0, 3), "all")]
    ['row 0', 'rows 0,3', 'all rows']
    """
    if request.together is not None:
        return f"rows {request.together} together"
    if isinstance(request.positions, str):
        return "all rows" if request.positions == "all" else "all words"
    rows = [str(row) for row in request.positions if isinstance(row, int)]
    words = [row.partition(":")[2] for row in request.positions if isinstance(row, str)]
    return ", ".join(
        f"{what}{'s' if len(found) > 1 else ''} {','.join(found)}"
        for what, found in (("row", rows), ("word", words))
        if found
    )


def request_facts(request: Request) -> dict[str, str]:
    """Everything that decides the numbers of a request."""
    facts = {name: str(value) for name, value in request.sizes.items() if value is not None}
    return facts | {"texts": request.data, "seed": str(request.seed)}


def forecast_view(cost: Forecast) -> b.ResultView:
    needs = f"{format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
    blocks: list[b.Block] = [
        b.headline(request_line(cost.request)),
        b.plain(f"forecast for {count(cost.request.trials, 'trial')} on an idle machine: {needs}"),
    ]
    if cost.refused is not None:
        blocks.append(b.warning(f"It would be refused: {cost.refused}."))
    return b.ResultView("Forecast", blocks)


def measurement_view(result: Measurement) -> b.ResultView:
    request = result.request
    blocks: list[b.Block] = [b.headline(request_line(request)), _table(result)]
    blocks.append(b.plain(b.Span(f"S, {rows_line(request)}: ", "bold"), _mean(result)))
    if loose := sum(trial.status != CONVERGED for trial in result.trials):
        remedy = "a longer search (effort= in Python) may attain more"
        blocks.append(b.soft(f"not converged in {loose} of {len(result.trials)} trials: {remedy}"))
    average = average_line(result.averages)
    if average is not None:
        blocks.append(b.plain(f"on average, {average}"))
    if "model" in result.source:
        how = f"layer {result.source['layer']}, padding {result.source['padding']}"
        blocks.append(b.soft(f"embedded by {result.source['model']}, {how}"))
    cost = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    if result.interrupted:
        cost += f" · interrupted after {len(result.trials)} of {request.trials} trials"
    return b.ResultView(
        "Sensitivity of a random map",
        [*blocks, b.source(cost)],
        provenance(result, request_facts(request)),
        lambda: _bars(result, average),
    )


def _mean(result: Measurement) -> str:
    """Mean ± sd of what was attained, and the kinds of certificates."""
    if result.mean is None:
        return "no trial was finished"
    spread = "" if result.sd is None else f" ± {digits(result.sd, 2)} (sd)"
    kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
    certificate = f"certificate: {', '.join(kinds)}" if kinds else "no certificate"
    return f"mean attained {at_least(result.mean)}{spread} · {certificate}"


def _table(result: Measurement) -> b.Table:
    top = largest(trial.upper or trial.lower for trial in result.trials)
    *ends, bar = interval_columns(top)
    columns = [
        *ends,
        b.Column("ratio", cell=_ratio),
        b.Column("row", cell=lambda trial: str(trial.position)),
    ]
    columns += [
        b.Column(over, cell=partial(_average, name))
        for name, over in OVER.items()
        if name in result.averages
    ]
    if any(trial.text for trial in result.trials):
        columns += [
            b.Column("word", "text", cell=lambda trial: trial.word or ""),
            b.Column("text", "text", cell=lambda trial: (trial.text or {}).get("id", "")),
        ]
    time = b.Column("time", optional=True, cell=lambda trial: format_seconds(trial.seconds))
    return b.table_of(result.trials, [*columns, time, bar], numbered="trial", shown=100)


def _average(name: str, trial: Trial) -> str:
    return number(trial.averages[name].mean)


def _ratio(trial: Trial) -> str:
    """Certified over attained."""
    if trial.upper is None or not trial.lower:
        return "–"
    return f"{trial.upper / trial.lower:.2f}"


def _bars(result: Measurement, average: str | None) -> b.Bars:
    lines = [] if result.mean is None else [(result.mean, "", "--")]
    lines += [(change.mean, "", ":") for change in result.averages.values()]
    over = ", ".join(OVER[name] for name in result.averages)
    label = "relative change S by one row; dashed: mean attained"
    label += f", dotted: mean over {over}" if over else ""
    trials = result.trials
    return b.Bars(
        f"{request_line(result.request)}\nS, {rows_line(result.request)}: {_mean(result)}"
        + (f"\non average, {average}" if average else ""),
        [f"trial {at}" + (f", {one.word}" if one.word else "") for at, one in enumerate(trials)],
        [b.BarColumn(label, [one.lower for one in trials], [one.upper for one in trials])],
        KEY,
        lines,
    )
