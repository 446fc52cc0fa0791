"""The error after a one-word change, for a person at a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.lessons import Lessons
from wordsway.format import format_bytes, format_seconds
from wordsway.learning.results import FLIPPED, difficulty
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, table
from wordsway.render.wording.learned import HEADS, learned_cells, place
from wordsway.render.wording.lessons import error_line, request_and_update


@panels.register(Lessons)
def lessons_panel(result: Lessons) -> RenderableType:
    """One row per trial: predictions before and after the update, the error and its certified
    floor.
    """
    parts: list[RenderableType] = [
        Text(one_line(request_and_update(result)), style="bold"),
        _table(result),
        Text(error_line(result)),
    ]
    for index, trial in enumerate(result.trials):
        parts += [Text(f"trial {index}: {line}") for line in _remarks(trial)]
    note = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    note += " · asked for: the label −y" + (" · interrupted" if result.interrupted else "")
    return Group(*parts, Text(note, style="dim"))


def _table(result: Lessons) -> RenderableType:
    real = any(trial["word"] for trial in result.trials)
    rows = [
        [index, *learned_cells(trial), *([place(trial)] if real else [])]
        for index, trial in enumerate(result.trials)
    ]
    words = [Column("word", "left")] if real else []
    return table(["trial", *HEADS, *words], rows, padding=(0, 1, 0, 0))


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


def _turned(row: dict[str, Any]) -> str:
    """A row with its error and, where the label is turned whatever rounding says, γ, which then
    tells rows apart.
    """
    if row["error"] > FLIPPED:
        return f"{one_line(place(row))} {row['error']:.3g}"
    return f"{one_line(place(row))} 0 (γ {row['gamma']:.3g})"
