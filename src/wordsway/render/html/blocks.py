"""Blocks of HTML in inline styles, without scripts and without names that could clash: they fit a
notebook as well as a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wordsway.render.letters import escaped_line, escaped_name, in_its_place

#: A translucent orange reads under dark letters on white and under light letters on black; blue is
#: for losses and for the first of two.
HEAT, COLD, STRONGEST = "213,94,0", "0,114,178", 0.78
ORANGE, GREY = "#d55e00", "#8a8f98"
SOFT = "opacity:.7;font-size:.9em"
LEFT = "text-align:left;padding:.15em .7em;vertical-align:middle"
RIGHT = (
    "text-align:right;padding:.15em .7em;vertical-align:middle;font-variant-numeric:tabular-nums"
)


def frame(parts: Iterable[str]) -> str:
    """A whole fragment."""
    return f'<div style="max-width:62em;color:inherit;font-family:inherit">{"".join(parts)}</div>'


def bar(part: float, colour: str = ORANGE) -> str:
    """A bar of a share, 0 to 1, of its place."""
    return f'<span style="display:block;height:.7em;border-radius:2px;background:{colour};width:{100 * part:.1f}%"></span>'


def tint(part: float, colour: str = HEAT) -> str:
    """The background of a share, 0 to 1."""
    return f"background:rgba({colour},{STRONGEST * part:.3f})"


def ramp() -> str:
    return f"background:linear-gradient(90deg,rgba({HEAT},0),rgba({HEAT},{STRONGEST}));border:1px solid rgba(128,128,128,.35)"


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
    look = "border-collapse:collapse;border:0;margin:.4em 0;width:auto"
    return f'<div style="overflow-x:auto"><table style="{look}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def folded(title: str, body: str) -> str:
    """A part that can be folded away; the title is HTML already."""
    return f'<details open style="margin-top:.5em"><summary>{title}</summary>{body}</details>'


def flow(run: str) -> str:
    """Running text, itself HTML already, whose lines break as they did in the source."""
    look = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;line-height:1.9;margin:.5em 0"
    return f'<div dir="auto" style="{look}">{run}</div>'


def marked(text: str, spans: Iterable[tuple[int, int]], colour: str = HEAT) -> str:
    """A text with some spans of it, in their order, on a coloured ground."""
    seen, at, run = in_its_place(text), 0, ""
    for start, end in spans:
        run += f'{escaped_line(seen[at:start])}<span style="{tint(0.6, colour)};border-radius:.25em">{escaped_line(seen[start:end])}</span>'
        at = end
    return run + escaped_line(seen[at:])


def source(text: str) -> str:
    """The last line: where the numbers come from."""
    return f'<div style="{SOFT};margin-top:.5em"><bdi>{escaped_line(text)}</bdi></div>'


def heat(
    names: Sequence[str], matrix: np.ndarray, top: float, *, numbers: bool, bold: Iterable[int] = ()
) -> str:
    """A square matrix as a table: orange for what is above 0, blue for what is below, every cell
    with its number on hover.
    """
    strong = dict.fromkeys(bold, ";font-weight:bold")
    said = [escaped_name(name) for name in names]
    turned = "writing-mode:vertical-rl;transform:rotate(180deg);padding:.3em .1em;border:0;text-align:left;font-weight:normal"
    side = "text-align:right;padding:0 .5em;border:0;vertical-align:middle;font-weight:normal;white-space:nowrap"
    head = "".join(
        f'<th style="{turned}{strong.get(at, "")}">{name}</th>' for at, name in enumerate(said)
    )
    cell = f"{'width:2.9em' if numbers else 'width:1.3em'};height:1.6em;padding:0;border:0;text-align:center;vertical-align:middle"
    rows = []
    for row, name in enumerate(said):
        cells = "".join(
            f'<td title="{escaped_line(names[row])} → {escaped_line(names[column])}: {value:.4g}" '
            f'style="{cell};{tint(min(1.0, abs(value) / top), HEAT if value >= 0 else COLD)}">'
            f"{f'{value:.2f}' if numbers and abs(value) >= 0.005 else ''}</td>"
            for column, value in enumerate(matrix[row].tolist())
        )
        rows.append(
            f'<tr style="background:none"><th style="{side}{strong.get(row, "")}">{name}</th>{cells}</tr>'
        )
    look = "border-collapse:collapse;border:0;margin:.4em 0;width:auto;font-size:.85em;font-variant-numeric:tabular-nums"
    body = f'<thead><tr><th style="border:0"></th>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
    return f'<div style="overflow-x:auto"><table style="{look}">{body}</table></div>'
