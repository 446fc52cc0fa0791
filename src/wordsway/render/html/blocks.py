"""Blocks as HTML, in inline styles and without scripts."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from wordsway.core.chart import Chart
from wordsway.core.escape import html_line, html_name, html_text
from wordsway.render.blocks import (
    Bar,
    Block,
    Cell,
    Explanation,
    Inline,
    Matrix,
    RunningText,
    Sentence,
    Span,
    Table,
)
from wordsway.render.files import medium
from wordsway.render.html import elements
from wordsway.render.html.picture import inline_svg
from wordsway.render.numbers import share
from wordsway.render.views.plain import plain_table

#: Up to this many tokens cells carry their numbers; a larger matrix is left to a picture.
NUMBERED, LARGEST = 14, 128
_ROUND = "border-radius:.25em;padding:0 .15em"
_STYLES = {
    "first": f"{elements.tint(0.4, elements.COLD)};{_ROUND}",
    "second": f"{elements.tint(0.5)};{_ROUND}",
    "marked": f"{elements.tint(0.6)};border-radius:.25em",
    "soft": elements.SOFT,
}
_TAGS = {"bold": "b", "italic": "i"}
_CLASSES = {"good": "agrees", "bad": "disagrees"}
_COLUMNS = {"number": elements.RIGHT, "text": elements.WORD, "bar": elements.BARS}


def render(blocks: Sequence[Block]) -> str:
    """Return a whole fragment."""
    return elements.frame(block_html(block) for block in blocks)


def block_html(block: Block) -> str:
    """Return one block."""
    if isinstance(block, Sentence):
        return _sentence(block)
    if isinstance(block, RunningText):
        label = "" if block.label is None else f"{_inline(block.label)} "
        run = elements.flow(label + "".join(_inline(part, lines=True) for part in block.parts))
        return f'<div style="{elements.QUOTE}">{run}</div>' if block.quoted else run
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Explanation):
        return elements.explained(block.sentences)
    if isinstance(block, Matrix):
        return _matrix(block)
    if isinstance(block, Chart):
        numbers = elements.folded("Numbers", _table(plain_table(block)), opened=False)
        return chart_picture(block) + numbers
    inner = "".join(block_html(one) for one in block.blocks)
    return elements.folded(html_line(block.title), inner, opened=block.open)


def _sentence(block: Sentence) -> str:
    inner = inline_html(*block.parts)
    if block.role == "headline":
        return elements.paragraph(f"<b>{inner}</b>")
    if block.role == "plain":
        return elements.paragraph(inner)
    margin = ";margin-top:.5em" if block.role == "source" else ""
    return f'<div style="{elements.SOFT}{margin}"><bdi>{inner}</bdi></div>'


def inline_html(*parts: Inline) -> str:
    """Return pieces of one line."""
    return "".join(_inline(part) for part in parts)


def _inline(part: Inline, *, lines: bool = False) -> str:
    if isinstance(part, str):
        return html_text(part) if lines else html_line(part)
    inner = html_text(part.text) if lines else html_name(part.text)
    if tag := _TAGS.get(part.style):
        return f"<{tag}>{inner}</{tag}>"
    if name := _CLASSES.get(part.style):
        return f'<b class="{name}">{inner}</b>'
    return f'<span style="{_STYLES[part.style]}">{inner}</span>' if part.style else inner


def _table(block: Table) -> str:
    heads = [(html_line(one.name), _COLUMNS[one.kind]) for one in block.heads]
    rows = [[_cell(cell) for cell in row] for row in block.rows[: block.on_page]]
    title = elements.heading(html_line(block.title)) if block.title else ""
    rest = block.beyond(block.on_page)
    return "".join(
        [
            title if rows else "",
            elements.table(heads, rows) if rows or not block.title else "",
            elements.soft(rest) if rest else "",
            elements.explained(block.meanings) if block.meanings else "",
        ]
    )


def _cell(cell: Cell) -> str:
    if isinstance(cell, Bar):
        if cell.upper is None:
            colour = elements.GREY if cell.grey else elements.ORANGE
            return elements.bar(share(cell.value, cell.top), colour)
        return elements.interval_bar(cell.value, cell.upper, cell.top)
    return _inline(cell) if isinstance(cell, Span) else html_name(cell)


def _matrix(block: Matrix) -> str:
    n = len(block.names)
    title = elements.heading(html_name(block.title))
    if n > LARGEST:
        return title + elements.soft(f"{n} tokens are too many for a table: save a picture instead")
    return title + elements.heat(
        block.names, block.values, block.top, numbers=n <= NUMBERED, bold=block.bold
    )


def chart_picture(chart: Chart) -> str:
    """Return the chart as an SVG inside the document."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        medium("plot").save(chart, path, "svg")
        svg = path.read_text("utf-8")
    return inline_svg(svg, f"c{hashlib.sha256(svg.encode()).hexdigest()[:8]}-")
