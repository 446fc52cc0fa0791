"""Learning trials as a picture: error against γ."""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.experiments.lessons import Lessons
from wordsway.render.plot import figures
from wordsway.render.plot.chart import chart_figure
from wordsway.render.plot.learned import error_chart
from wordsway.render.wording.lessons import request_and_update


@figures.register(Lessons)
def lessons_figure(result: Lessons, kind: str) -> Figure:
    labels = [str(index) for index in range(min(12, len(result.trials)))]
    return chart_figure(error_chart(request_and_update(result), result.trials, labels), kind)
