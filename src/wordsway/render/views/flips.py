"""Shared by the views of learning: the error after a one-word change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordsway.core.chart import Chart, Panel, Points, Reference
from wordsway.render.blocks import Column

#: f before the update on X and on X^i(Δ), then after it.
COLUMNS = (
    Column("y"),
    Column("before"),
    Column("→ Δ"),
    Column("after"),
    Column("→ Δ"),
    Column("error"),
    Column("floor"),
    Column("γ"),
    Column("A"),
)
KEY = (
    "before, after: the prediction on the text and, after →, on the changed one; the wanted label "
    "is −y; floor: lower bound of the error, from the certified S"
)
_NUMBERS = (
    "before_original",
    "before_changed",
    "after_original",
    "after_changed",
    "error",
    "bound",
    "gamma",
    "alignment",
)
#: The smallest ends of the axes.
RIGHT, TOP = 3.0, 5.0


def flip_cells(row: Mapping[str, Any]) -> list[str]:
    """The cells under `COLUMNS`."""
    values = [row[name] for name in _NUMBERS]
    return [f"{row['label']:+d}", *("–" if value is None else f"{value:.3g}" for value in values)]


def place(row: Mapping[str, Any]) -> str:
    """A row's number and, where it is known, its word."""
    return f"{row['position']}" + (f" {row['word']}" if row.get("word") else "")


def update_line(update: str, loss: str, penalty: float, train: int) -> str:
    """How the model was updated, and the loss that Δ minimises."""
    weight = f" (p = {penalty:g})" if penalty else ""
    return f"{update} on {train:,} training texts and one more, {loss} loss{weight}"


def error_chart(title: str, rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Chart:
    """Every row with its certified floor, and the curve of a layer that ignores the word."""
    gamma = [step / 50 for step in range(101)]
    blind = Reference(
        "(2 − γ)²: the word is ignored", gamma, [(2 - x) ** 2 for x in gamma], style="--"
    )
    x = [float(row["gamma"]) for row in rows]
    points = [Points("error", x, [float(row["error"]) for row in rows], 1, "o", labels)]
    if floors := [row for row in rows if row["bound"] is not None]:
        bounds = [float(row["bound"]) for row in floors]
        floor_x = [float(row["gamma"]) for row in floors]
        points.append(Points("certified floor", floor_x, bounds, 0, "_"))
    panel = Panel(
        title,
        references=[blind],
        points=points,
        x_label="γ = |f(X^i(Δ), θ*) − f(X, θ*)|, by the old model",
        y_label="error on the changed text, (f + y)²",
        right=max([RIGHT, *(1.1 * value for value in x)]),
        top=max([TOP, *(1.1 * float(row["error"]) for row in rows)]),
    )
    return Chart([panel], shared_key=True)
