"""Curves and points: the picture itself, and its numbers."""

from __future__ import annotations

from wordsway.core.chart import Chart
from wordsway.render.blocks import View


def view(chart: Chart) -> View:
    return View(chart.title or "Chart", [chart], picture=lambda: chart)
