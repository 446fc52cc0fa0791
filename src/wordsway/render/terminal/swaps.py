"""Real words in one place of a text, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.escape import one_line, readable
from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.numbers import largest, number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, Fitted, bar, table, text_cell
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.swaps import (
    counts,
    in_place,
    label_cells,
    ordering,
    prediction,
    reached,
    refusals,
)

#: Characters shown before the word, and after it; rows of the table.
CONTEXT, SHOWN = 160, 15
#: The word in its place.
MARKED = "bold #1d1d1d on #ff7a14"


@panels.register(Swaps)
def swaps_panel(swaps: Swaps) -> RenderableType:
    """The word in its place, the real words that move the target most, and how near they come to
    the worst Δ.
    """
    return Fitted(lambda width, colours: _swaps(swaps, width, colours))


def _swaps(swaps: Swaps, width: int, colours: bool) -> RenderableType:
    head = Text.assemble(
        "real words for “",
        (text_cell(swaps.word).plain, "bold"),
        f"” (word {swaps.index}), ",
        (one_line(ordering(swaps)), "bold"),
    )
    parts: list[RenderableType] = [head, Text(), _sentence(swaps, colours), Text()]
    if swaps.swaps:
        parts += [*_best(swaps, width), _reached(swaps)]
    else:
        parts.append(Text("no real word was found"))
    for said in (prediction(swaps), refusals(swaps)):
        if said:
            parts.append(Text(one_line(said), style="bold"))
    how = f"{counts(swaps)} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
    return Group(*parts, Text(f"{one_line(model_name(swaps.model))} · {how}", style="dim"))


def _sentence(swaps: Swaps, colours: bool) -> Text:
    before, word, after = (readable(part) for part in in_place(swaps))
    before = before if len(before) <= CONTEXT else "…" + before[-CONTEXT:]
    after = after if len(after) <= CONTEXT else after[:CONTEXT] + "…"
    marked = (word, MARKED) if colours else f"»{word}«"
    return Text.assemble(before, marked, after, overflow="fold")


def _best(swaps: Swaps, width: int) -> list[RenderableType]:
    shown = swaps.swaps[:SHOWN]
    top = max(swaps.worst or 0.0, largest([swap.change for swap in shown]))
    widest = max(Text(one_line(swap.word)).cell_len for swap in shown)
    name = min(max(len("worst Δ"), widest), max(8, width // 3))
    classifier = swaps.label is not None
    bars = max(3, min(40, width - name - (38 if classifier else 22)))
    last: tuple[Column, ...] = (Column("token", style="dim"),)
    if classifier:
        last = (
            Column("label", "left", width=10),
            Column("p" if width < 60 else "p before"),
            Column("margin"),
        )
    columns = (
        Column("word", "left", width=name, least=name),
        "change",
        *((Column("", "left", least=bars),) if not classifier or width >= 60 else ()),
        *last,
    )
    rows: list[tuple[object, ...]] = []
    for swap in shown:
        drawn = Text(bar(swap.change, top, bars), style="dark_orange3")
        more = label_cells(swap) if classifier else (swap.token,)
        rows.append((swap.word, number(swap.change), drawn, *more))
    if swaps.worst is not None:
        grey = Text(bar(swaps.worst, top, bars), style="dim")
        empty = [""] * len(last)
        rows.append((Text("worst Δ", style="dim italic"), number(swaps.worst), grey, *empty))
    if classifier and width < 60:
        rows = [(*row[:2], *row[3:]) for row in rows]
    left = len(swaps.swaps) - len(shown)
    bound = "" if classifier else f", none above {number(shown[-1].change)}"
    rest = Text(f"… and {left} more{bound}", style="dim")
    return [table(columns, rows), *([rest] if left else [])]


def _reached(swaps: Swaps) -> Text:
    if swaps.reached is None:
        return Text(reached(swaps), style="dim")
    best = text_cell(swaps.swaps[0].word).plain
    return Text.assemble("“", (best, "bold"), "” ", reached(swaps))
