"""Blocks for a terminal: with colours or without, from 40 columns up.

A text becomes a cell here, and only here: no cell is taken for rich's markup, and none drives the
terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from wordsway.core.escape import one_line, readable, runs_right_to_left, shortened
from wordsway.core.result import Result
from wordsway.render import blocks as b
from wordsway.render.numbers import hundredths, share
from wordsway.render.views import view_of

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
ROLES = {
    "headline": "bold",
    "soft": "dim",
    "source": "dim",
    "warning": "yellow",
    "failure": "bold red",
}
#: From underlined over grey to pure orange, at one lightness: stands out more and more, on a dark
#: background as on a light one.
HEAT = (
    "",
    "underline",
    "#1d1d1d on #b5a08e",
    "#1d1d1d on #cb9566",
    "#1d1d1d on #e5873c",
    "bold #1d1d1d on #ff7a14",
)
#: The same steps without colour, behind the word.
MARKS = ("", "¹", "²", "³", "⁴", "⁵")
#: Characters shown before and after the marked part of a running text.
CONTEXT = 160
#: Below this width columns stand closer and their names are shorter.
NARROW = 60
#: The remedy if columns do not fit.
WIDEN = "(widen the terminal, or use --json)"
#: Columns of a bar, at most and at least: it gets shorter before another column has to go.
BAR, NARROW_BAR = 24, 3
#: The narrowest and the widest column of texts.
NARROW_TEXT, WIDE_TEXT = 14, 28
#: Columns of the names in front of explanations.
NAMES = 14
EIGHTHS = " ▏▎▍▌▋▊▉"
#: Shades from light to dark, and the columns of a terminal that a matrix may take.
SHADES, WIDTH = " ░▒▓█", 80


def panel(result: Result) -> RenderableType:
    """Return the result as rich prints it."""
    pages = [path for path in getattr(result, "files", ()) if path.name == "index.html"]
    return render(view_of(result).blocks, f"(see {pages[0]})" if pages else WIDEN)


def render(blocks: Sequence[b.Block], widen: str = WIDEN) -> RenderableType:
    """Return the blocks as rich prints them; ``widen`` is the remedy if columns do not fit."""
    return Fitted(lambda width, colours: Group(*_blocks(blocks, width, colours, widen)))


@dataclass(frozen=True)
class Fitted:
    """Something drawn for the console that prints it: its width, and whether it has colours."""

    draw: Callable[[int, bool], RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        colours = console.color_system is not None and not console.no_color
        yield self.draw(options.max_width, colours)


def _blocks(
    blocks: Sequence[b.Block], width: int, colours: bool, widen: str
) -> list[RenderableType]:
    """The blocks with an empty line between them, except between sentences."""
    parts: list[RenderableType] = []
    before: b.Block | None = None
    for block in blocks:
        drawn = _block(block, width, colours, widen)
        if not drawn:
            continue
        if parts and not (isinstance(block, b.Sentence) and isinstance(before, b.Sentence)):
            parts.append(Text())
        parts += drawn
        before = block
    return parts


def _block(block: b.Block, width: int, colours: bool, widen: str) -> list[RenderableType]:
    if isinstance(block, b.Sentence):
        return [_line(block.parts, colours, ROLES.get(block.role, ""))]
    if isinstance(block, b.RunningText):
        return [_running(block, colours)]
    if isinstance(block, b.Scale):
        return [_scale(block, colours)]
    if isinstance(block, b.Table):
        return _table(block, width, colours, widen)
    if isinstance(block, b.Explanation):
        return [_explained(block.sentences)]
    if isinstance(block, b.Matrix):
        return [_matrix(block)]
    if isinstance(block, b.Fold) and block.terminal:
        title = Text(one_line(block.title), style="bold")
        return [title, *_blocks(block.blocks, width, colours, widen)]
    return []


def _line(parts: Sequence[b.Inline], colours: bool, style: str = "") -> Text:
    line = Text(style=style, overflow="fold")
    for part in parts:
        line.append_text(_inline(part, colours))
    return line


def _inline(part: b.Inline, colours: bool, *, lines: bool = False) -> Text:
    span = b.Span(part) if isinstance(part, str) else part
    shown = (readable if lines else one_line)(span.text)
    if span.style == "marked" and not colours:
        shown = f"»{shown}«"
    text = Text(shown, style=STYLES.get(span.style, ""))
    if span.shade is not None and span.shade >= 0:
        step = level(span.shade)
        text.stylize(HEAT[step] if colours else "")
        text.append("" if colours else MARKS[step])
    return text


def level(shade: float) -> int:
    """The step 0 … 5 of the scale nearest to a share of it.

    >>> [level(shade) for shade in (0.0, 0.09, 0.11, 0.5, 1.0)]
    [0, 0, 1, 2, 5]
    """
    return round(shade * (len(HEAT) - 1))


def _running(block: b.RunningText, colours: bool) -> RenderableType:
    """The text around its marked parts; long unmarked ends are cut."""
    text = Text(overflow="fold")
    last = len(block.parts) - 1
    shaded = any(isinstance(part, b.Span) and part.shade is not None for part in block.parts)
    for number, part in enumerate(block.parts):
        shown = _inline(part, colours, lines=True)
        ends = number in (0, last) and last and not shaded
        if isinstance(part, str) and ends and len(shown) > CONTEXT:
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


def _scale(block: b.Scale, colours: bool) -> Text:
    """The value of every step, in its colour or with its mark."""
    shown = Text(f"{one_line(block.title)}  ", style="dim", overflow="fold")
    steps = len(block.values) - 1
    for number, value in enumerate(block.values):
        step = level(number / steps)
        look = f"not dim {HEAT[step]}" if colours else ""
        shown.append(f" {value} " if colours else f"{MARKS[step]} {value}".strip(), style=look)
        shown.append("" if colours else "  ")
    return shown


# Tables


def _table(block: b.Table, width: int, colours: bool, widen: str) -> list[RenderableType]:
    """The table with as many columns, optional ones last, and as long bars as fit."""
    rows = [[_cell(cell, colours) for cell in row] for row in block.rows[: block.shown]]
    narrow = width < NARROW
    gap = 1 if narrow else 2
    heads = list(block.columns)
    if narrow:
        heads = [replace(head, name=head.name.partition("(")[0]) for head in heads]
    least = [_least(head, [row[place] for row in rows]) for place, head in enumerate(heads)]
    kept = list(range(len(heads)))

    def fits() -> bool:
        return sum(least[one] + gap for one in kept) - gap <= width

    for place in reversed(range(len(heads))):
        if heads[place].optional and not fits():
            kept.remove(place)
    for place in reversed(kept.copy()):
        if heads[place].kind == "bar" and not fits():
            kept.remove(place)
    for place in reversed(kept[2:]):  # a column that is cut would show other numbers
        if heads[place].kind == "number" and not fits():
            kept.remove(place)
    parts: list[RenderableType] = [Text(one_line(block.title))] if block.title else []
    if rows or kept:
        drawn = Grid(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
        left = max(0, width + gap - sum(least[one] + gap for one in kept))
        for place in kept:
            widest = WIDE_TEXT if heads[place].kind == "text" else None
            if widest is not None:  # Rich would cut the last column instead
                wanted = max(_widths(heads[place], [row[place] for row in rows]))
                widest = min(widest, wanted, least[place] + left)
                left -= max(0, widest - least[place])
                for row in rows:
                    row[place] = _cut(row[place], widest)
            _add_column(drawn, heads[place], least[place], widest)
        for row in rows:
            drawn.add_row(*(row[place] for place in kept))
        parts.append(drawn)
    if rest := block.beyond(block.shown):
        parts.append(Text(one_line(rest), style="dim"))
    left_out = [one_line(heads[place].name) for place in range(len(heads)) if place not in kept]
    if named := [name for name in left_out if name]:
        parts.append(Text(f"not shown: {', '.join(named)} {one_line(widen)}", style="dim"))
    meanings = {name: text for name, text in block.meanings.items() if name not in left_out}
    return [*parts, Text(), _explained(meanings)] if meanings else parts


def _cut(cell: Text | BarCell, width: int) -> Text | BarCell:
    """A plain text of narrow letters cut in the middle, since names differ at either end."""
    if not isinstance(cell, Text) or cell.cell_len <= width:
        return cell
    if cell.spans or cell.cell_len != len(cell):
        return cell
    head = width // 2
    return Text.assemble(cell[:head], "…", cell[len(cell) - (width - 1 - head) :])


def _least(head: b.Column, cells: Sequence[Text | BarCell]) -> int:
    """The minimum width in columns."""
    if head.kind == "bar":
        return max(NARROW_BAR, cell_len(head.name))
    widest = max(_widths(head, cells))
    return widest if head.kind == "number" else min(widest, NARROW_TEXT)


def _widths(head: b.Column, cells: Sequence[Text | BarCell]) -> list[int]:
    """The widths of the name and of every text."""
    return [cell_len(head.name), *(cell.cell_len for cell in cells if isinstance(cell, Text))]


def _add_column(table: Grid, head: b.Column, least: int, widest: int | None) -> None:
    """Bars get shorter, prose is wrapped and texts are cut to fit; numbers never are."""
    table.add_column(
        Text(one_line(head.name)),
        justify="right" if head.kind == "number" else "left",
        min_width=least,
        max_width=widest,
        no_wrap=head.kind in ("number", "text"),
        overflow="fold" if head.kind == "prose" else "ellipsis",
    )


def _explained(sentences: Mapping[str, str]) -> Grid:
    """One plain sentence for each column of a table above."""
    drawn = Grid(box=None, pad_edge=False, show_header=False)
    drawn.add_column(style="dim", max_width=NAMES)
    drawn.add_column(style="dim", overflow="fold")
    for name, sentence in sentences.items():
        drawn.add_row(text_cell(name), text_cell(sentence))
    return drawn


def _cell(cell: b.Cell, colours: bool) -> Text | BarCell:
    if isinstance(cell, b.Bar):
        return BarCell(cell)
    if isinstance(cell, b.Span):
        return text_cell(cell.text, STYLES.get(cell.style, ""))
    return text_cell(cell) if isinstance(cell, str) else _line(cell, colours)


def text_cell(text: object, style: str = "") -> Text:
    """A text in one line; a mark keeps numbers behind right-to-left letters in their order."""
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
    """A bar as wide as its column: full blocks up to its value, light ones up to its upper end."""

    cell: b.Bar

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(NARROW_BAR, BAR)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, one = min(BAR, options.max_width), self.cell
        solid, light = bar(one.value, one.top, width), 0
        if one.upper is not None:
            solid = "█" * round(width * share(one.value, one.top))
            light = max(0, round(width * share(one.upper, one.top)) - len(solid))
        style = "dim" if one.grey else "cyan" if one.upper is not None else "dark_orange3"
        yield Text.assemble((solid, style), ("░" * light, "dim"))


# Matrices


def _matrix(block: b.Matrix) -> Text:
    """Numbers where they fit, else shades; a matrix wider than 80 columns is left to a file."""
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
    """A shade, with the number where it fits; colours distinguish gains from losses."""
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
