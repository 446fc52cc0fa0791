"""Every map over a few n, as a picture."""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.experiments.tour import Tour
from wordsway.render.plot import figures
from wordsway.render.plot.chart import chart_figure


@figures.register(Tour)
def tour_figure(result: Tour, kind: str) -> Figure:
    return chart_figure(result.chart(), kind)
