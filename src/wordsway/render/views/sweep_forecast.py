"""Time and memory of what is left of a sweep."""

from __future__ import annotations

from wordsway.core.format import format_bytes, format_seconds
from wordsway.engine.forecast import SweepForecast
from wordsway.render.blocks import Span, View, plain


def view(cost: SweepForecast) -> View:
    left = Span(f"{cost.left:,} of {cost.total:,} {cost.what} left", "bold")
    line = f": about {format_seconds(cost.seconds)} with {cost.workers} workers, "
    memory = f"peak memory {format_bytes(cost.bytes)} in total"
    return View("Forecast of a sweep", [plain(left, line, memory)])
