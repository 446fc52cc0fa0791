"""What every medium says of one update and the rows that were changed after it."""

from __future__ import annotations

from wordsway.format import format_seconds
from wordsway.learning.results import Learned, Learning
from wordsway.render.numbers import number
from wordsway.render.wording.learned import update_line


def headline(result: Learning) -> str:
    """The easiest row."""
    best = result.best
    floor = "no certificate" if best.bound is None else f"floor {number(best.bound)}"
    return f"error {number(best.error)} at row {best.position} ({floor}), γ = {number(best.gamma)}"


def about(result: Learning) -> str:
    name = result.map.get("map", "map")
    how = update_line(result.update, result.loss, result.penalty, result.train)
    sizes = f"n = {result.n}, d = {result.d}"
    return f"{name}, {sizes} · {how} · {format_seconds(result.seconds)} · seed {result.seed}"


def ranked(result: Learning) -> list[Learned]:
    """Rows, the easiest to flip first."""
    return sorted(result.rows, key=lambda row: row.difficulty)
