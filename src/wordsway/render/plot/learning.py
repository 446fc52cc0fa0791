"""One update and the rows that were changed after it, as a picture: error against γ."""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.learning.results import Learning
from wordsway.render.plot import figures
from wordsway.render.plot.chart import chart_figure
from wordsway.render.plot.learned import error_chart
from wordsway.render.wording.learning import headline, ranked


@figures.register(Learning)
def learning_figure(result: Learning, kind: str) -> Figure:
    rows = ranked(result)
    labels = [str(row.position) for row in rows[:12]]
    return chart_figure(
        error_chart(headline(result), [row.to_dict() for row in rows], labels), kind
    )
