"""Learning after a one-word change: predictions, the error and its certified bound."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from wordsway.core.chart import Chart, Panel, PointSeries
from wordsway.core.format import format_bytes, format_seconds
from wordsway.learning.results import (
    FLIPPED,
    FlipResult,
    blind_curve,
    difficulty,
    ignored_share,
)
from wordsway.render import blocks as b
from wordsway.render.numbers import at_least, number
from wordsway.render.views.common import provenance
from wordsway.render.views.measurement import request_facts
from wordsway.studies.flips import FlipTrials, learning_of


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _spelled(name: str, row: Mapping[str, Any]) -> str:
    return "–" if row[name] is None else f"{row[name]:.3g}"


#: The outcome, then f on X and on X^i(Δ) before the update, and on X^i(Δ) after it.
COLUMNS = (
    b.Column("y", cell=lambda row: f"{row['label']:+d}"),
    b.Column("ignored", cell=lambda row: _share(ignored_share(row["error"], row["gamma"]))),
    *(
        b.Column(name, cell=partial(_spelled, field))
        for name, field in (
            ("error", "error"),
            ("bound", "bound"),
            ("γ", "gamma"),
            ("A", "alignment"),
            ("f", "before_original"),
            ("f(Δ)", "before_changed"),
            ("new f(Δ)", "after_changed"),
        )
    ),
)
KEY = (
    "ignored: √Err/(2 − γ), 1 if the word is ignored, 0 if the flip is learnt, – for γ ≥ 2; bound: "
    "a lower bound of the error, from the certified S; f, f(Δ): the old prediction on the text and "
    "on the changed one; new f(Δ): the prediction after the update, −y is wanted"
)
#: The smallest ends of the axes.
RIGHT, TOP = 3.0, 5.0


def place(row: Mapping[str, Any]) -> str:
    """A row's number and, where it is known, its word."""
    return f"{row['position']}" + (f" {row['word']}" if row.get("word") else "")


def update_line(update: str, loss: str, penalty: float, train: int) -> str:
    """How the model was updated, and the loss that Δ minimises."""
    weight = f" (p = {penalty:g})" if penalty else ""
    return f"{update} on {train:,} training texts and one more, {loss} loss{weight}"


def error_chart(title: str, rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Chart:
    """Every row with its certified bound, and the curve of a layer that ignores the word."""
    x = [float(row["gamma"]) for row in rows]
    points = [PointSeries("error", x, [float(row["error"]) for row in rows], 1, "o", labels)]
    if floors := [row for row in rows if row["bound"] is not None]:
        bounds = [float(row["bound"]) for row in floors]
        floor_x = [float(row["gamma"]) for row in floors]
        points.append(PointSeries("certified lower bound", floor_x, bounds, 0, "_"))
    panel = Panel(
        title,
        references=[blind_curve("(2 − γ)²: the word is ignored")],
        points=points,
        x_label="γ = |f(X^i(Δ), θ*) − f(X, θ*)|, by the old model",
        y_label="error on the changed text, (f + y)²",
        right=max([RIGHT, *(1.1 * value for value in x)]),
        top=max([TOP, *(1.1 * float(row["error"]) for row in rows)]),
    )
    return Chart([panel], shared_key=True)


def flip_result_view(result: FlipResult) -> b.ResultView:
    """The easiest row, then a line per row, the easiest to flip first."""
    rows = [row.to_dict() for row in sorted(result.rows, key=lambda row: row.difficulty)]
    table = b.table_of(
        rows,
        [b.Column("row", cell=lambda row: str(row["position"])), *COLUMNS],
        on_page=40,
        rest=lambda shown: f"none below {number(rows[shown - 1]['error'])}",
    )
    how = update_line(result.update, result.loss, result.penalty, result.train)
    about = (
        f"{result.map.get('map', 'map')}, n = {result.n}, d = {result.d} · {how} · "
        f"{format_seconds(result.seconds)} · seed {result.seed}"
    )
    facts = {name: str(value) for name, value in result.map.items()} | {
        "n × d": f"{result.n} × {result.d}",
        "training texts": f"{result.train:,}",
        "update": result.update,
        "loss": result.loss,
        "radius of the ball": number(result.radius),
    }
    best = result.best
    bound = "no certificate" if best.bound is None else f"at least {at_least(best.bound)}"
    title = f"error {number(best.error)} at row {best.position} ({bound}), γ = {number(best.gamma)}"
    return b.ResultView(
        "The error after a one-word change",
        [b.headline(title), table, b.soft(KEY), b.source(about)],
        provenance(result, facts),
        lambda: error_chart(title, rows, [str(row["position"]) for row in rows[:12]]),
    )


def flip_trials_view(result: FlipTrials) -> b.ResultView:
    """One row per trial, then the errors together."""
    real = any(trial.get("word") for trial in result.trials)
    words = [b.Column("row and word", "text", cell=place)] if real else []
    cost = f"{format_seconds(result.seconds)} · peak memory {format_bytes(result.peak_mb * 1e6)}"
    cost += " · interrupted" if result.interrupted else ""
    request, learning = result.request, learning_of(result.request)
    how = update_line(*learning.setting, learning.train)
    title = f"{request.map.upper()} n={request.n} d={request.d} · {how} ({request.data})"
    labels = [str(index) for index in range(min(12, len(result.trials)))]
    return b.ResultView(
        "The error after a one-word change",
        [
            b.headline(title),
            b.table_of(result.trials, [*COLUMNS, *words], numbered="trial", shown=100),
            b.plain(_errors(result)),
            *(
                b.plain(f"trial {index}: {line}")
                for index, trial in enumerate(result.trials)
                for line in _remarks(trial)
            ),
            b.soft(KEY),
            b.source(cost),
        ],
        provenance(result, request_facts(request)),
        lambda: error_chart(title, result.trials, labels),
    )


def _errors(result: FlipTrials) -> str:
    errors = sorted(result.errors)
    if not errors:
        return "no trial was finished"
    ends = f"from {number(errors[0])} to {number(errors[-1])}"
    shares = [ignored_share(trial["error"], trial["gamma"]) for trial in result.trials]
    known = [share for share in shares if share is not None]
    learnt = f"ignored: median {_share(statistics.median(known))}" if known else "γ ≥ 2"
    return f"{learnt} · error: median {number(statistics.median(errors))}, {ends}"


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
    """A row with its error; where that is 0 up to rounding, γ distinguishes rows."""
    if row["error"] > FLIPPED:
        return f"{place(row)} {row['error']:.3g}"
    return f"{place(row)} 0 (γ {row['gamma']:.3g})"
