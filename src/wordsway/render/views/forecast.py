"""Time and memory of a measurement."""

from __future__ import annotations

from wordsway.core.format import format_bytes, format_seconds
from wordsway.render.blocks import Block, View, headline, plain, warning
from wordsway.render.numbers import count
from wordsway.render.views.requests import request_line
from wordsway.studies.forecast import Forecast


def view(cost: Forecast) -> View:
    needs = f"{format_seconds(cost.seconds)}, peak memory {format_bytes(cost.bytes)}"
    blocks: list[Block] = [
        headline(request_line(cost.request)),
        plain(f"forecast for {count(cost.request.trials, 'trial')}: {needs}"),
    ]
    if cost.refused is not None:
        blocks.append(warning(f"It would be refused: {cost.refused}."))
    return View("Forecast", blocks)
