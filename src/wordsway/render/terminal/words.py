"""Words of a real model, for a person at a terminal: with colour or without, from 40 columns up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.escape import one_line, readable
from wordsway.format import format_bytes, format_seconds
from wordsway.probing.results import Words
from wordsway.render.numbers import largest, number, share, times
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Fitted, bar, text_cell
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.words import (
    headline,
    over_noise,
    pieces,
    ranked,
    top_of,
    worst_layer,
)

#: Rows of a table; what is left is counted.
SHOWN = 15
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
BLOCKS = "▁▂▃▄▅▆▇█"


@panels.register(Words)
def words_panel(words: Words) -> RenderableType:
    """The text in the colours of its words' S, the words that sway most with their profiles, and
    where the numbers come from.
    """
    return Fitted(lambda width, colours: _words(words, width, colours))


def level(value: float, top: float) -> int:
    """The step 0 … 5 of the scale nearest to value / top.

    >>> [level(s, 1.0) for s in (0.0, 0.09, 0.11, 0.5, 1.0)]
    [0, 0, 1, 2, 5]
    """
    return round(share(value, top) * (len(HEAT) - 1))


def sparkline(values: Sequence[float], width: int) -> str:
    """A profile in blocks, scaled to its own largest value; neighbours share a block, by their
    maximum, where the width is short.

    >>> sparkline([0.0, 0.5, 1.0, 0.25], 4)
    '▁▅█▃'
    """
    if not values:
        return ""
    count, top = min(width, len(values)), largest(values)
    edges = [round(at * len(values) / count) for at in range(count + 1)]
    pooled = [largest(values[start:end]) for start, end in pairwise(edges)]
    return "".join(BLOCKS[min(7, int(share(value, top) * 8))] for value in pooled)


def _words(words: Words, width: int, colours: bool) -> RenderableType:
    parts: list[RenderableType] = [_head(words), Text(), _text(words, colours), Text()]
    if words.words:
        parts += [_scale(words, colours), Text(), *_table(words, width)]
    seconds, memory = format_seconds(words.seconds), format_bytes(words.peak_mb * 1e6)
    layer = (
        f"layer {words.layer} of {words.layers} · ρ = {words.reach:g} · Δ at {one_line(words.at)}"
    )
    tail = f"{one_line(model_name(words.model))} · {layer} · seed {words.seed} · {seconds} · {memory} · {one_line(words.status)}"
    return Group(*parts, Text(tail, style="dim"))


def _head(words: Words) -> Text:
    if not words.words:
        return Text(headline(words), style="bold")
    where = f" (word {words.top.index}) moves layer {words.layer} of {words.layers} most: "
    return Text.assemble(
        "“", (text_cell(words.top.word).plain, "bold"), "”", where, (headline(words), "bold")
    )


def _text(words: Words, colours: bool) -> Text:
    top, shown = top_of(words), Text(overflow="fold")
    for piece, place in pieces(words):
        step = 0 if place is None else level(words.words[place].sensitivity, top)
        shown.append(readable(piece), style=HEAT[step] if colours else "")
        if not colours:
            shown.append(MARKS[step])
    return shown


def _scale(words: Words, colours: bool) -> Text:
    """The legend: the value in the middle of every step."""
    top, last = top_of(words), len(HEAT) - 1
    shown = Text(f"S at layer {words.layer}  ", style="dim", overflow="fold")
    for step in range(1, last + 1):
        value = f"{top * step / last:.2g}"
        shown.append(
            f" {value} " if colours else f"{MARKS[step]} {value}",
            style=f"not dim {HEAT[step]}" if colours else "",
        )
        shown.append("" if colours else "  ")
    return shown


def _table(words: Words, width: int) -> list[RenderableType]:
    order, gap, top = ranked(words), 2 if width >= 64 else 1, top_of(words)
    shown = [words.words[place] for place in order[:SHOWN]]
    twins = any(word.twin is not None for word in shown) and width >= 64
    rows = [
        (
            str(word.index),
            number(word.sensitivity),
            str(worst_layer(word)),
            times(over_noise(word, words.layer)),
        )
        + ((number(None if word.twin is None else word.twin[words.layer]),) if twins else ())
        for word in shown
    ]
    heads = ["\n#", "\nS", "worst\nlayer", "times\nnoise", "random\ntwin"]
    sizes = [
        max(len(part) for part in [*head.split("\n"), *column])
        for head, column in zip(heads, zip(*rows, strict=True), strict=False)
    ]
    room = max(15, width - sum(sizes) - gap * (len(sizes) + 2))
    name = min(max(Text(one_line(word.word)).cell_len for word in shown), max(6, room * 2 // 5))
    profile = min(words.layers + 1, max(6, room * 2 // 5))
    bars = min(20, room - name - profile)
    table = Table(
        box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0), collapse_padding=True
    )
    table.add_column("\n#", justify="right", style="dim", no_wrap=True)
    table.add_column(
        "\nword", min_width=max(4, name), max_width=max(4, name), no_wrap=True, overflow="ellipsis"
    )
    table.add_column("\nS", justify="right", no_wrap=True)
    if bars >= 3:
        table.add_column("", min_width=bars, no_wrap=True)
    for head in heads[2 : len(sizes)]:
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column(
        f"layers\n0…{words.layers}", min_width=profile, no_wrap=True, overflow="ellipsis"
    )
    for word, (index, value, *others) in zip(shown, rows, strict=True):
        line: list[RenderableType] = [index, text_cell(word.word), value]
        if bars >= 3:
            line.append(Text(bar(word.sensitivity, top, bars), style="dark_orange3"))
        table.add_row(*line, *others, Text(sparkline(word.profile, profile), style="cyan"))
    more = len(order) - len(shown)
    rest = f"… and {more} more word{'s' if more > 1 else ''}, none above {number(shown[-1].sensitivity)}"
    return [table, *([Text(rest, style="dim")] if more else [])]
