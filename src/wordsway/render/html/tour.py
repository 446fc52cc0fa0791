"""Every map over a few n, as HTML: the curves, and the table below."""

from __future__ import annotations

from wordsway.experiments.tour import Tour
from wordsway.render.html import elements, fragments
from wordsway.render.html.chart import chart_picture
from wordsway.render.html.fallback import frame_table
from wordsway.render.wording.tour import means


@fragments.register(Tour)
def tour_fragment(result: Tour) -> str:
    return elements.frame(
        [
            chart_picture(result.chart()),
            elements.heading("mean S: attained – certified"),
            frame_table(means(result)),
        ]
    )
