"""Blocks for a terminal: with colours or without, from 80 columns up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from wordsway.core.chart import Chart
from wordsway.core.escape import one_line, readable, shortened
from wordsway.render.blocks import (
    Bar,
    Block,
    Cell,
    Column,
    Explanation,
    Fold,
    Inline,
    Matrix,
    RunningText,
    Sentence,
    Span,
    Table,
)
from wordsway.render.numbers import hundredths
from wordsway.render.terminal.tables import (
    BAR,
    BarCell,
    Fitted,
    TerminalColumn,
    explained,
    table,
    text_cell,
)
from wordsway.render.views.plain import plain_table

STYLES = {
    "bold": "bold",
    "soft": "dim",
    "first": "bold #0072b2",
    "second": "bold #d55e00",
    "marked": "bold #1d1d1d on #ff7a14",
    "italic": "dim italic",
    "good": "green",
    "bad": "red",
}
ROLES = {"headline": "bold", "soft": "dim", "source": "dim", "warning": "yellow"}
#: Characters shown before and after the marked part of a running text.
CONTEXT = 160
#: Below this width columns stand closer and their names are shorter.
NARROW = 60
#: The narrowest bar, and the narrowest column of texts.
NARROW_BAR, NARROW_TEXT = 3, 8
#: Shades from light to dark, and the columns of a terminal that a matrix may take.
SHADES, WIDTH = " ░▒▓█", 80


def render(blocks: Sequence[Block]) -> RenderableType:
    """Return the blocks as rich prints them."""
    return Fitted(lambda width, colours: _group(blocks, width, colours))


def _group(blocks: Sequence[Block], width: int, colours: bool) -> Group:
    parts: list[RenderableType] = []
    for number, block in enumerate(blocks):
        if number and not (
            isinstance(block, Sentence) and isinstance(blocks[number - 1], Sentence)
        ):
            parts.append(Text())
        parts += _block(block, width, colours)
    return Group(*parts)


def _block(block: Block, width: int, colours: bool) -> list[RenderableType]:
    if isinstance(block, Sentence):
        line = Text(style=ROLES.get(block.role, ""), overflow="fold")
        for part in block.parts:
            line.append_text(_inline(part, colours))
        return [line]
    if isinstance(block, RunningText):
        return [_running(block, colours)]
    if isinstance(block, Table):
        return _table(block, width)
    if isinstance(block, Explanation):
        return [explained(block.sentences)]
    if isinstance(block, Matrix):
        return [_matrix(block)]
    if isinstance(block, Chart):
        return _table(plain_table(block), width)
    assert isinstance(block, Fold)
    return [
        Text(one_line(block.title), style="bold"),
        *_group(block.blocks, width, colours).renderables,
    ]


def _inline(part: Inline, colours: bool, *, lines: bool = False) -> Text:
    span = Span(part) if isinstance(part, str) else part
    shown = (readable if lines else one_line)(span.text)
    if span.style == "marked" and not colours:
        shown = f"»{shown}«"
    return Text(shown, style=STYLES.get(span.style, ""))


def _running(block: RunningText, colours: bool) -> RenderableType:
    """The text around its marked parts; long unmarked ends are cut."""
    text = Text(overflow="fold")
    last = len(block.parts) - 1
    for number, part in enumerate(block.parts):
        shown = _inline(part, colours, lines=True)
        if isinstance(part, str) and last and len(shown) > CONTEXT and number in (0, last):
            cut = shown[-CONTEXT:] if number == 0 else shown[:CONTEXT]
            shown = Text.assemble("…", cut) if number == 0 else Text.assemble(cut, "…")
        text.append_text(shown)
    if block.label is None and not block.quoted:
        return text
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(_inline(block.label or " ", colours), text)
    return grid


def _table(block: Table, width: int) -> list[RenderableType]:
    """The table with as many optional columns and as long bars as fit."""
    rows = [list(row) for row in block.rows[: block.shown]]
    narrow = width < NARROW
    gap = 1 if narrow else 2
    heads = block.heads
    if narrow:
        heads = [replace(head, name=head.name.partition("(")[0]) for head in heads]
    least = [_least(head, [row[place] for row in rows]) for place, head in enumerate(heads)]
    kept = list(range(len(heads)))
    for place in sorted(kept, key=lambda place: (heads[place].kind != "bar", -place)):
        if sum(least[one] + gap for one in kept) - gap <= width:
            break
        if heads[place].optional or heads[place].kind == "bar":
            kept.remove(place)
    columns = [_column(heads[place], least[place]) for place in kept]
    cells = [[_cell(row[place]) for place in kept] for row in rows]
    options: dict[str, object] = {"padding": (0, gap, 0, 0)}
    if block.title:
        options |= {"title": Text(one_line(block.title), style="dim"), "title_justify": "left"}
    parts: list[RenderableType] = [table(columns, cells, **options)] if rows or columns else []
    if rest := block.beyond(block.shown):
        parts.append(Text(one_line(rest), style="dim"))
    left_out = [one_line(heads[place].name) for place in range(len(heads)) if place not in kept]
    if named := [name for name in left_out if name]:
        parts.append(Text(f"not shown: {', '.join(named)}", style="dim"))
    if block.meanings:
        parts += [Text(), explained(block.meanings)]
    return parts


def _least(head: Column, cells: Sequence[Cell]) -> int:
    """The columns that it takes at least."""
    if head.kind == "bar":
        return max(NARROW_BAR, cell_len(head.name))
    widths = [_cell(cell).cell_len for cell in cells if not isinstance(cell, Bar)]  # type: ignore[union-attr]
    widest = max([cell_len(head.name), *widths])
    return widest if head.kind == "number" else min(widest, NARROW_TEXT)


def _column(head: Column, least: int) -> TerminalColumn:
    if head.kind == "number":
        return TerminalColumn(head.name)
    if head.kind == "bar":
        return TerminalColumn(head.name, "left", least=least)
    return TerminalColumn(head.name, "left", width=28, least=least)


def _cell(cell: Cell) -> Text | BarCell:
    if isinstance(cell, Bar):
        return BarCell(cell.value, cell.upper, cell.top, BAR, grey=cell.grey)
    if isinstance(cell, Span):
        return text_cell(cell.text, STYLES.get(cell.style, ""))
    return text_cell(cell)


def _matrix(block: Matrix) -> Text:
    """Rows with their names, columns with names where numbers fit, else shades; a matrix too wide
    for 80 columns is left to a file.
    """
    names = [_fit(one_line(name), 14) for name in block.names]
    left = max(cell_len(name) for name in names)
    signed = bool((block.values < 0).any())
    space = (WIDTH - left - 4) // len(names)
    title = f"{shortened(block.title, 76)}\n"
    if (space < 3 and len(names) > 9) or space < 2:
        return Text.assemble(
            (title, "bold"),
            f"{len(names)} tokens are too many for a terminal: write a picture or a table with "
            "--out FILE.png, .svg, .pdf, .csv",
        )
    numbers = space >= (7 if signed else 6)
    width = min(space, 10) if numbers else min(space, 3)
    heads = [_fit(name, width - 1) if numbers else str(place) for place, name in enumerate(names)]
    out = Text(no_wrap=True)
    out.append(title, style="bold")
    out.append(" " * (left + 4) + "".join(_right(head, width) for head in heads) + "\n", "dim")
    for row, name in enumerate(names):
        out.append(f"{row:>3} ", style="dim")
        out.append(set_cell_size(name, left))
        for value in np.asarray(block.values)[row]:
            out.append_text(_shade(float(value), block.top, width, numbers, signed))
        out.append("\n" if row + 1 < len(names) else "")
    return out


def _shade(value: float, top: float, width: int, numbers: bool, signed: bool) -> Text:
    """A shade, with the number where it fits; colours tell gains from losses."""
    share = min(1.0, abs(value) / top)
    shade = SHADES[min(len(SHADES) - 1, round(share * (len(SHADES) - 1)))]
    style = "red" if signed and value > 0 else "blue" if signed else "cyan"
    if not numbers:
        sign = ("+" if value > 0 else "−") if signed and shade != " " else shade
        return Text(" " + (sign + shade if width == 3 else shade), style=style)
    number = hundredths(value, signed)
    return Text.assemble(" " * (width - len(number) - 1), (shade, style), number)


def _fit(text: str, width: int) -> str:
    """A text cut to a width in columns of the terminal (wide letters take two)."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _right(text: str, width: int) -> str:
    return " " * max(0, width - cell_len(text)) + text
