"""Figures 4 and 5 as charts: the error after a one-word change against γ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wordsway.chart import Chart, Panel, Points, Reference
from wordsway.paper.figures import Scatter

if TYPE_CHECKING:
    import pandas

#: Circles for the alignment loss and crosses for the direct one, as in the paper; squares for the
#: penalised one.
MARKERS = {"align": "o", "direct": "x", "penalised": "s"}
LOSSES = {"align": "alignment loss", "direct": "direct loss", "penalised": "penalised loss"}
UPDATES = {"fine-tune": "fine-tuned", "retrain": "re-trained"}
MAPS = {"rf": "RF", "drf": "DRF", "raf": "RAF (softmax)", "relu-raf": "ReLU-RAF"}
#: Where the axes end; the curve (2 − γ)² lives below.
TOP, RIGHT = 5.0, 3.0


def scatter_chart(figure: Scatter, frame: pandas.DataFrame) -> Chart:
    """One column per map and n that was measured, fine-tuned above re-trained."""
    measured = {(str(name), int(n)) for name, n in zip(frame["map"], frame["n"], strict=True)}
    columns = [column for column in figure.panels if column in measured]
    updates = [update for update in UPDATES if update in set(frame["update"])]
    panels = []
    for update in updates:
        for name, n in columns:
            rows = frame[(frame["map"] == name) & (frame["n"] == n) & (frame["update"] == update)]
            panels.append(
                Panel(
                    f"{MAPS[name]}, n = {n} · {UPDATES[update]}",
                    references=[_floor()],
                    points=_points(figure, rows),
                    x_label="γ",
                    y_label="error",
                    right=RIGHT,
                    top=TOP,
                )
            )
    return Chart(panels, columns=len(columns), shared_key=True)


def _floor() -> Reference:
    """Where a layer stays that does not see the word."""
    gamma = [step / 50 for step in range(101)]
    return Reference("(2 − γ)²", gamma, [(2 - x) ** 2 for x in gamma], style="--")


def _points(figure: Scatter, rows: pandas.DataFrame) -> list[Points]:
    by_penalty = any(penalty for _, penalty in figure.losses)
    series = [float(train) for train in figure.trains]
    if by_penalty:
        series = [penalty for _, penalty in figure.losses]
    clouds = []
    for pair, some in rows.groupby(["loss", "penalty" if by_penalty else "train"], dropna=False):
        loss, value = str(pair[0]), float(pair[1])  # type: ignore[arg-type]
        name = f"p = {value:g}" if by_penalty else f"N = {value:,.0f}"
        clouds.append(
            Points(
                f"{name}, {LOSSES[loss]}",
                some["gamma"].tolist(),
                some["error"].tolist(),
                series.index(value),
                MARKERS[loss],
            )
        )
    return sorted(clouds, key=lambda cloud: (cloud.colour, cloud.marker))
