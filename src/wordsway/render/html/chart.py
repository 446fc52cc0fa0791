"""Curves and points as HTML: the picture itself, and its numbers below."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from wordsway.chart import Chart
from wordsway.render.files import medium
from wordsway.render.html import elements, fragments
from wordsway.render.html.fallback import plain_table
from wordsway.render.html.picture import inline_svg


@fragments.register(Chart)
def chart_fragment(chart: Chart) -> str:
    numbers = elements.folded("Numbers", plain_table(chart), opened=False)
    return elements.frame([chart_picture(chart), numbers])


def chart_picture(chart: Chart) -> str:
    """The chart as an SVG inside the document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        medium("plot").save(chart, path, "svg")
        svg = path.read_text("utf-8")
    return inline_svg(svg, f"c{hashlib.sha256(svg.encode()).hexdigest()[:8]}-")
