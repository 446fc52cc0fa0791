"""Random maps: a measured interval, trials of a request with their forecast, and learning after a
one-word change. Attained values are in full colour, certified ones in a lighter one.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from wordsway.core.chart import Chart, Panel, PointSeries
from wordsway.core.format import count, format_bytes, format_seconds
from wordsway.intervals import CONVERGED, Sensitivity, WordSensitivity, not_converged_line
from wordsway.learning.results import (
    FLIPPED,
    SMALL_GAMMA,
    FlipResult,
    blind_curve,
    difficulty,
    ignored_share,
)
from wordsway.maps.average import AverageChange
from wordsway.maps.proof import Verification
from wordsway.render import blocks as b
from wordsway.render.numbers import at_least, at_most, digits, largest, number
from wordsway.render.views.common import provenance
from wordsway.studies.flips import FlipTrials, learning_of
from wordsway.studies.forecast import Forecast
from wordsway.studies.measure import Measurement, Trial
from wordsway.studies.request import Request

#: Rows in a picture: the most sensitive ones, in the order of the text.
DRAWN = 40
#: The names of both ends of a bar.
KEY = ("attained by Δ", "certified upper bound of S")
#: What an average is over, by its name.
OVER = {"average": "random Δ", "real": "real words"}


def sensitivity_view(result: Sensitivity) -> b.ResultView:
    """The interval, the witness, and the most sensitive rows."""
    rows = sorted(result.words, key=lambda row: -row.lower)
    found = interval(result.lower, result.upper, result.certificate)
    ball = f"‖Δ‖ ≤ {number(result.radius)}"
    if result.constraint is not None:
        ball = f"Δ in {result.constraint}"
    ball = {"insert": f"inserted {ball}", "delete": "deleted words"}.get(result.edit, ball)
    if result.objective != "frobenius":
        ball += f", objective {result.objective}"
    blocks: list[b.Block] = [b.plain(b.Span("S ", "bold"), found, f"   {ball}")]
    average = average_line({"average": result.average, "real": result.real})
    if average is not None:
        blocks.append(b.plain(f"on average, {average}"))
    if len(rows) > 1:
        blocks.append(_rows_table(rows))
    witness = next((row for row in result.words if row.position == result.position), None)
    name = f" “{witness.word}”" if witness is not None and witness.word else ""
    about = (
        f"{result.map.get('map', 'map')} · {result.status} · {format_seconds(result.seconds)} · "
        f"seed {result.seed}"
    )
    where = f"row {result.position}{name}"
    if result.together is not None:
        where = f"rows {', '.join(map(str, result.together))} together"
    attained = f"attained at {where} of {result.n}"
    facts = {name: str(value) for name, value in result.map.items()} | {
        "n × d": f"{result.n} × {result.d}",
        "radius of the ball": number(result.radius),
        "status": result.status,
        "certificate": result.certificate or "none",
    }
    drawn = sorted(rows[:DRAWN], key=lambda row: row.position)
    some = "" if len(drawn) == len(rows) else f" · the {len(drawn)} largest"
    label = f"relative change S of the map, {ball}"
    return b.ResultView(
        "Sensitivity of a map",
        [*blocks, b.source(f"{attained} · {about}")],
        provenance(result, facts),
        lambda: b.Bars(
            f"S {found}\n{about} · n = {result.n}, d = {result.d}{some}",
            [f"{row.word} ({row.position})" if row.word else f"({row.position})" for row in drawn],
            [b.BarColumn(label, [row.lower for row in drawn], [row.upper for row in drawn])],
            KEY,
        ),
    )


def verification_view(result: Verification) -> b.ResultView:
    """The bound that a proof proves, and the inputs that it is about."""
    rows = list(zip(result.rows, result.uppers, strict=True))
    where = f"row {rows[0][0]}" if len(rows) == 1 else f"{len(rows)} rows"
    claim = f"≤ {at_most(result.upper, 6)}   ‖Δ‖ ≤ {number(result.radius)} at {where}"
    blocks: list[b.Block] = [b.plain(b.Span("verified: S ", "bold"), claim)]
    if len(rows) > 1:
        columns = [
            b.Column("row", cell=lambda row: str(row[0])),
            b.Column("proved", cell=lambda row: at_most(row[1])),
        ]
        blocks.append(b.table_of(rows, columns, on_page=20))
    known = [(name, value) for name, value in result.map.items() if name != "kind"]
    parts = [f"{name} {value}" for name, value in known if value not in (None, False, "all")]
    size = [] if result.n is None else [f"n = {result.n}, d = {result.d}"]
    hashes = [f"SHA-256 of {name} {value[:12]}…" for name, value in result.inputs.items()]
    blocks.append(b.plain(" · ".join([str(result.map.get("kind")), *parts, *size])))
    blocks.append(b.plain(" · ".join(hashes)))
    about = result.about.get("map")
    origin = f"labelled {about.get('map')} (not verified) · " if isinstance(about, dict) else ""
    facts = {name: str(value) for name, value in result.map.items()} | {
        f"SHA-256 of {name}": value for name, value in result.inputs.items()
    }
    said = f"{origin}{result.bytes:,} bytes · {format_seconds(result.seconds)}"
    return b.ResultView("A verified proof", [*blocks, b.source(said)], provenance(result, facts))


def _rows_table(rows: list[WordSensitivity]) -> b.Table:
    named = any(row.word for row in rows)
    top = largest(row.lower if row.upper is None else row.upper for row in rows)
    return b.table_of(
        rows,
        [
            b.Column("row", cell=lambda row: str(row.position)),
            *([b.Column("word", "text", cell=lambda row: row.word or "")] if named else []),
            *interval_columns(top),
        ],
        on_page=20,
        rest=lambda shown: f"none above {number(rows[shown - 1].lower)}",
    )


def interval_columns(top: float) -> list[b.Column]:
    """The ends of an interval ``lower`` … ``upper``, and its bar."""
    return [
        b.Column("attained", cell=lambda row: at_least(row.lower)),
        b.Column("certified", cell=lambda row: at_most(row.upper)),
        b.Column(
            "",
            "bar",
            cell=lambda row: b.Bar(row.lower, top, row.lower if row.upper is None else row.upper),
        ),
    ]


def interval(lower: float, upper: float | None, certificate: str | None) -> str:
    """S as an interval.

    >>> interval(0.5, 0.75, "float64"), interval(0.5, None, None)
    ('∈ [0.5000, 0.7500] (float64)', '≥ 0.5000 (no certificate)')
    """
    if upper is None:
        return f"≥ {at_least(lower)} (no certificate)"
    return f"∈ [{at_least(lower)}, {at_most(upper)}] ({certificate})"


def average_line(averages: Mapping[str, AverageChange | None]) -> str | None:
    """The average case, where it was measured."""
    lines = []
    for name, over in OVER.items():
        found = averages.get(name)
        if found is not None:
            error = "" if found.error is None else f" ± {number(found.error)}"
            quantiles = f"90 % below {number(found.q90)}, largest {number(found.most)}"
            lines.append(f"{over}: mean {number(found.mean)}{error}, {quantiles}")
    return " · ".join(lines) or None


def request_line(request: Request) -> str:
    """What is being measured, in one line."""
    sizes = f"n={request.n} d={request.d}"
    for name, value in request.settings.items():
        shown = request.features if name == "k" else value
        if shown is None:
            continue
        letter = "L" if name == "depth" else name
        sizes += f" {letter}={shown:,}" if isinstance(shown, int) else f" {letter}={shown}"
    where = rows_line(request.positions, request.together)
    for name, value in request.moves.items():
        where += f" · {value}" if name != "together" else ""
    return f"{request.map.upper()} {sizes} · {where} · {request.data} texts · seed {request.seed}"


def rows_line(positions: str | Sequence[int | str], together: str | None = None) -> str:
    """The rows and words that may change, counted from 0; as a request or a table has them.

    >>> [rows_line(rows) for rows in ((0,), "0,3", "all", ("word:2",))]
    ['row 0', 'rows 0,3', 'all rows', 'word 2']
    """
    if together is not None:
        return f"rows {together} together"
    each = positions.split(",") if isinstance(positions, str) else list(map(str, positions))
    if each in (["all"], ["words"]):
        return "all rows" if each == ["all"] else "all words"
    rows = [row for row in each if ":" not in row]
    words = [row.partition(":")[2] for row in each if ":" in row]
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
    blocks: list[b.Block] = [b.headline(request_line(request)), _trials_table(result)]
    blocks.append(
        b.plain(
            b.Span(f"S, {rows_line(request.positions, request.together)}: ", "bold"), _mean(result)
        )
    )
    if loose := sum(trial.status != CONVERGED for trial in result.trials):
        certified, total = result.mean_upper is not None, len(result.trials)
        said = not_converged_line(
            loose, total, "effort=4 in Python", certified=certified, used=request.effort
        )
        blocks.append(b.soft(said))
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
        lambda: _trials_bars(result, average),
    )


def _mean(result: Measurement) -> str:
    """Mean ± sd of what was attained, and the kinds of certificates."""
    if result.mean is None:
        return "no trial was finished"
    spread = "" if result.sd is None else f" ± {digits(result.sd, 2)} (sd)"
    kinds = sorted({trial.certificate for trial in result.trials if trial.certificate})
    certificate = f"certificate: {', '.join(kinds)}" if kinds else "no certificate"
    mean = "mean attained" if len(result.trials) > 1 else "attained"
    return f"{mean} {at_least(result.mean)}{spread} · {certificate}"


def _trials_table(result: Measurement) -> b.Table:
    top = largest(trial.upper or trial.lower for trial in result.trials)
    *ends, bar = interval_columns(top)
    columns = [
        *ends,
        b.Column("certified/attained", cell=_ratio),
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


def _trials_bars(result: Measurement, average: str | None) -> b.Bars:
    lines = [] if result.mean is None else [(result.mean, "", "--")]
    lines += [(change.mean, "", ":") for change in result.averages.values()]
    over = ", ".join(OVER[name] for name in result.averages)
    label = "relative change S by one row; dashed: mean attained"
    label += f", dotted: mean over {over}" if over else ""
    trials, request = result.trials, result.request
    where = rows_line(request.positions, request.together)
    return b.Bars(
        f"{request_line(request)}\nS, {where}: {_mean(result)}"
        + (f"\non average, {average}" if average else ""),
        [f"trial {at}" + (f", {one.word}" if one.word else "") for at, one in enumerate(trials)],
        [b.BarColumn(label, [one.lower for one in trials], [one.upper for one in trials])],
        KEY,
        lines,
    )


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _spelled(name: str, row: Mapping[str, Any]) -> str:
    return "–" if row[name] is None else f"{row[name]:.3g}"


#: The outcome, then f on X and on X^i(Δ) before the update, and on X^i(Δ) after it.
FLIP_COLUMNS = (
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
LEGEND = (
    "ignored: √Err/(2 − γ), 1 if the word is ignored (A = 1), 0 if the flip is learnt, larger if "
    "the old model moves towards y, – for γ > 1; bound: a lower bound of the error, from the "
    "certified S; γ: the change of the old model's output; A: 1 keeps the label, −1 flips it; f, "
    "f(Δ): the prediction on the text and on the changed text before the update; new f(Δ): that on "
    "the changed text after it, −y if learnt"
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


def _interpolation(rows: Sequence[Mapping[str, Any]], train: int) -> list[b.Block]:
    """A warning if the features of the training texts are not linearly independent."""
    rank = min((row["rank"] for row in rows), default=train)
    if rank >= train:
        return []
    return [
        b.warning(
            f"the features have rank {rank:,} of {train:,}: the model may not interpolate its "
            "training texts; use fewer texts, or a map with more features"
        )
    ]


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
        x_label="γ = |f(X^i(Δ), θ*) − f(X, θ*)|, before the update",
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
        [b.Column("row", cell=lambda row: str(row["position"])), *FLIP_COLUMNS],
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
        [
            b.headline(title),
            table,
            b.plain(_verdict([rows[0]])),
            *_interpolation(rows, result.train),
            b.soft(LEGEND),
            b.source(about),
        ],
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
            b.table_of(result.trials, [*FLIP_COLUMNS, *words], numbered="trial", shown=100),
            b.plain(_errors(result)),
            *_interpolation(result.trials, learning.train),
            *(
                b.plain(f"trial {index}: {line}")
                for index, trial in enumerate(result.trials)
                for line in _remarks(trial)
            ),
            b.soft(LEGEND),
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
    return f"{_verdict(result.trials)} · error: median {number(statistics.median(errors))}, {ends}"


def _verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """*ignored* with A and γ, as medians; no verdict where the old model makes the change."""
    of = "median " if len(rows) > 1 else ""
    A, gamma = (statistics.median(row[name] for row in rows) for name in ("alignment", "gamma"))
    shares = [ignored_share(row["error"], row["gamma"]) for row in rows]
    known = [share for share in shares if share is not None]
    if gamma > SMALL_GAMMA:
        said = "no verdict: the old model, not the update, makes most of the change"
    else:
        said = f"ignored: {of}{_share(statistics.median(known))}"
        said += f" ({len(known)} of {len(rows)} trials)" if len(known) < len(rows) else ""
    return f"{said} · A: {of}{_share(A)} · γ: {of}{_share(gamma)}"


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
