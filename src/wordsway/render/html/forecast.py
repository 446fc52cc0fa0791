"""What a measurement will cost, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line
from wordsway.experiments.forecast import Forecast
from wordsway.format import format_bytes, format_seconds
from wordsway.render.html import elements, fragments
from wordsway.render.numbers import count
from wordsway.render.wording.request import request_line


@fragments.register(Forecast)
def forecast_fragment(cost: Forecast) -> str:
    line = f"{format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
    return elements.frame(
        [
            elements.paragraph(f"<b>{html_line(request_line(cost.request))}</b>"),
            elements.paragraph(f"forecast for {count(cost.request.trials, 'trial')}: {line}"),
        ]
    )
