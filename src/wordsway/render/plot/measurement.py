"""A random map measured on several texts, as a picture: an interval per trial, and their mean."""

from __future__ import annotations

import textwrap

from matplotlib.figure import Figure

from wordsway.escape import shortened
from wordsway.experiments.measure import Measurement, Trial
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.interval_bars import interval_bars
from wordsway.render.plot.style import INK
from wordsway.render.wording.measurement import mean_line
from wordsway.render.wording.request import request_line
from wordsway.render.wording.sensitivity import OVER, average_line

#: Trials drawn.
SHOWN = 60


@figures.register(Measurement)
def measurement_figure(result: Measurement, kind: str) -> Figure:
    shown = result.trials[:SHOWN]
    figure = Figure(figsize=(7.2, 1.6 + 0.25 * max(1, len(shown))), layout="constrained")
    axes = figure.subplots()
    names = [_name(index, trial, kind) for index, trial in enumerate(shown)]
    lower = [trial.lower for trial in shown]
    interval_bars(axes, names, lower, [trial.upper for trial in shown])
    if result.mean is not None:
        axes.axvline(result.mean, color=INK, linestyle="--", linewidth=1.0)
    about = "relative change S by one row; dashed: the mean attained"
    head = f"{textwrap.fill(spelled(request_line(result.request), kind), 78)}\n{mean_line(result)}"
    average = average_line(result.averages)
    if average is not None:
        head += "\n" + textwrap.fill(f"on average, {average}", 78)
        over = ", ".join(OVER[name] for name in result.averages)
        about = f"relative change by one row; dashed: mean attained, dotted: {over}"
        for change in result.averages.values():
            axes.axvline(change.mean, color="white", linestyle=":", linewidth=1.5)
    axes.set_xlabel(about)
    figure.suptitle(head, fontsize=10.5)
    return figure


def _name(index: int, trial: Trial, kind: str) -> str:
    word = f", {spelled(shortened(trial.word, 18), kind)}" if trial.word else ""
    return f"trial {index}{word}"
