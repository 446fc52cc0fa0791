"""Real words in one place of a text, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line, readable
from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.numbers import largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, Fitted, bar, explained, table, text_cell
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.swaps import (
    counts,
    in_place,
    meanings,
    nothing,
    ordering,
    other_columns,
    prediction,
    reached,
    refusals,
)

#: Characters shown before the word, and after it; rows of the table.
CONTEXT, SHOWN = 160, 15
#: The widest and the narrowest bars; spaces between two columns.
BARS, FEWEST, GAP = 40, 3, 2
#: Columns below which heads are short, and near each other.
NARROW = 60
#: The word in its place.
MARKED = "bold #1d1d1d on #ff7a14"


@panels.register(Swaps)
def swaps_panel(swaps: Swaps) -> RenderableType:
    """The word in its place, the real words that move the target most, and how near they come to
    the worst Δ.
    """
    return told_swaps(swaps)


def told_swaps(swaps: Swaps, *, meaning: bool = True) -> RenderableType:
    """The same; ``meaning`` says what the columns are."""
    return Fitted(lambda width, colours: _swaps(swaps, width, colours, meaning))


def _swaps(swaps: Swaps, width: int, colours: bool, meaning: bool) -> RenderableType:
    head = Text.assemble(
        "real words for “",
        (text_cell(swaps.word).plain, "bold"),
        f"” (word {swaps.index}), ",
        (one_line(ordering(swaps)), "bold"),
    )
    parts: list[RenderableType] = [head, Text(), _sentence(swaps, colours), Text()]
    if prediction(swaps):
        parts += [Text(one_line(prediction(swaps)), style="bold"), Text()]
    if swaps.swaps:
        parts += [*_best(swaps, width), *_reached(swaps)]
        parts += [Text(), explained(meanings(swaps))] if meaning else []
    else:
        parts.append(Text(nothing(swaps)))
    if refusals(swaps):
        parts.append(Text(one_line(refusals(swaps)), style="bold"))
    how = f"{counts(swaps)} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
    return Group(*parts, Text(f"{one_line(model_name(swaps.model))} · {how}", style="dim"))


def _sentence(swaps: Swaps, colours: bool) -> Text:
    before, word, after = (readable(part) for part in in_place(swaps))
    before = before if len(before) <= CONTEXT else "…" + before[-CONTEXT:]
    after = after if len(after) <= CONTEXT else after[:CONTEXT] + "…"
    marked = (word, MARKED) if colours else f"»{word}«"
    return Text.assemble(before, marked, after, overflow="fold")


def _best(swaps: Swaps, width: int) -> list[RenderableType]:
    """A row for each word; bars take what room the numbers leave, or none."""
    shown = swaps.swaps[:SHOWN]
    top = max(swaps.worst or 0.0, largest([swap.change for swap in shown]))
    more = other_columns(swaps)
    cells = [[column.cell(swap) for column in more] for swap in shown]
    heads = [column.name if width >= NARROW else column.name.split("(")[0] for column in more]
    widths = [
        max(Text(one_line(text)).cell_len for text in (head, *(row[at] for row in cells)))
        for at, head in enumerate(heads)
    ]
    widest = max(Text(one_line(swap.word)).cell_len for swap in shown)
    name = min(max(len("worst Δ"), widest), max(8, width // 3))
    gap = GAP if width >= NARROW else 1
    values = [number(value) for value in (*(swap.change for swap in shown), swaps.worst)]
    change = max(len(text) for text in ("change", *values))
    while more and width < name + gap + change + sum(gap + wide for wide in widths):
        more, widths = more[:-1], widths[:-1]
    room = width - name - 2 * gap - change - sum(gap + wide for wide in widths)
    bars = min(BARS, room) if room >= FEWEST else 0
    columns = (
        Column("word", "left", width=name, least=name),
        "change",
        *((Column("", "left", least=bars),) if bars else ()),
        *(Column(head, "left" if head == "label" else "right") for head in heads[: len(more)]),
    )
    rows: list[tuple[object, ...]] = []
    for swap, row in zip(shown, cells, strict=True):
        drawn = (Text(bar(swap.change, top, bars), style="dark_orange3"),) if bars else ()
        rows.append((swap.word, number(swap.change), *drawn, *row[: len(more)]))
    if swaps.worst is not None:
        grey = (Text(bar(swaps.worst, top, bars), style="dim"),) if bars else ()
        empty = [""] * len(more)
        rows.append((Text("worst Δ", style="dim italic"), number(swaps.worst), *grey, *empty))
    left = len(swaps.swaps) - len(shown)
    bound = "" if swaps.label is not None else f", none above {number(shown[-1].change)}"
    rest = Text(f"… and {left} more{bound}", style="dim")
    drawn_table = table(columns, rows, padding=(0, gap, 0, 0))
    return [drawn_table, *([rest] if left else [])]


def _reached(swaps: Swaps) -> list[RenderableType]:
    said = reached(swaps)
    best = text_cell(swaps.swaps[0].word).plain if said else ""
    return [Text.assemble("“", (best, "bold"), "” ", said)] if said else []
