"""Every map over a few n, for a person at a terminal."""

from __future__ import annotations

from rich.console import RenderableType

from wordsway.experiments.tour import Tour
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, Fitted, table
from wordsway.render.wording.tour import means


@panels.register(Tour)
def tour_panel(result: Tour) -> RenderableType:
    """Mean attained – certified S of every map (rows) at every n (columns); a cell breaks in two
    lines where the terminal is narrow.
    """
    return Fitted(lambda width, colours: _table(result, width))


def _table(result: Tour, width: int) -> RenderableType:
    frame = means(result)
    wraps = 18 + 19 * (len(frame.columns) - 1) > width
    columns = [
        Column(name, "left" if place == 0 else "right", wraps=wraps and place > 0)
        for place, name in enumerate(map(str, frame.columns))
    ]
    return table(
        columns,
        frame.itertuples(index=False),
        title="mean S: attained – certified",
        title_justify="left",
        title_style="dim",
    )
