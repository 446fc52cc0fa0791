"""One update, and the rows that were changed after it."""

from __future__ import annotations

from wordsway.core.format import format_seconds
from wordsway.learning.results import FlipResult
from wordsway.render.blocks import Table, View, headline, soft, source
from wordsway.render.numbers import number
from wordsway.render.views.flips import COLUMNS, KEY, error_chart, flip_cells, update_line
from wordsway.render.views.provenance import provenance


def view(result: FlipResult) -> View:
    """The easiest row, then a line per row, the easiest to flip first."""
    rows = sorted(result.rows, key=lambda row: row.difficulty)
    cells = [[str(row.position), *flip_cells(row.to_dict())] for row in rows]
    table = Table(
        ["row", *COLUMNS],
        cells,
        on_page=40,
        rest=lambda shown: f"none below {number(rows[shown - 1].error)}",
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
    labels = [str(row.position) for row in rows[:12]]
    return View(
        "The error after a one-word change",
        [headline(_best(result)), table, soft(KEY), source(about)],
        provenance(result, facts),
        lambda: error_chart(_best(result), [row.to_dict() for row in rows], labels),
    )


def _best(result: FlipResult) -> str:
    best = result.best
    floor = "no certificate" if best.bound is None else f"floor {number(best.bound)}"
    return f"error {number(best.error)} at row {best.position} ({floor}), γ = {number(best.gamma)}"
