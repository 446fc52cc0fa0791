"""A random map measured on several texts: an interval per trial, then mean ± sd."""

from __future__ import annotations

from wordsway.core.format import format_bytes, format_seconds
from wordsway.render.blocks import (
    Bar,
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
)
from wordsway.render.numbers import digits, largest, number
from wordsway.render.views.provenance import provenance
from wordsway.render.views.requests import request_line
from wordsway.render.views.sensitivity import OVER, average_line
from wordsway.studies.measure import Measurement, Trial


def view(result: Measurement) -> View:
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
        [trial.lower for trial in result.trials],
        [trial.upper for trial in result.trials],
        f"relative change S by one row; dashed: mean attained{dotted}",
        lines=lines,
    )
