"""Pairs of texts in several models."""

from __future__ import annotations

from wordsway.auditing.pairs import Pair, Pairs
from wordsway.auditing.result import EXPLAINED
from wordsway.core.chart import Chart, Panel, Points
from wordsway.core.escape import shortened
from wordsway.core.format import format_seconds
from wordsway.render.blocks import (
    Bar,
    Block,
    Column,
    Explanation,
    Fold,
    Inline,
    RunningText,
    Span,
    Table,
    View,
    headline,
    soft,
    source,
    warning,
)
from wordsway.render.numbers import number
from wordsway.render.views.common import models_facts, provenance

#: Pairs that are shown one by one, and refused rows.
SHOWN, REFUSED = 40, 5
#: Every column, with the sentence that explains it.
MEANINGS = {
    "cosine": EXPLAINED["cosine"],
    "change": EXPLAINED["change"],
    "above": "The share of random real words in the place of the change that move the embedding "
    "less than it does.",
    "parts in": EXPLAINED["parts"],
}


def pairs_view(pairs: Pairs) -> View:
    """Each pair with its numbers in every model, medians per kind, and the refused rows."""
    count = len(pairs.pairs)
    words = f", compared with {pairs.draws} random words in each place" if pairs.draws else ""
    blocks: list[Block] = [
        headline(f"{count:,} {'pair' if count == 1 else 'pairs'} of texts{words}")
    ]
    for pair in pairs.pairs[:SHOWN]:
        blocks += [_sentence(pair), _numbers(pair)]
        blocks += [warning(one.doubt) for one in pair.models if one.doubt]
    if count > SHOWN:
        blocks.append(soft(f"… and {count - SHOWN:,} more, in the data"))
    if any(pair.kind for pair in pairs.pairs):
        blocks.append(Fold("Medians per kind", [_kinds(pairs)]))
    blocks.append(Explanation(MEANINGS))
    blocks += [warning(str(one)) for one in pairs.refused[:REFUSED]]
    if len(pairs.refused) > REFUSED:
        blocks.append(warning(f"… and {len(pairs.refused) - REFUSED:,} more rows refused"))
    about = f"{', '.join(pairs.names)} · seed {pairs.seed} · {format_seconds(pairs.seconds)}"
    facts = {"random words": str(pairs.draws)} | models_facts(pairs.models)
    return View(
        "Pairs of texts",
        [*blocks, source(about)],
        provenance(pairs, facts),
        lambda: _picture(pairs),
    )


def in_place(pair: Pair) -> tuple[str, str, str, str]:
    """The text before the change, what was there, what replaces it, and the text after it."""
    start, before, after = pair.place
    return pair.a[:start], before.strip(), after.strip(), pair.a[start + len(before) :]


def _sentence(pair: Pair) -> RunningText:
    before, old, new, after = in_place(pair)
    parts: list[Inline] = [before, *marked_change(old, new)]
    space = "" if not after or not after[:1].isalnum() else " "
    kind = [Span(f"  ({pair.kind})", "soft")] if pair.kind else []
    return RunningText((*parts, space + after, *kind))


def marked_change(old: str, new: str) -> list[Inline]:
    """An edit in place: [old → new]."""
    arrow = " → " if old and new else ""
    return ["[", Span(old or "+", "first"), arrow, Span(new or "−", "second"), "]"]


def _numbers(pair: Pair) -> Table:
    columns = [
        Column("model", "text"),
        Column("cosine"),
        Column("", "bar"),
        Column("change"),
        Column("above"),
        Column("parts in", "text", optional=True),
    ]
    rows = [
        (
            one.name,
            number(one.cosine),
            Bar(max(0.0, one.cosine), 1.0),
            number(one.change),
            percent(one.percentile),
            f"layer {one.parts} of {len(one.layers) - 1}" if len(one.layers) > 1 else "–",
        )
        for one in pair.models
    ]
    return Table(columns, rows)


def _kinds(pairs: Pairs) -> Table:
    columns = [
        Column("kind", "text"),
        Column("model", "text"),
        Column("pairs"),
        Column("cosine"),
        Column("", "bar"),
        Column("change"),
        Column("above"),
    ]
    rows = [
        (
            row["kind"] or "–",
            row["name"],
            f"{row['pairs']:,}",
            number(row["cosine"]),
            Bar(max(0.0, row["cosine"]), 1.0),
            number(row["change"]),
            percent(row["percentile"]),
        )
        for row in pairs.kinds()
    ]
    return Table(columns, rows, shown=60)


def percent(share: float | None) -> str:
    """
    >>> percent(12.5), percent(None)
    ('12 %', '–')
    """
    return "–" if share is None else f"{share:.0f} %"


def _picture(pairs: Pairs) -> Chart:
    """A row per pair, a mark per model at the cosine."""
    shown = pairs.pairs[:SHOWN]
    rows = list(range(len(shown)))
    points = [
        Points(shortened(name, 40), [pair.models[at].cosine for pair in shown], rows, at)
        for at, name in enumerate(pairs.names)
    ]
    more = len(pairs.pairs) - SHOWN
    panel = Panel(
        f"the first {SHOWN} of {len(pairs.pairs):,} pairs" if more > 0 else "",
        points=points,
        names=[_label(pair) for pair in shown],
        x_label="cosine of the two texts (1: the same to the model)",
    )
    return Chart([panel])


def _label(pair: Pair) -> str:
    before, old, new, after = in_place(pair)
    change = f"[{shortened(old or '+', 16)} → {shortened(new or '−', 16)}]"
    return f"{shortened(before[-22:], 22)} {change} {shortened(after[:14], 14)}".strip()
