"""Attention for a person at a terminal: 80 columns are enough, and shades do without colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line, shortened
from wordsway.format import format_seconds
from wordsway.probing.attention import Attention, AttentionMap
from wordsway.render.numbers import hundredths
from wordsway.render.terminal import panels
from wordsway.render.wording.provenance import model_name

#: Shades from light to dark, and the columns that a matrix may take.
SHADES, WIDTH = " ░▒▓█", 80


@panels.register(Attention)
def attention_panel(result: Attention) -> RenderableType:
    """Shaded matrices with their numbers, all on one scale; a text that is too long for 80 columns
    is sent to a file.
    """
    top = max(float(text.matrix.max()) for text in result.texts) or 1.0
    name = one_line(model_name(result.model))
    parts: list[RenderableType] = [
        Text(f"{name} · attention of {result.name} · █ is {top:.2g}", style="bold")
    ]
    blocks = [
        _block(shortened(text.text, 76), text.labels, text.matrix, top) for text in result.texts
    ]
    change = result.difference
    if change is not None and blocks[0] is not None:
        reach = float(abs(change).max()) or 1.0
        names = [
            a if a == b else f"{a}→{b}"
            for a, b in zip(result.texts[0].labels, result.texts[1].labels, strict=True)
        ]
        blocks.append(_block(f"second − first (█ is {reach:.2g})", names, change, reach))
    for text, block in zip([*result.texts, None], blocks, strict=False):
        if block is None and text is not None:
            block = Text.assemble((shortened(text.text, 76), "bold"), "\n", _too_long(text))
        if block is not None:
            parts += [Text(""), block]
    note = "rows look at columns; rows sum to 1"
    if any(text.kept < 0.995 for text in result.texts):
        shares = " and ".join(f"{text.kept:.2f}" for text in result.texts)
        note = f"rows look at columns; rows sum to {shares} on average"
        note += ", the rest goes to special tokens, which are cut"
    return Group(*parts, Text(""), Text(f"{note} · {format_seconds(result.seconds)}", style="dim"))


def _too_long(text: AttentionMap) -> str:
    return (
        f"{len(text.tokens)} tokens are too many for a terminal: write a picture or a table with "
        "--out FILE.png, .svg, .pdf, .csv"
    )


def _block(title: str, labels: Sequence[str], matrix: np.ndarray, top: float) -> Text | None:
    """One matrix as lines: rows with their names, columns with names where there is room for
    numbers; None if it does not fit.
    """
    names = [_fit(one_line(label), 14) for label in labels]
    left = max(cell_len(name) for name in names)
    signed = bool((matrix < 0).any())
    room = (WIDTH - left - 4) // len(names)
    if (room < 3 and len(names) > 9) or room < 2:
        return None
    numbers = room >= (7 if signed else 6)
    width = min(room, 10) if numbers else min(room, 3)
    heads = [_fit(name, width - 1) if numbers else str(column) for column, name in enumerate(names)]
    out = Text(no_wrap=True)
    out.append(f"{title}\n", style="bold")
    out.append(
        " " * (left + 4) + "".join(_right(head, width) for head in heads) + "\n", style="dim"
    )
    for row, name in enumerate(names):
        out.append(f"{row:>3} ", style="dim")
        out.append(set_cell_size(name, left))
        for value in matrix[row]:
            out.append_text(_cell(float(value), top, width, numbers, signed))
        out.append("\n" if row + 1 < len(names) else "")
    return out


def _cell(value: float, top: float, width: int, numbers: bool, signed: bool) -> Text:
    """A shade, with the number where there is room for it; colours tell gains from losses."""
    share = min(1.0, abs(value) / top)
    shade = SHADES[min(len(SHADES) - 1, round(share * (len(SHADES) - 1)))]
    style = "red" if signed and value > 0 else "blue" if signed else "cyan"
    if not numbers:
        sign = ("+" if value > 0 else "−") if signed and shade != " " else shade
        return Text(" " + (sign + shade if width == 3 else shade), style=style)
    number = hundredths(value, signed)
    return Text.assemble(" " * (width - len(number) - 1), (shade, style), number)


def _fit(text: str, width: int) -> str:
    """A text cut to so many columns of the terminal (wide letters take two)."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _right(text: str, width: int) -> str:
    return " " * max(0, width - cell_len(text)) + text
