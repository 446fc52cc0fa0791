"""Words of a real model, for a person at a terminal: with colour or without, from 40 columns up."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.core.escape import one_line, readable
from wordsway.core.format import format_bytes, format_seconds
from wordsway.probing.results import Words, WordSway
from wordsway.probing.tiers import TIERS
from wordsway.render.numbers import digits, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.blocks import render
from wordsway.render.terminal.tables import Fitted, bar, explained, table, text_cell
from wordsway.render.terminal.tables import TerminalColumn as Column
from wordsway.render.views import view_of
from wordsway.render.views.provenance import model_name
from wordsway.render.wording.word_columns import other_columns
from wordsway.render.wording.words import (
    has_scale,
    headline,
    legend,
    meaning,
    notes,
    pieces,
    ranked,
    ranks,
    scale,
    score,
    shades,
    target_name,
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
#: Columns below which heads are short; spaces between two columns.
NARROW, GAP = 60, 2


@panels.register(Words)
def words_panel(words: Words) -> RenderableType:
    """The text in the colours of its words, the words with the largest numbers, what they mean, and
    where they come from.
    """
    return Fitted(lambda width, colours: _words(words, width, colours))


def level(shade: float) -> int:
    """The step 0 … 5 of the scale nearest to a share of it.

    >>> [level(shade) for shade in (0.0, 0.09, 0.11, 0.5, 1.0)]
    [0, 0, 1, 2, 5]
    """
    return round(shade * (len(HEAT) - 1))


def _words(words: Words, width: int, colours: bool) -> RenderableType:
    parts: list[RenderableType] = [_head(words), Text(), _text(words, colours), Text()]
    if words.words:
        parts += [_scale(words, colours), Text()] if has_scale(words) else []
        rows, told = _table(words, width)
        parts += [*rows, Text(), Text(one_line(meaning(words)), style="dim")]
        parts += [explained(told)] if told else []
    parts += [Text(one_line(note), style="bold") for note in notes(words)]
    for swaps in words.swaps:
        parts += [Text(), render(view_of(swaps).blocks)]
    how = [
        one_line(model_name(words.model)),
        target_name(words),
        f"seed {words.seed}",
        format_seconds(words.seconds),
        format_bytes(words.peak_mb * 1e6),
        *(["converged"] if words.status == "converged" else []),
    ]
    return Group(*parts, Text(" · ".join(how), style="dim"))


def _head(words: Words) -> Text:
    found = headline(words)
    shown = Text()
    for place, (name, index) in enumerate(found.names):
        shown.append(", " if place else "")
        shown.append_text(Text.assemble("“", (text_cell(name).plain, "bold"), f"” (word {index})"))
    shown.append(("" if found.text.startswith(":") or not found.names else " ") + found.text)
    return shown


def _text(words: Words, colours: bool) -> Text:
    shade = shades(words)
    shown = Text(overflow="fold")
    for piece, place in pieces(words):
        step = 0 if place is None else level(shade[place])
        shown.append(readable(piece), style=HEAT[step] if colours else "")
        if not colours:
            shown.append(MARKS[step])
    return shown


def _scale(words: Words, colours: bool) -> Text:
    """The legend: the value in the middle of every step."""
    shown = Text(f"{TIERS[words.tier].title}  ", style="dim", overflow="fold")
    for step, value in enumerate(legend(words, len(HEAT))):
        shown.append(
            f" {value} " if colours else f"{MARKS[step]} {value}".strip(),
            style=f"not dim {HEAT[step]}" if colours else "",
        )
        shown.append("" if colours else "  ")
    return shown


def _table(words: Words, width: int) -> tuple[list[RenderableType], dict[str, str]]:
    """Words with the largest numbers, and a sentence for each further column; those that do not fit
    are left out, the last ones first.
    """
    order = ranked(words)
    shown = [words.words[place] for place in order[:SHOWN]]
    labels = ranks(words)
    columns: list[tuple[str, list[str]]] = [
        ("rank", [labels[place] for place in order[:SHOWN]]),
        ("#", [str(word.index) for word in shown]),
        (_short(words.tier, width), [number((score(words, word) or (None,))[0]) for word in shown]),
    ]
    errors = [(score(words, word) or (0.0, 0.0))[1] for word in shown]
    more: list[tuple[str, list[str]]] = [
        ("±", [digits(error, 1) if error else "" for error in errors])
    ]
    for column in other_columns(words):
        head = column.name.split()[0] if width < NARROW else column.name
        more.append((head, [column.cell(word) for word in shown]))
    room = width - sum(_wide(column) + GAP for column in columns)
    widest = max(Text(_spelled(word)).cell_len for word in shown)
    name = max(6, min(widest, room // 2))
    room -= name + GAP + 8  # and some for bars
    while more and sum(_wide(column) + GAP for column in more) > room:
        more.pop()
    bars = min(20, room + 8 - sum(_wide(column) + GAP for column in more) - GAP)
    drawn = [
        *(Column(head, style="dim") for head, _ in columns[:2]),
        Column("word", "left", width=name, least=name),
        Column(columns[2][0]),
        *([Column("", "left", least=bars)] if bars >= 3 else []),
        *(Column(head, style="dim" if head in ("±", "pieces") else "") for head, _ in more),
    ]
    top = scale(words)[1]
    rows: list[list[object]] = []
    for row, word in enumerate(shown):
        cells: list[object] = [cells[row] for _, cells in columns[:2]]
        cells += [text_cell(_spelled(word)), columns[2][1][row]]
        if bars >= 3:
            value = (score(words, word) or (0.0, 0.0))[0]
            cells.append(Text(bar(value, top, bars), style="dark_orange3"))
        rows.append([*cells, *(values[row] for _, values in more)])
    left = len(order) - len(shown)
    least = (score(words, shown[-1]) or (0.0, 0.0))[0]
    rest = f"… and {left} more word{'s' if left > 1 else ''}, none above {number(least)}"
    heads = {head for head, _ in more}
    told = {
        column.name: column.sentence
        for column in other_columns(words)
        if heads & {column.name, column.name.split()[0]}
    }
    return [table(drawn, rows), *([Text(rest, style="dim")] if left else [])], told


def _short(tier: str, width: int) -> str:
    return TIERS[tier].title if width >= NARROW else TIERS[tier].short


def _wide(column: tuple[str, list[str]]) -> int:
    head, cells = column
    return max(len(text) for text in (head, *cells))


def _spelled(word: WordSway) -> str:
    return one_line(word.word) + (" [UNK]" if word.unknown else "")
