"""Real words in one place of a text, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.html.parts import in_place, largest, model_name, number
from wordsway.render.letters import one_line, readable
from wordsway.render.terminal.words import HEAT, SHOWN, Fitted, bar, cell

#: Characters shown before the word, and after it.
CONTEXT = 160


def swaps_panel(swaps: Swaps) -> RenderableType:
    """The word in its place, the real words that move the target most, and how near they come to
    the worst Δ.
    """
    return Fitted(lambda width, colours: _swaps(swaps, width, colours))


def _swaps(swaps: Swaps, width: int, colours: bool) -> RenderableType:
    before, word, after = (readable(part) for part in in_place(swaps))
    before = before if len(before) <= CONTEXT else "…" + before[-CONTEXT:]
    after = after if len(after) <= CONTEXT else after[:CONTEXT] + "…"
    sentence = Text.assemble(
        before, (word, HEAT[5]) if colours else f"»{word}«", after, overflow="fold"
    )
    target = one_line(swaps.target)
    head = Text.assemble(
        "real words for “",
        (cell(swaps.word).plain, "bold"),
        f"” (word {swaps.index}), by the change of ",
        (target, "bold"),
    )
    parts: list[RenderableType] = [head, Text(), sentence, Text()]
    if swaps.swaps:
        parts += [*_best(swaps, width), _reached(swaps)]
    else:
        parts.append(Text("no real word was found"))
    counts = f"{swaps.candidates:,} candidates, {swaps.evaluated:,} evaluated exactly"
    tail = f"{one_line(model_name(swaps.model))} · {counts} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
    return Group(*parts, Text(tail, style="dim"))


def _best(swaps: Swaps, width: int) -> list[RenderableType]:
    shown = swaps.swaps[:SHOWN]
    top = max(swaps.worst or 0.0, largest([swap.change for swap in shown]))
    name = min(
        max(len("worst Δ"), *(Text(one_line(swap.word)).cell_len for swap in shown)),
        max(8, width // 3),
    )
    bars = max(3, min(40, width - name - 22))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("word", min_width=name, max_width=name, no_wrap=True, overflow="ellipsis")
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("", min_width=bars, no_wrap=True)
    table.add_column("token", justify="right", style="dim", no_wrap=True)
    for swap in shown:
        blocks = Text(bar(swap.change, top, bars), style="dark_orange3")
        table.add_row(cell(swap.word), number(swap.change), blocks, str(swap.token))
    if swaps.worst is not None:
        table.add_row(
            Text("worst Δ", style="dim italic"),
            number(swaps.worst),
            Text(bar(swaps.worst, top, bars), style="dim"),
            "",
        )
    more = len(swaps.swaps) - len(shown)
    rest = f"… and {more} more, none above {number(shown[-1].change)}"
    return [table, *([Text(rest, style="dim")] if more else [])]


def _reached(swaps: Swaps) -> Text:
    if swaps.reached is None or swaps.worst is None:
        return Text("the worst Δ was not searched", style="dim")
    best = cell(swaps.swaps[0].word).plain
    return Text.assemble(
        "“",
        (best, "bold"),
        "” reaches ",
        (f"{100 * swaps.reached:.3g} %", "bold"),
        f" of the worst Δ found, {number(swaps.worst)}",
    )
