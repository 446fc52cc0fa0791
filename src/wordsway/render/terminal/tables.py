"""Results for a person at a terminal."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wordsway.experiments.forecast import Forecast
from wordsway.experiments.lessons import Lessons
from wordsway.experiments.trials import Measurement, Request
from wordsway.format import format_bytes, format_seconds
from wordsway.learning.learn import TURNED, ease
from wordsway.paper.finding import FAILS, HOLDS, Finding
from wordsway.render.letters import one_line
from wordsway.sensitivity import Sensitivity

#: Words shown of a long text: the ones that sway most.
SHOWN = 20
BAR = 24


def sensitivity_panel(s: Sensitivity) -> RenderableType:
    """The interval, the witness, and the words that sway most, with bars."""
    head = Text.assemble(
        ("S ", "bold"), interval(s.lower, s.upper, s.certificate), f"   ‖Δ‖ ≤ {s.radius:.4g}"
    )
    name = next((word.word for word in s.words if word.position == s.position), None)
    where = f"word {s.position}" + (f" “{one_line(name)}”" if name else "")
    tail = Text(
        f"attained at {where} of {s.n} · {s.status} · {format_seconds(s.seconds)} · seed {s.seed}",
        style="dim",
    )
    if len(s.words) == 1:
        return Group(head, tail)
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("position", justify="right")
    if any(word.word for word in s.words):
        table.add_column("word", overflow="fold", max_width=24)
    table.add_column("lower", justify="right")
    table.add_column("upper", justify="right")
    table.add_column("")
    ranked = sorted(s.words, key=lambda word: -word.lower)
    top = max(word.upper if word.upper is not None else word.lower for word in s.words) or 1.0
    for word in ranked[:SHOWN]:
        cells = [str(word.position)] + (
            [one_line(word.word or "")] if len(table.columns) == 5 else []
        )
        upper = "–" if word.upper is None else f"{word.upper:.4g}"
        table.add_row(*cells, f"{word.lower:.4g}", upper, bar(word.lower, word.upper, top))
    more = len(ranked) - SHOWN
    rest: list[RenderableType] = (
        [Text(f"… and {more} more words, all below {ranked[SHOWN - 1].lower:.4g}", style="dim")]
        if more > 0
        else []
    )
    return Group(head, table, *rest, tail)


def bar(lower: float, upper: float | None, top: float, width: int = BAR) -> Text:
    """What was attained in full blocks, what is certified in light ones."""
    solid = round(width * lower / top)
    light = 0 if upper is None else max(0, round(width * upper / top) - solid)
    return Text.assemble(("█" * solid, "cyan"), ("░" * light, "dim"))


def interval(lower: float, upper: float | None, certificate: str | None) -> str:
    if upper is None:
        return f"≥ {lower:.4g} (no certificate)"
    return f"∈ [{lower:.4g}, {upper:.4g}] ({certificate})"


def request_line(request: Request) -> str:
    """What is being measured, in one line."""
    sizes = f"n={request.n} d={request.d}"
    if request.map in ("rf", "drf"):
        sizes += f" k={request.features:,}" + (
            f" L={request.layers}" if request.map == "drf" else ""
        )
    if isinstance(request.positions, str):
        where = "all rows" if request.positions == "all" else "all words"
    else:
        where = f"row{'s' if len(request.positions) > 1 else ''} {','.join(map(str, request.positions))}"
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"


def measurement_table(result: Measurement) -> RenderableType:
    """One row per trial, then mean ± sd."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    real = any(trial.text for trial in result.trials)
    for name in ("trial", "attained", "certified", "ratio", "row", "time"):
        table.add_column(name, justify="right", no_wrap=True)
    if real:
        table.add_column("word", max_width=12, overflow="ellipsis", no_wrap=True)
        table.add_column("text", max_width=14, overflow="ellipsis", no_wrap=True)
    table.add_column("", no_wrap=True)
    top = max((trial.upper or trial.lower for trial in result.trials), default=1.0)
    for index, trial in enumerate(result.trials):
        upper, ratio = (
            ("–", "–")
            if trial.upper is None
            else (f"{trial.upper:.4g}", f"{trial.upper / trial.lower:.2f}" if trial.lower else "–")
        )
        row = [
            str(index),
            f"{trial.lower:.4g}",
            upper,
            ratio,
            str(trial.position),
            format_seconds(trial.seconds),
        ]
        if real:
            row += [
                escape(one_line(trial.word or "")),
                escape(one_line((trial.text or {}).get("id", ""))),
            ]
        table.add_row(*row, bar(trial.lower, trial.upper, top, BAR // 3 if real else BAR))
    spread = "" if result.sd is None else f" ± {result.sd:.2g} (sd)"
    lines: list[RenderableType] = [Text(request_line(result.request), style="bold"), table]
    if result.mean is not None:
        kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
        resting = f" · certificate: {', '.join(kinds)}" if kinds else " · no certificate"
        lines.append(
            Text.assemble(
                ("S ", "bold"), f"mean attained {result.mean:.4g}{spread}", (resting, "dim")
            )
        )
    if real:
        about = result.source
        lines.append(
            Text(
                f"embedded by {about['model']}, layer {about['layer']}, padding {about['padding']}",
                style="dim",
            )
        )
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    if result.interrupted:
        note += f" · interrupted after {len(result.trials)} of {result.request.trials} trials"
    return Group(*lines, Text(note, style="dim"))


def forecast_line(request: Request, cost: Forecast) -> RenderableType:
    trials = f"{request.trials} trial{'s' if request.trials > 1 else ''}"
    return Group(
        Text(request_line(request), style="bold"),
        Text(
            f"forecast for {trials}: {format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
        ),
    )


def tour_table(results: list[Measurement]) -> RenderableType:
    """Mean attained–certified S of every map (rows) at every n (columns)."""
    lengths = sorted({result.request.n for result in results})
    table = Table(
        box=None,
        pad_edge=False,
        header_style="dim",
        title="mean S: attained–certified",
        title_justify="left",
        title_style="dim",
    )
    table.add_column("map")
    for n in lengths:
        table.add_column(f"n = {n}", justify="right")
    for name in dict.fromkeys(result.request.map for result in results):
        row = {result.request.n: result for result in results if result.request.map == name}
        layers = next(iter(row.values())).request.layers
        cells = [
            f"{row[n].mean:.3g}–{row[n].mean_upper:.3g}" if n in row and row[n].mean_upper else "–"
            for n in lengths
        ]
        table.add_row(name + (f" (L={layers})" if layers else ""), *cells)
    return table


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    """Claims beside measurements."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("claim", ratio=3)
    table.add_column("on", ratio=2)
    table.add_column("measured", ratio=3)
    table.add_column("verdict", no_wrap=True)
    for one in findings:
        style = {HOLDS: "green", FAILS: "red"}.get(one.verdict, "dim")
        table.add_row(
            escape(one.claim),
            escape(one.series),
            escape(one.measured),
            Text(one.verdict, style=style),
        )
    return table


def place(one: dict[str, Any]) -> str:
    """A trial's row and, where it is known, its word."""
    return f"{one['position']}" + (f" {one_line(one['word'])}" if one.get("word") else "")


def lessons_table(result: Lessons) -> RenderableType:
    """One row per trial: predictions before and after the update, the error and its certified
    floor.
    """
    lesson, request = result.lesson, result.lesson.request
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    real = any(one["word"] for one in result.trials)
    for name in ("trial", "y", "before", "→ Δ", "after", "→ Δ", "error", "floor", "γ", "A"):
        table.add_column(name, justify="right", no_wrap=True)
    if real:
        table.add_column("word", no_wrap=True)
    for index, one in enumerate(result.trials):
        floor = "–" if one["bound"] is None else f"{one['bound']:.3g}"
        names = ("before_original", "before_changed", "after_original", "after_changed", "error")
        numbers = [f"{one[name]:.3g}" for name in names]
        table.add_row(
            str(index),
            f"{one['label']:+d}",
            *numbers,
            floor,
            f"{one['gamma']:.3g}",
            f"{one['alignment']:.3g}",
            *([place(one)] if real else []),
        )
    head = f"{request.map.upper()} n={request.n} d={request.d} · {lesson.train} training texts ({request.data})"
    head += f" · {lesson.update}, {lesson.loss} loss"
    errors = sorted(one["error"] for one in result.trials)
    lines: list[RenderableType] = [Text(head, style="bold"), table]
    if errors:
        lines.append(
            Text.assemble(
                ("error ", "bold"),
                f"median {statistics.median(errors):.3g}, from {errors[0]:.3g} to {errors[-1]:.3g}",
            )
        )
    for index, one in enumerate(result.trials):
        if "rows" in one:
            order = sorted(one["rows"], key=lambda row: ease(row["error"], row["gamma"]))
            shown = ", ".join(_turned(row) for row in order[:4]) + (
                f" … {_turned(order[-1])}" if len(order) > 4 else ""
            )
            lines.append(
                Text(
                    f"trial {index}: of {len(order)} rows, easiest to turn first, hardest last: {shown}"
                )
            )
        if "real_words" in one:
            shown = ", ".join(
                f"{one_line(best['piece'])} {best['error']:.3g}" for best in one["real_words"][:5]
            )
            lines.append(
                Text(
                    f"trial {index}: of {one['real_words_tried']:,} real words, best {shown} (unchanged {one['unchanged_error']:.3g})"
                )
            )
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)} · asked for: the label −y"
    return Group(*lines, Text(note + (" · interrupted" if result.interrupted else ""), style="dim"))


def _turned(row: dict[str, Any]) -> str:
    """A row with its error and, where the label is turned whatever rounding says, γ, which then
    tells rows apart.
    """
    return (
        f"{place(row)} {row['error']:.3g}"
        if row["error"] > TURNED
        else f"{place(row)} 0 (γ {row['gamma']:.3g})"
    )
