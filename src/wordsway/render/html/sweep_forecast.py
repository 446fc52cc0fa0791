"""What is left of a sweep and what it will cost, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line
from wordsway.experiments.forecast import SweepForecast
from wordsway.format import format_bytes, format_seconds
from wordsway.render.html import elements, fragments


@fragments.register(SweepForecast)
def sweep_forecast_fragment(cost: SweepForecast) -> str:
    left = html_line(f"{cost.left:,} of {cost.total:,} {cost.what} left")
    line = f"about {format_seconds(cost.seconds)} with {cost.workers} workers"
    memory = f"peak memory {format_bytes(cost.bytes)} in all"
    return elements.frame([elements.paragraph(f"<b>{left}</b>: {line}, {memory}")])
