"""Elements of HTML in inline styles, without scripts and without names that could clash: they fit a
notebook as well as a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from wordsway.core.escape import html_line, html_name, same_length
from wordsway.render.numbers import share

#: A translucent orange reads under dark letters on white and under light letters on black; blue is
#: for losses and for the first of two.
HEAT, COLD, STRONGEST = "213,94,0", "0,114,178", 0.78
ORANGE, GREY = "#d55e00", "#8a8f98"
SOFT = "opacity:.7;font-size:.9em"
LEFT = "text-align:left;padding:.15em .7em;vertical-align:middle"
RIGHT = (
    "text-align:right;padding:.15em .7em;vertical-align:middle;font-variant-numeric:tabular-nums"
)
QUOTE = "margin-left:1.4em;padding-left:.8em;border-left:3px solid rgba(128,128,128,.5)"
#: A column of bars, and one of words.
BARS = f"{LEFT};width:18em"
WORD = f"{LEFT};min-width:5em;max-width:16em;overflow-wrap:anywhere"


def frame(parts: Iterable[str]) -> str:
    """A whole fragment."""
    return f'<div style="max-width:62em;color:inherit;font-family:inherit">{"".join(parts)}</div>'


def paragraph(inner: str) -> str:
    """A block of HTML."""
    return f"<div>{inner}</div>"


def heading(inner: str) -> str:
    """A line above a table or a matrix."""
    return f'<div style="margin-top:.8em">{inner}</div>'


def soft(text: object) -> str:
    """A remark."""
    return f'<div style="{SOFT}">{html_line(text)}</div>'


def explained(sentences: Mapping[str, str]) -> str:
    """One plain sentence for each column of a table."""
    lines = [
        f"<div><b>{html_line(name)}</b> · {html_line(said)}</div>"
        for name, said in sentences.items()
    ]
    return f'<div style="{SOFT};margin:.4em 0 .8em;max-width:54em">{"".join(lines)}</div>'


def source(text: str) -> str:
    """The last line: where the numbers come from."""
    return f'<div style="{SOFT};margin-top:.5em"><bdi>{html_line(text)}</bdi></div>'


def bar(part: float, colour: str = ORANGE) -> str:
    """A bar of a share, 0 to 1, of its place."""
    look = (
        f"display:block;height:.7em;border-radius:2px;background:{colour};width:{100 * part:.1f}%"
    )
    return f'<span style="{look}"></span>'


def interval_bar(lower: float, upper: float | None, top: float) -> str:
    """What was attained in full colour, what is certified in a lighter one."""
    end = lower if upper is None else upper
    full = 100 * share(lower, end) if end else 100
    both = f"linear-gradient(90deg,{ORANGE} {full:.1f}%,rgba({HEAT},.3) 0)"
    return bar(share(end, top), both)


def tint(part: float, colour: str = HEAT) -> str:
    """The background of a share, 0 to 1."""
    return f"background:rgba({colour},{STRONGEST * part:.3f})"


def ramp() -> str:
    ends = f"rgba({HEAT},0),rgba({HEAT},{STRONGEST})"
    return f"background:linear-gradient(90deg,{ends});border:1px solid rgba(128,128,128,.35)"


def table(heads: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    """Heads with the style of their columns, and rows of cells; both are HTML already."""
    top = "".join(f'<th style="{look};opacity:.7">{name}</th>' for name, look in heads)
    looks = [look for _, look in heads]
    body = "".join(
        '<tr style="background:none">'
        + "".join(f'<td style="{look}">{cell}</td>' for look, cell in zip(looks, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return _scrolled(f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>")


def folded(title: str, body: str, *, opened: bool = True) -> str:
    """A part that can be folded away; the title is HTML already."""
    state = " open" if opened else ""
    return f'<details{state} style="margin-top:.5em"><summary>{title}</summary>{body}</details>'


def flow(run: str) -> str:
    """Running text, itself HTML already, whose lines break as they did in the source."""
    look = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext"
    return f'<div dir="auto" style="{look};line-height:1.9;margin:.5em 0">{run}</div>'


def marked(text: str, spans: Iterable[tuple[int, int]], colour: str = HEAT) -> str:
    """A text with some spans of it, in their order, on a coloured ground."""
    shown = same_length(text)
    done = 0
    run = ""
    for start, end in spans:
        ground = f'<span style="{tint(0.6, colour)};border-radius:.25em">'
        run += f"{html_line(shown[done:start])}{ground}{html_line(shown[start:end])}</span>"
        done = end
    return run + html_line(shown[done:])


def heat(
    names: Sequence[str], matrix: np.ndarray, top: float, *, numbers: bool, bold: Iterable[int] = ()
) -> str:
    """A square matrix as a table: orange for what is above 0, blue for what is below, every cell
    with its number on hover.
    """
    weights = dict.fromkeys(bold, ";font-weight:bold")
    labels = [html_name(name) for name in names]
    tips = [html_line(name) for name in names]
    upright = (
        "writing-mode:vertical-rl;transform:rotate(180deg);padding:.3em .1em;border:0;"
        "text-align:left;font-weight:normal"
    )
    side = (
        "text-align:right;padding:0 .5em;border:0;vertical-align:middle;font-weight:normal;"
        "white-space:nowrap"
    )
    width = "2.9em" if numbers else "1.3em"
    cell = f"width:{width};height:1.6em;padding:0;border:0;text-align:center;vertical-align:middle"
    head = "".join(
        f'<th style="{upright}{weights.get(column, "")}">{label}</th>'
        for column, label in enumerate(labels)
    )
    rows = []
    for row, label in enumerate(labels):
        cells = "".join(
            f'<td title="{tips[row]} → {tips[column]}: {value:.4g}" '
            f'style="{cell};{tint(min(1.0, abs(value) / top), HEAT if value >= 0 else COLD)}">'
            f"{f'{value:.2f}' if numbers and abs(value) >= 0.005 else ''}</td>"
            for column, value in enumerate(matrix[row].tolist())
        )
        named = f'<th style="{side}{weights.get(row, "")}">{label}</th>'
        rows.append(f'<tr style="background:none">{named}{cells}</tr>')
    top_row = f'<thead><tr><th style="border:0"></th>{head}</tr></thead>'
    small = ";font-size:.85em;font-variant-numeric:tabular-nums"
    return _scrolled(f"{top_row}<tbody>{''.join(rows)}</tbody>", small)


def _scrolled(inner: str, more: str = "") -> str:
    look = f"border-collapse:collapse;border:0;margin:.4em 0;width:auto{more}"
    return f'<div style="overflow-x:auto"><table style="{look}">{inner}</table></div>'
