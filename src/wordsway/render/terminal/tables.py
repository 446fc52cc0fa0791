"""Tables and bars of a terminal. A text becomes a cell here, and only here: no cell is taken for
rich's markup, and none drives the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from wordsway.core.escape import one_line, runs_right_to_left
from wordsway.render.numbers import share

EIGHTHS = " ▏▎▍▌▋▊▉"
#: Columns of a bar.
BAR = 24


@dataclass(frozen=True)
class TerminalColumn:
    """A column of a table; ``width`` cuts its cells."""

    name: str
    justify: Literal["left", "right"] = "right"
    width: int | None = None
    least: int | None = None
    style: str = ""
    wraps: bool = False


def table(
    columns: Iterable[TerminalColumn | str], rows: Iterable[Sequence[object]], **options: Any
) -> Table:
    """A table without lines. Cells that are no `Text` yet become one, as they are.

    Where there is no room for all of it, bars are drawn shorter, then texts cut; numbers never are.
    """
    drawn = Table(**({"box": None, "pad_edge": False, "header_style": "dim"} | options))
    cells = [
        [cell if isinstance(cell, (Text, BarCell)) else text_cell(cell) for cell in row]
        for row in rows
    ]
    for place, given in enumerate(columns):
        column = TerminalColumn(given) if isinstance(given, str) else given
        least = column.least
        bars = any(isinstance(row[place], BarCell) for row in cells)
        if least is None and column.justify == "right" and not column.wraps:
            heads = [cell_len(line) for line in column.name.split("\n")]
            texts = [row[place] for row in cells]
            least = max([*heads, *(text.cell_len for text in texts if isinstance(text, Text))])
        drawn.add_column(
            Text(column.name),
            justify=column.justify,
            min_width=least,
            max_width=column.width,
            style=column.style,
            no_wrap=not (column.wraps or bars),  # what may wrap gives way first
            overflow="fold" if column.wraps else "ellipsis",
        )
    for row in cells:
        drawn.add_row(*row)
    return drawn


def explained(sentences: Mapping[str, str]) -> Table:
    """One plain sentence for each column of a table above."""
    heads = (
        TerminalColumn("", "left", width=14, style="dim"),
        TerminalColumn("", "left", wraps=True, style="dim"),
    )
    return table(heads, sentences.items(), show_header=False)


def text_cell(text: object, style: str = "") -> Text:
    """A text in one line; after letters that run right to left a mark keeps the numbers beside it
    in their order.
    """
    line = one_line(text)
    return Text(
        line + ("\u200e" if runs_right_to_left(line) else ""), style=style, overflow="ellipsis"
    )


def bar(value: float, top: float, width: int = BAR) -> str:
    """A bar in eighths of a character.

    >>> bar(0.5, 1.0, 3), bar(1.0, 1.0, 3), bar(0.0, 1.0, 3)
    ('█▌', '███', '')
    """
    full, eighths = divmod(round(share(value, top) * width * 8), 8)
    return "█" * full + (EIGHTHS[eighths] if eighths else "")


@dataclass(frozen=True)
class BarCell:
    """A bar as wide as its column: full blocks up to ``lower``, light ones up to ``upper``."""

    lower: float
    upper: float | None
    top: float
    width: int = BAR
    grey: bool = False

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(3, self.width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(self.width, options.max_width)
        solid = bar(self.lower, self.top, width)
        light = 0
        if self.upper is not None:
            solid = "█" * round(width * share(self.lower, self.top))
            light = max(0, round(width * share(self.upper, self.top)) - len(solid))
        style = "dim" if self.grey else "cyan" if self.upper is not None else "dark_orange3"
        yield Text.assemble((solid, style), ("░" * light, "dim"))


@dataclass(frozen=True)
class Fitted:
    """Something drawn for the console that prints it: its width, and whether it has colours."""

    draw: Callable[[int, bool], RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        colours = console.color_system is not None and not console.no_color
        yield self.draw(options.max_width, colours)
