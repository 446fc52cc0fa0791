"""Tables and bars of a terminal. A text becomes a cell here, and only here: no cell is taken for
rich's markup, and none drives the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from wordsway.escape import one_line, runs_right_to_left
from wordsway.render.numbers import share

EIGHTHS = " ▏▎▍▌▋▊▉"
#: Columns of a bar.
BAR = 24


@dataclass(frozen=True)
class Column:
    """A column of a table; ``width`` cuts its cells."""

    name: str
    justify: Literal["left", "right"] = "right"
    width: int | None = None
    least: int | None = None
    style: str = ""
    wraps: bool = False


def table(
    columns: Iterable[Column | str], rows: Iterable[Sequence[object]], **options: Any
) -> Table:
    """A table without lines. Cells that are no `Text` yet become one, as they are."""
    drawn = Table(**({"box": None, "pad_edge": False, "header_style": "dim"} | options))
    for given in columns:
        column = Column(given) if isinstance(given, str) else given
        drawn.add_column(
            Text(column.name),
            justify=column.justify,
            min_width=column.least,
            max_width=column.width,
            style=column.style,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
        )
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else text_cell(cell) for cell in row))
    return drawn


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


def interval_bar(lower: float, upper: float | None, top: float, width: int = BAR) -> Text:
    """What was attained in full blocks, what is certified in light ones."""
    solid = round(width * share(lower, top))
    light = 0 if upper is None else max(0, round(width * share(upper, top)) - solid)
    return Text.assemble(("█" * solid, "cyan"), ("░" * light, "dim"))


@dataclass(frozen=True)
class Fitted:
    """Something drawn for the console that prints it: its width, and whether it has colours."""

    draw: Callable[[int, bool], RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        colours = console.color_system is not None and not console.no_color
        yield self.draw(options.max_width, colours)
