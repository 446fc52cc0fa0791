"""Pairs of texts in several models."""

from __future__ import annotations

from wordsway.auditing.pairs import Pair, PairInModel, Pairs
from wordsway.auditing.result import EXPLAINED
from wordsway.core.chart import Chart, Panel, PointSeries
from wordsway.core.escape import shortened
from wordsway.core.format import count, format_seconds
from wordsway.render import blocks as b
from wordsway.render.numbers import number, whole_percent
from wordsway.render.views.common import models_facts, provenance, refused_rows

#: Pairs that are shown one by one.
SHOWN = 40
#: Every column, with the sentence that explains it.
MEANINGS = {
    "cosine": EXPLAINED["cosine"],
    "change": EXPLAINED["change"],
    "percentile": "The share of random real words in the same place that move the embedding less "
    "than the edit, with its 95 % interval over the drawn words. "
    "They are inserted for an insertion, and replace as many tokens for a replacement: percentiles "
    "of edits of different length are not comparable.",
    "grows most in": EXPLAINED["parts"],
}


MODEL = b.Column("model", "text", cell=lambda row: row["name"])
#: The numbers of a pair in a model, or their medians over a kind.
NUMBERS = (
    b.Column("cosine", cell=lambda row: number(row["cosine"])),
    b.Column("", "bar", cell=lambda row: b.Bar(max(0.0, row["cosine"]), 1.0)),
    b.Column("change", cell=lambda row: number(row["change"])),
    b.Column(
        "percentile",
        cell=lambda row: whole_percent(
            row["percentile"], row.get("percentile_low"), row.get("percentile_high")
        ),
    ),
)


def pairs_view(pairs: Pairs) -> b.ResultView:
    """Each pair with its numbers in every model, medians per kind, and the refused rows."""
    words = f", compared with {pairs.draws} random words in each place" if pairs.draws else ""
    blocks: list[b.Block] = [b.headline(f"{count(len(pairs.pairs), 'pair')} of texts{words}")]
    for pair in pairs.pairs[:SHOWN]:
        blocks += [_sentence(pair), _numbers(pair)]
        blocks += [_labels(one) for one in pair.models if one.labels]
        blocks += [b.warning(one.doubt) for one in pair.models if one.doubt]
    if (more := len(pairs.pairs) - SHOWN) > 0:
        blocks.append(b.soft(f"… and {more:,} more, in the JSON"))
    if any(pair.kind for pair in pairs.pairs):
        blocks.append(b.Fold("Medians per kind", [_kinds(pairs)]))
    blocks.append(b.Explanation(MEANINGS))
    blocks += refused_rows(pairs.refused)
    about = f"{', '.join(pairs.names)} · seed {pairs.seed} · {format_seconds(pairs.seconds)}"
    facts = {"random words": str(pairs.draws)} | models_facts(pairs.models)
    return b.ResultView(
        "Pairs of texts",
        [*blocks, b.source(about)],
        provenance(pairs, facts),
        lambda: _picture(pairs),
    )


def _sentence(pair: Pair) -> b.RunningText:
    kind = [b.Span(f"  ({pair.kind})", "soft")] if pair.kind else []
    return b.RunningText((*in_place(pair.a, *pair.place), *kind))


def _labels(model: PairInModel) -> b.Block:
    """The labels of both texts in a classifier."""
    said = " → ".join(f"{label} ({share:.3f})" for label, share in model.labels)
    return b.plain(b.Span(model.name, "bold"), f": label {said}")


def in_place(text: str, start: int, before: str, after: str) -> list[b.Inline]:
    """A text with the edit that begins at ``start``."""
    rest = text[start + len(before) :]
    space = " " if rest[:1].isalnum() else ""
    return [text[:start], *marked_change(before.strip(), after.strip()), space + rest]


def marked_change(old: str, new: str) -> list[b.Inline]:
    """An edit in place: [old → new]."""
    arrow = " → " if old and new else ""
    return ["[", b.Span(old or "+", "first"), arrow, b.Span(new or "−", "second"), "]"]


def _numbers(pair: Pair) -> b.Table:
    parts = b.Column(
        "grows most in",
        "text",
        optional=True,
        cell=lambda one: (
            "–" if one["parts"] is None else f"layer {one['parts']} of {len(one['layers']) - 1}"
        ),
    )
    return b.table_of([vars(one) for one in pair.models], [MODEL, *NUMBERS, parts])


def _kinds(pairs: Pairs) -> b.Table:
    kind = b.Column("kind", "text", cell=lambda row: row["kind"] or "–")
    counted = b.Column("pairs", cell=lambda row: f"{row['pairs']:,}")
    return b.table_of(pairs.kinds(), [kind, MODEL, counted, *NUMBERS], shown=60)


def _picture(pairs: Pairs) -> Chart:
    """A row per pair, a mark per model at the cosine."""
    shown = pairs.pairs[:SHOWN]
    rows = list(range(len(shown)))
    points = [
        PointSeries(shortened(name, 40), [pair.models[at].cosine for pair in shown], rows, at)
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
    start, before, after = pair.place
    old, new = before.strip() or "+", after.strip() or "−"
    change = f"[{shortened(old, 16)} → {shortened(new, 16)}]"
    rest = pair.a[start + len(before) :]
    return f"{shortened(pair.a[:start][-22:], 22)} {change} {shortened(rest[:14], 14)}".strip()
