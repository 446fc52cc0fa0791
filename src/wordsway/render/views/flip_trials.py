"""Learning trials: predictions before and after the update, the error and its certified floor."""

from __future__ import annotations

import statistics
from typing import Any

from wordsway.core.format import format_bytes, format_seconds
from wordsway.learning.results import FLIPPED, difficulty
from wordsway.render.blocks import Column, Table, View, headline, plain, soft, source
from wordsway.render.numbers import number
from wordsway.render.views.flips import COLUMNS, KEY, error_chart, flip_cells, place, update_line
from wordsway.render.views.provenance import provenance
from wordsway.studies.flips import FlipTrials, learning_of


def view(result: FlipTrials) -> View:
    """One row per trial, then the errors together."""
    real = any(trial.get("word") for trial in result.trials)
    words = [Column("row and word", "text")] if real else []
    rows = [
        [str(index), *flip_cells(trial), *([place(trial)] if real else [])]
        for index, trial in enumerate(result.trials)
    ]
    cost = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    cost += " · interrupted" if result.interrupted else ""
    request = result.request
    facts = {name: str(value) for name, value in request.sizes.items() if value is not None}
    facts |= {"texts": request.data, "seed": str(request.seed)}
    title = _title(result)
    labels = [str(index) for index in range(min(12, len(result.trials)))]
    return View(
        "The error after a one-word change",
        [
            headline(title),
            Table(["trial", *COLUMNS, *words], rows, shown=100),
            plain(_errors(result)),
            *(
                plain(f"trial {index}: {line}")
                for index, trial in enumerate(result.trials)
                for line in _remarks(trial)
            ),
            soft(KEY),
            source(cost),
        ],
        provenance(result, facts),
        lambda: error_chart(title, result.trials, labels),
    )


def _title(result: FlipTrials) -> str:
    request = result.request
    learning = learning_of(request)
    update, loss, penalty = learning.settings
    how = update_line(update, loss, penalty, learning.train)
    return f"{request.map.upper()} n={request.n} d={request.d} · {how} ({request.data})"


def _errors(result: FlipTrials) -> str:
    errors = sorted(result.errors)
    if not errors:
        return "no trial was finished"
    ends = f"from {number(errors[0])} to {number(errors[-1])}"
    return f"error: median {number(statistics.median(errors))}, {ends}"


def _remarks(trial: dict[str, Any]) -> list[str]:
    """Other rows and real words that were tried."""
    lines = []
    if "rows" in trial:
        order = sorted(trial["rows"], key=lambda row: difficulty(row["error"], row["gamma"]))
        shown = ", ".join(_flipped(row) for row in order[:4])
        shown += f" … {_flipped(order[-1])}" if len(order) > 4 else ""
        lines.append(f"of {len(order)} rows, easiest to flip first, hardest last: {shown}")
    if "real_words" in trial:
        shown = ", ".join(
            f"{best['piece']} {best['error']:.3g}" for best in trial["real_words"][:5]
        )
        unchanged = f"(unchanged {trial['unchanged_error']:.3g})"
        lines.append(f"of {trial['real_words_tried']:,} real words, best {shown} {unchanged}")
    return lines


def _flipped(row: dict[str, Any]) -> str:
    """A row with its error; where that is 0 up to rounding, γ tells rows apart."""
    if row["error"] > FLIPPED:
        return f"{place(row)} {row['error']:.3g}"
    return f"{place(row)} 0 (γ {row['gamma']:.3g})"
