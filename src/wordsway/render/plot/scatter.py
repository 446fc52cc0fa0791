"""Figures 4 and 5: the error after a one-word change against γ, one panel per map and n, one row
per update.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from wordsway.paper.figures import Scatter
from wordsway.render.plot.curves import LOOKS, STYLE, save
from wordsway.render.plot.panels import LOOK

if TYPE_CHECKING:
    import pandas

#: Circles for the alignment loss and crosses for the direct one, as in the paper; squares for the
#: penalised one.
MARKERS = {"align": "o", "direct": "x", "penalised": "s"}
TITLES = {"fine-tune": "fine-tuned", "retrain": "re-trained"}
#: Where the axes end; the curve (2 − γ)² lives below.
TOP, RIGHT = 5.0, 3.0


def draw_scatter(figure: Scatter, frame: pandas.DataFrame, path: Path) -> list[Path]:
    """One column per map and n that was measured, fine-tuned above re-trained; PNG, SVG and PDF."""
    measured = {(str(name), int(n)) for name, n in zip(frame["map"], frame["n"], strict=True)}
    columns = [one for one in figure.panels if one in measured]
    updates = [one for one in TITLES if one in set(frame["update"])]
    shape = (3.3 * len(columns) + 1.4, 3.0 * len(updates) + 0.3)
    with plt.rc_context(STYLE):
        drawn, grid = plt.subplots(
            len(updates),
            len(columns),
            figsize=shape,
            layout="constrained",
            squeeze=False,
            sharex=True,
            sharey=True,
        )
        for at, update in enumerate(updates):
            for beside, (name, n) in enumerate(columns):
                axes = grid[at][beside]
                _points(
                    axes,
                    figure,
                    frame[(frame["map"] == name) & (frame["n"] == n) & (frame["update"] == update)],
                )
                axes.set_title(f"{LOOKS[name][2]}, n = {n}" + f" · {TITLES[update]}", fontsize=10)
                if beside == 0:
                    axes.set_ylabel("error")
                if at == len(updates) - 1:
                    axes.set_xlabel("γ")
        drawn.legend(handles=_key(figure, frame), loc="outside right center", fontsize=9)
        written = save(drawn, path)
        plt.close(drawn)
    return written


def _points(axes: Axes, figure: Scatter, rows: pandas.DataFrame) -> None:
    gamma = np.linspace(0, 2, 101)
    axes.plot(gamma, (2 - gamma) ** 2, "--", color="#555555", linewidth=1.2, zorder=1)
    for series, some in rows.groupby(["loss", _by(figure)], dropna=False):
        loss, value = (str(one) for one in series)
        colour, marker = LOOK[_series(figure).index(float(value))][0], MARKERS[loss]
        look: dict[str, Any] = (
            {"color": colour} if marker == "x" else {"facecolors": "none", "edgecolors": colour}
        )
        x, y = some["gamma"].clip(upper=RIGHT - 0.04), some["error"].clip(upper=TOP - 0.06)
        axes.scatter(x, y, s=26, marker=marker, linewidths=1.3, zorder=2, clip_on=False, **look)
    axes.set_xlim(0, RIGHT)
    axes.set_ylim(0, TOP)


def _by(figure: Scatter) -> str:
    return "penalty" if any(penalty for _, penalty in figure.losses) else "train"


def _series(figure: Scatter) -> list[float]:
    return (
        [penalty for _, penalty in figure.losses]
        if _by(figure) == "penalty"
        else [float(train) for train in figure.trains]
    )


def _key(figure: Scatter, frame: pandas.DataFrame) -> list[Line2D]:
    """What colours, markers and the curve stand for."""
    names = {"penalty": "p = {:g}", "train": "N = {:,.0f}"}[_by(figure)]
    there = {float(one) for one in frame[_by(figure)]}
    lines = [Line2D([], [], color="#555555", linestyle="--", label="(2 − γ)²")]
    lines += [
        Line2D(
            [],
            [],
            color=LOOK[at][0],
            marker=".",
            markersize=10,
            linestyle="",
            label=names.format(one),
        )
        for at, one in enumerate(_series(figure))
        if one in there
    ]
    told = {"align": "alignment loss", "direct": "direct loss", "penalised": "penalised loss"}
    for loss in dict.fromkeys(loss for loss, _ in figure.losses):
        lines.append(
            Line2D(
                [],
                [],
                color="#222222",
                marker=MARKERS[loss],
                fillstyle="none",
                linestyle="",
                label=told[loss],
            )
        )
    return lines
