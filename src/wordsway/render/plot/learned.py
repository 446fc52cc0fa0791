"""The error after a one-word change against γ, how far the old model already moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wordsway.chart import Chart, Panel, Points, Reference

#: Where the axes end at least.
RIGHT, TOP = 3.0, 5.0


def error_chart(title: str, rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Chart:
    """Every row with its certified floor, and the curve of a layer that does not see the word."""
    gamma = [step / 50 for step in range(101)]
    blind = Reference(
        "(2 − γ)²: the word is not seen", gamma, [(2 - x) ** 2 for x in gamma], style="--"
    )
    x = [float(row["gamma"]) for row in rows]
    attained = Points("error", x, [float(row["error"]) for row in rows], 1, "o", labels)
    floors = [row for row in rows if row["bound"] is not None]
    points = [attained]
    if floors:
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
