"""A random map measured on several texts, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.measure import Measurement, Trial
from wordsway.format import format_bytes, format_seconds
from wordsway.render.numbers import largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import BAR, Column, interval_bar, table
from wordsway.render.wording.request import request_line


@panels.register(Measurement)
def measurement_panel(result: Measurement) -> RenderableType:
    """One row per trial, then mean ± sd."""
    parts: list[RenderableType] = [
        Text(one_line(request_line(result.request)), style="bold"),
        _table(result),
    ]
    if result.mean is not None:
        spread = "" if result.sd is None else f" ± {result.sd:.2g} (sd)"
        kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
        certificate = f" · certificate: {', '.join(kinds)}" if kinds else " · no certificate"
        mean = f"mean attained {number(result.mean)}{spread}"
        parts.append(Text.assemble(("S ", "bold"), mean, (certificate, "dim")))
    if "model" in result.source:
        how = f"layer {result.source['layer']}, padding {result.source['padding']}"
        parts.append(Text(one_line(f"embedded by {result.source['model']}, {how}"), style="dim"))
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    if result.interrupted:
        note += f" · interrupted after {len(result.trials)} of {result.request.trials} trials"
    return Group(*parts, Text(note, style="dim"))


def _table(result: Measurement) -> RenderableType:
    real = any(trial.text for trial in result.trials)
    top = largest(trial.upper or trial.lower for trial in result.trials)
    columns: list[Column | str] = ["trial", "attained", "certified", "ratio", "row", "time"]
    if real:
        columns += [Column("word", "left", width=12), Column("text", "left", width=14)]
    rows = []
    for index, trial in enumerate(result.trials):
        row: list[object] = [
            index,
            number(trial.lower),
            number(trial.upper),
            _ratio(trial),
            trial.position,
            format_seconds(trial.seconds),
        ]
        if real:
            row += [trial.word or "", (trial.text or {}).get("id", "")]
        rows.append([*row, interval_bar(trial.lower, trial.upper, top, BAR // 3 if real else BAR)])
    return table([*columns, Column("", "left")], rows)


def _ratio(trial: Trial) -> str:
    """Certified over attained."""
    if trial.upper is None or not trial.lower:
        return "–"
    return f"{trial.upper / trial.lower:.2f}"


def tour_table(results: list[Measurement]) -> RenderableType:
    """Mean attained–certified S of every map (rows) at every n (columns)."""
    lengths = sorted({result.request.n for result in results})
    rows = []
    for name in dict.fromkeys(result.request.map for result in results):
        row = {result.request.n: result for result in results if result.request.map == name}
        layers = next(iter(row.values())).request.settings.get("depth")
        cells = [
            f"{row[n].mean:.3g}–{row[n].mean_upper:.3g}" if n in row and row[n].mean_upper else "–"
            for n in lengths
        ]
        rows.append([name + (f" (L={layers})" if layers else ""), *cells])
    return table(
        [Column("map", "left"), *(f"n = {n}" for n in lengths)],
        rows,
        title="mean S: attained–certified",
        title_justify="left",
        title_style="dim",
    )
