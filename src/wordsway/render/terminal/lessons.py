"""The error after a one-word change, for a person at a terminal."""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.lessons import Lessons, learning_of
from wordsway.format import format_bytes, format_seconds
from wordsway.learning.results import FLIPPED, difficulty
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, table

NUMBERS = ("before_original", "before_changed", "after_original", "after_changed", "error")
COLUMNS = ("trial", "y", "before", "→ Δ", "after", "→ Δ", "error", "floor", "γ", "A")


@panels.register(Lessons)
def lessons_panel(result: Lessons) -> RenderableType:
    """One row per trial: predictions before and after the update, the error and its certified
    floor.
    """
    request = result.request
    learning = learning_of(request)
    update, loss, _ = learning.settings
    head = f"{request.map.upper()} n={request.n} d={request.d}"
    head += f" · {learning.train} training texts ({request.data})"
    head += f" · {update}, {loss} loss"
    parts: list[RenderableType] = [Text(one_line(head), style="bold"), _table(result)]
    errors = sorted(trial["error"] for trial in result.trials)
    if errors:
        spread = f"median {statistics.median(errors):.3g}, from {errors[0]:.3g} to {errors[-1]:.3g}"
        parts.append(Text.assemble(("error ", "bold"), spread))
    for index, trial in enumerate(result.trials):
        parts += [Text(f"trial {index}: {line}") for line in _remarks(trial)]
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    note += " · asked for: the label −y" + (" · interrupted" if result.interrupted else "")
    return Group(*parts, Text(note, style="dim"))


def _table(result: Lessons) -> RenderableType:
    real = any(trial["word"] for trial in result.trials)
    rows = []
    for index, trial in enumerate(result.trials):
        row: list[object] = [index, f"{trial['label']:+d}"]
        row += [f"{trial[name]:.3g}" for name in NUMBERS]
        row.append("–" if trial["bound"] is None else f"{trial['bound']:.3g}")
        row += [f"{trial['gamma']:.3g}", f"{trial['alignment']:.3g}"]
        rows.append([*row, place(trial)] if real else row)
    words = [Column("word", "left")] if real else []
    return table([*COLUMNS, *words], rows, padding=(0, 1, 0, 0))


def _remarks(trial: dict[str, Any]) -> list[str]:
    """What else was tried: other rows, real words."""
    lines = []
    if "rows" in trial:
        order = sorted(trial["rows"], key=lambda row: difficulty(row["error"], row["gamma"]))
        shown = ", ".join(_turned(row) for row in order[:4])
        shown += f" … {_turned(order[-1])}" if len(order) > 4 else ""
        lines.append(f"of {len(order)} rows, easiest to turn first, hardest last: {shown}")
    if "real_words" in trial:
        shown = ", ".join(
            f"{one_line(best['piece'])} {best['error']:.3g}" for best in trial["real_words"][:5]
        )
        unchanged = f"(unchanged {trial['unchanged_error']:.3g})"
        lines.append(f"of {trial['real_words_tried']:,} real words, best {shown} {unchanged}")
    return lines


def place(row: dict[str, Any]) -> str:
    """A trial's row and, where it is known, its word."""
    return f"{row['position']}" + (f" {one_line(row['word'])}" if row.get("word") else "")


def _turned(row: dict[str, Any]) -> str:
    """A row with its error and, where the label is turned whatever rounding says, γ, which then
    tells rows apart.
    """
    if row["error"] > FLIPPED:
        return f"{place(row)} {row['error']:.3g}"
    return f"{place(row)} 0 (γ {row['gamma']:.3g})"
