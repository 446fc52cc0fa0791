"""What is left of a sweep and what it will cost, for a person at a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from wordsway.experiments.forecast import SweepForecast
from wordsway.format import format_bytes, format_seconds
from wordsway.render.terminal import panels


@panels.register(SweepForecast)
def sweep_forecast_panel(cost: SweepForecast) -> RenderableType:
    return Text(
        f"{cost.left:,} of {cost.total:,} {cost.what} left: about {format_seconds(cost.seconds)} "
        f"with {cost.workers} workers, peak memory {format_bytes(cost.bytes)} in all"
    )
