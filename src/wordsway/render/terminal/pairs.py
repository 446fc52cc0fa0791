"""Pairs of texts in several models, for a person at a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from wordsway.audit.pairs_result import Pair, Pairs
from wordsway.escape import one_line, readable
from wordsway.format import format_seconds
from wordsway.render.numbers import number
from wordsway.render.terminal import panels
from wordsway.render.terminal.tables import Column, Fitted, bar, explained, table
from wordsway.render.wording.pairs import COLUMNS, heading, in_place, percent

#: Pairs that are shown one by one, refused rows, and characters before and behind a change.
SHOWN, REFUSED, CONTEXT = 12, 5, 120
GONE, COME = "bold #0072b2", "bold #d55e00"


@panels.register(Pairs)
def pairs_panel(pairs: Pairs) -> RenderableType:
    """Each pair with its numbers in every model, medians per kind, and what was refused."""
    return Fitted(lambda width, colours: _pairs(pairs, width))


def _pairs(pairs: Pairs, width: int) -> RenderableType:
    parts: list[RenderableType] = [Text(heading(pairs)), Text()]
    for pair in pairs.pairs[:SHOWN]:
        parts += [_sentence(pair), _numbers(pair, width), Text()]
    more = len(pairs.pairs) - SHOWN
    if more > 0:
        parts += [Text(f"… and {more:,} more", style="dim"), Text()]
    if any(pair.kind for pair in pairs.pairs):
        parts += [_kinds(pairs), Text()]
    parts += [explained(COLUMNS), Text()]
    parts += [Text(one_line(str(one)), style="yellow") for one in pairs.refused[:REFUSED]]
    if len(pairs.refused) > REFUSED:
        parts.append(Text(f"… and {len(pairs.refused) - REFUSED:,} more rows refused"))
    names = ", ".join(one_line(name) for name in pairs.names)
    about = f"{names} · seed {pairs.seed} · {format_seconds(pairs.seconds)}"
    return Group(*parts, Text(about, style="dim"))


def _sentence(pair: Pair) -> Text:
    before, gone, come, behind = (readable(part) for part in in_place(pair))
    before = before if len(before) <= CONTEXT else "…" + before[-CONTEXT:]
    behind = behind if len(behind) <= CONTEXT else behind[:CONTEXT] + "…"
    arrow = " → " if gone and come else ""
    marked = (("[", "dim"), (gone or "+", GONE), (arrow, "dim"), (come or " −", COME), ("]", "dim"))
    kind = f"  ({one_line(pair.kind)})" if pair.kind else ""
    behind = behind if behind[:1] in ("", " ") or not behind[:1].isalnum() else f" {behind}"
    return Text.assemble(before, *marked, behind, (kind, "dim"), overflow="fold")


def _numbers(pair: Pair, width: int) -> RenderableType:
    bars = max(3, min(24, width - 62))
    columns = (
        Column("model", "left", width=20),
        "cosine",
        Column("", "left", least=bars),
        "change",
        "above",
        Column("parts in", "left", style="dim"),
    )
    rows = [
        (
            one.name,
            number(one.cosine),
            Text(bar(max(0.0, one.cosine), 1.0, bars), style="cyan"),
            number(one.change),
            percent(one.percentile),
            f"layer {one.parts} of {len(one.layers) - 1}",
        )
        for one in pair.models
    ]
    return table(columns, rows)


def _kinds(pairs: Pairs) -> RenderableType:
    columns = (
        Column("kind", "left", width=20),
        Column("model", "left", width=20),
        "pairs",
        "cosine",
        "change",
        "above",
    )
    rows = [
        (
            row["kind"] or "–",
            row["name"],
            row["pairs"],
            number(row["cosine"]),
            number(row["change"]),
            percent(row["percentile"]),
        )
        for row in pairs.kinds()
    ]
    return table(columns, rows, title=Text("medians per kind", style="dim"), title_justify="left")
