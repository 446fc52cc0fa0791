"""What a measurement will cost, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line
from wordsway.experiments.forecast import Forecast
from wordsway.format import format_bytes, format_seconds
from wordsway.render.numbers import count
from wordsway.render.terminal import panels
from wordsway.render.wording.request import request_line


@panels.register(Forecast)
def forecast_panel(cost: Forecast) -> RenderableType:
    request = cost.request
    cost_line = f"{format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
    lines = [
        Text(one_line(request_line(request)), style="bold"),
        Text(f"forecast for {count(request.trials, 'trial')}: {cost_line}"),
    ]
    if cost.refused is not None:
        lines.append(Text(f"It would be refused: {one_line(cost.refused)}."))
    return Group(*lines)
