"""Every map over a few n, for a person at a terminal."""

from __future__ import annotations

from rich.console import RenderableType

from wordsway.experiments.tour import Tour
from wordsway.render.terminal import panels
from wordsway.render.terminal.measurement import tour_table


@panels.register(Tour)
def tour_panel(result: Tour) -> RenderableType:
    """Mean attained–certified S of every map (rows) at every n (columns)."""
    return tour_table(list(result.measurements))
