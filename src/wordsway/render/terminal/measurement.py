"""A random map measured on several texts, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.measure import Measurement
from wordsway.format import format_seconds
from wordsway.render.numbers import largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, IntervalBar, table
from wordsway.render.wording.measurement import cost_line, mean_line, ratio, source_line
from wordsway.render.wording.request import request_line
from wordsway.render.wording.sensitivity import OVER, average_line


@panels.register(Measurement)
def measurement_panel(result: Measurement) -> RenderableType:
    """One row per trial, then mean ± sd."""
    parts: list[RenderableType] = [
        Text(one_line(request_line(result.request)), style="bold"),
        _table(result),
    ]
    parts.append(Text.assemble(("S ", "bold"), mean_line(result)))
    average = average_line(result.averages)
    if average is not None:
        parts.append(Text(f"on average, {average}"))
    source = source_line(result)
    if source:
        parts.append(Text(one_line(source), style="dim"))
    return Group(*parts, Text(cost_line(result), style="dim"))


def _table(result: Measurement) -> RenderableType:
    """Where averages were asked for, they stand in the place of times and bars."""
    real = any(trial.text for trial in result.trials)
    top = largest(trial.upper or trial.lower for trial in result.trials)
    asked = [name for name in OVER if name in result.averages]
    columns: list[Column | str] = ["trial", "attained", "certified", "ratio", "row"]
    columns += [OVER[name] for name in asked] or ["time"]
    if real:
        columns += [
            Column("word", "left", width=8 if asked else 12),
            Column("text", "left", width=12 if asked else 14),
        ]
    rows = []
    for index, trial in enumerate(result.trials):
        row: list[object] = [
            index,
            number(trial.lower),
            number(trial.upper),
            ratio(trial),
            trial.position,
        ]
        row += [number(trial.averages[name].mean) for name in asked]
        row += [] if asked else [format_seconds(trial.seconds)]
        if real:
            row += [trial.word or "", (trial.text or {}).get("id", "")]
        rows.append(row if asked else [*row, IntervalBar(trial.lower, trial.upper, top)])
    return table(columns if asked else [*columns, Column("", "left")], rows)
