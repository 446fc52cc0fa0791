"""Blocks as HTML for notebooks and pages: inline styles, no scripts, no names that could clash."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wordsway.core.chart import Chart
from wordsway.core.errors import MissingExtraError
from wordsway.core.escape import html_line, html_name, html_text
from wordsway.render import blocks as b
from wordsway.render.files import medium
from wordsway.render.numbers import share

#: A translucent orange reads under dark letters on white and under light letters on black; blue is
#: for losses and for the first of two.
HEAT, COLD, STRONGEST = "213,94,0", "0,114,178", 0.78
#: The faintest colour of a shaded word, so that the smallest number is visible, too.
FAINTEST = 0.06
ORANGE, GREY = "#d55e00", "#8a8f98"
SOFT = "opacity:.7;font-size:.9em"
#: The width of sentences; tables may be wider.
READABLE, WIDEST = "max-width:62em", "max-width:80em"
_CELL = "padding:.15em .7em;vertical-align:middle"
LEFT = f"text-align:left;{_CELL}"
_COLUMNS = {
    "number": f"text-align:right;{_CELL};font-variant-numeric:tabular-nums;white-space:nowrap",
    "text": f"{LEFT};min-width:5em;max-width:16em;overflow-wrap:break-word",
    "prose": f"{LEFT};min-width:6em",
    "bar": f"{LEFT};width:18em;min-width:5em",
}
#: Up to this many tokens cells carry their numbers; a larger matrix is left to a picture.
NUMBERED, LARGEST = 14, 128
_ROUND = "border-radius:.25em;padding:0 .15em"


def tint(part: float) -> str:
    """The background of a share: from 0 to 1 in orange, from 0 to −1 in blue."""
    return f"background:rgba({HEAT if part >= 0 else COLD},{STRONGEST * abs(part):.3f})"


_STYLES = {
    "first": f"{tint(-0.4)};{_ROUND}",
    "second": f"{tint(0.5)};{_ROUND}",
    "marked": f"{tint(0.6)};border-radius:.25em",
    "soft": SOFT,
}
_TAGS = {"bold": "b", "italic": "i"}
_CLASSES = {"good": "agrees", "bad": "disagrees"}
_ROLES = {
    "soft": SOFT,
    "warning": SOFT,
    "source": f"{SOFT};margin-top:.5em",
    "failure": "color:#b3401b;font-weight:600",
}


def render(blocks: Sequence[b.Block], *, page: bool = False) -> str:
    """Return a whole fragment; only a page has illustrations."""
    inner = "".join(
        block_html(block) for block in blocks if page or not isinstance(block, b.Illustration)
    )
    return f'<div style="{WIDEST};color:inherit;font-family:inherit">{inner}</div>'


def block_html(block: b.Block) -> str:
    """Return one block."""
    return _DRAWERS[type(block)](block)


# Text


def _sentence(block: b.Sentence) -> str:
    inner = "".join(_inline(part) for part in block.parts)
    if block.role == "headline":
        return f'<div style="{READABLE}"><b>{inner}</b></div>'
    look = _ROLES.get(block.role)
    if not look:
        return f'<div style="{READABLE}">{inner}</div>'
    return f'<div style="{READABLE};{look}"><bdi>{inner}</bdi></div>'


def _inline(part: b.Inline, *, lines: bool = False) -> str:
    if isinstance(part, str):
        return html_text(part) if lines else html_line(part)
    inner = html_text(part.text) if lines else html_name(part.text)
    if part.shade is not None:
        tip = f' title="{html_line(part.tip)}"' if part.tip else ""
        depth = (FAINTEST if part.shade >= 0 else 0.0) + (1 - FAINTEST) * part.shade
        inner = f'<span{tip} style="{tint(depth)};{_ROUND}">{inner}</span>'
    if tag := _TAGS.get(part.style):
        return f"<{tag}>{inner}</{tag}>"
    if name := _CLASSES.get(part.style):
        return f'<b class="{name}">{inner}</b>'
    return f'<span style="{_STYLES[part.style]}">{inner}</span>' if part.style else inner


def _running(block: b.RunningText) -> str:
    """Running text whose lines break as they did in the source."""
    label = "" if block.label is None else f"{_inline(block.label)} "
    run = label + "".join(_inline(part, lines=True) for part in block.parts)
    look = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;line-height:1.9"
    drawn = f'<div dir="auto" style="{READABLE};{look};margin:.5em 0">{run}</div>'
    quote = "margin-left:1.4em;padding-left:.8em;border-left:3px solid rgba(128,128,128,.5)"
    return f'<div style="{quote}">{drawn}</div>' if block.quoted else drawn


def _scale(block: b.Scale) -> str:
    ends = f"rgba({HEAT},{STRONGEST * FAINTEST:.3f}),rgba({HEAT},{STRONGEST})"
    look = (
        "display:inline-block;width:9em;height:.75em;border-radius:.25em;vertical-align:-.05em;"
        f"margin:0 .4em;background:linear-gradient(90deg,{ends});"
        "border:1px solid rgba(128,128,128,.35)"
    )
    low, high = html_line(block.values[0]), html_line(block.values[-1])
    ramp = f'{low}<span style="{look}"></span>{high}'
    return f'<div style="{SOFT}">{html_line(block.title)}: {ramp}</div>'


def _explained(sentences: Mapping[str, str]) -> str:
    """One plain sentence for each column of a table."""
    lines = [
        f"<div><b>{html_line(name)}</b> · {html_line(said)}</div>"
        for name, said in sentences.items()
    ]
    return f'<div style="{SOFT};margin:.4em 0 .8em;max-width:54em">{"".join(lines)}</div>'


def _heading(inner: str) -> str:
    return f'<div style="margin-top:.8em">{inner}</div>'


# Tables


def _table(block: b.Table) -> str:
    looks = [_COLUMNS[head.kind] for head in block.columns]
    heads = "".join(
        f'<th style="{look};opacity:.7">{html_line(head.name)}</th>'
        for head, look in zip(block.columns, looks, strict=True)
    )
    rows = [_row(row, looks) for row in block.rows[: block.on_page]]
    parts = []
    if rows or not block.title:
        parts += [_heading(f"<b>{html_line(block.title)}</b>")] if block.title else []
        parts.append(_scrolled(f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"))
    if rest := block.beyond(block.on_page):
        parts.append(f'<div style="{SOFT}">{html_line(rest)}</div>')
    return "".join(parts) + (_explained(block.meanings) if block.meanings else "")


def _row(row: Sequence[b.Cell], looks: Sequence[str]) -> str:
    cells = (
        f'<td style="{look}">{_cell(cell)}</td>' for look, cell in zip(looks, row, strict=True)
    )
    return f'<tr style="background:none">{"".join(cells)}</tr>'


def _cell(cell: b.Cell) -> str:
    if isinstance(cell, b.Bar):
        return _bar(cell)
    if isinstance(cell, b.Span):
        return _inline(cell)
    return html_name(cell) if isinstance(cell, str) else "".join(_inline(part) for part in cell)


def _bar(cell: b.Bar) -> str:
    """The value in full colour, up to the upper end in a lighter one."""
    part, colour = share(cell.value, cell.top), GREY if cell.grey else ORANGE
    if cell.upper is not None:
        full = 100 * share(cell.value, cell.upper) if cell.upper else 100
        colour = f"linear-gradient(90deg,{ORANGE} {full:.1f}%,rgba({HEAT},.3) 0)"
        part = share(cell.upper, cell.top)
    look = "display:block;height:.7em;border-radius:2px;min-width:2px"
    return f'<span style="{look};background:{colour};width:{100 * part:.1f}%"></span>'


def _matrix(block: b.Matrix) -> str:
    """A square table: orange above 0, blue below, every cell with its number on hover."""
    n = len(block.names)
    title = _heading(html_name(block.title))
    if n > LARGEST:
        note = f"{n} tokens are too many for a table: save a picture instead"
        return title + f'<div style="{SOFT}">{note}</div>'
    numbers = n <= NUMBERED
    weights = dict.fromkeys(block.bold, ";font-weight:bold")
    labels = [html_name(name) for name in block.names]
    tips = [html_line(name) for name in block.names]
    upright = (
        "writing-mode:vertical-rl;transform:rotate(180deg);padding:.3em .1em;border:0;"
        "text-align:left;font-weight:normal"
    )
    side = (
        "text-align:right;padding:0 .5em;border:0;vertical-align:middle;font-weight:normal;"
        "white-space:nowrap"
    )
    width = "2.9em" if numbers else "1.3em"
    look = f"width:{width};height:1.6em;padding:0;border:0;text-align:center;vertical-align:middle"
    head = "".join(
        f'<th style="{upright}{weights.get(column, "")}">{label}</th>'
        for column, label in enumerate(labels)
    )
    rows = []
    for row, label in enumerate(labels):
        cells = "".join(
            f'<td title="{tips[row]} → {tips[column]}: {value:.4g}" '
            f'style="{look};{tint(max(-1.0, min(1.0, value / block.top)))}">'
            f"{f'{value:.2f}' if numbers and abs(value) >= 0.005 else ''}</td>"
            for column, value in enumerate(block.values[row].tolist())
        )
        named = f'<th style="{side}{weights.get(row, "")}">{label}</th>'
        rows.append(f'<tr style="background:none">{named}{cells}</tr>')
    top_row = f'<thead><tr><th style="border:0"></th>{head}</tr></thead>'
    small = ";font-size:.85em;font-variant-numeric:tabular-nums"
    return title + _scrolled(f"{top_row}<tbody>{''.join(rows)}</tbody>", small)


def _scrolled(inner: str, more: str = "") -> str:
    look = f"border-collapse:collapse;border:0;margin:.4em 0;width:auto{more}"
    return f'<div style="overflow-x:auto"><table style="{look}">{inner}</table></div>'


def _fold(block: b.Fold) -> str:
    inner = "".join(block_html(one) for one in block.blocks)
    title, state = html_line(block.title), " open" if block.open else ""
    return f'<details{state} style="margin-top:.5em"><summary>{title}</summary>{inner}</details>'


# Pictures


def _chart(chart: Chart) -> str:
    """The chart as an SVG inside the document; nothing where matplotlib is not installed."""
    try:
        plot = medium("plot")
    except MissingExtraError:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chart.svg"
        plot.save(chart, path, "svg")
        return inline_svg(path.read_text("utf-8"))


def _illustration(block: b.Illustration) -> str:
    title = html_line(block.title)
    names = [html_line(name) for name in block.files]
    links = " · ".join(f'<a href="{name}">{name}</a>' for name in names)
    return (
        f'<h2>{title}</h2><figure role="group" aria-label="{title}">'
        f'<div class="plot">{inline_svg(block.svg.read_text("utf-8"))}</div>'
        f"<figcaption>{html_line(block.caption)} <br>{links}</figcaption></figure>"
    )


def inline_svg(svg: str) -> str:
    """An SVG for a page; its names begin with its hash, so that several fit on one page."""
    prefix = f"c{hashlib.sha256(svg.encode()).hexdigest()[:8]}-"
    svg = svg[svg.index("<svg") :]
    width = float(re.search(r'width="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    look = f"width:100%;max-width:{width * 1.35:.0f}px;height:auto;background:#fff"
    svg = svg.replace("<svg ", f'<svg role="img" style="{look}" ', 1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)


_DRAWERS: dict[type, Callable[[Any], str]] = {
    b.Sentence: _sentence,
    b.RunningText: _running,
    b.Scale: _scale,
    b.Table: _table,
    b.Explanation: lambda block: _explained(block.sentences),
    b.Matrix: _matrix,
    b.Fold: _fold,
    b.Illustration: _illustration,
    Chart: _chart,
}
