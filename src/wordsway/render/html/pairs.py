"""Pairs of texts in several models, as HTML."""

from __future__ import annotations

from wordsway.audit.pairs_result import Pair, Pairs
from wordsway.escape import html_line, html_name
from wordsway.format import format_seconds
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import number, share
from wordsway.render.wording.pairs import COLUMNS, heading, in_place, models_facts, percent
from wordsway.render.wording.provenance import provenance

#: Pairs that are shown one by one: a page of a thousand is no page any more.
SHOWN = 200


@fragments.register(Pairs)
def pairs_fragment(pairs: Pairs) -> str:
    """Each pair with its numbers in every model, medians per kind, and what was refused."""
    parts = [elements.paragraph(f"<b>{html_line(heading(pairs))}</b>"), elements.explained(COLUMNS)]
    if any(pair.kind for pair in pairs.pairs):
        parts.append(elements.folded("medians per kind", _kinds(pairs)))
    for pair in pairs.pairs[:SHOWN]:
        parts += [_sentence(pair), _numbers(pair)]
    if len(pairs.pairs) > SHOWN:
        parts.append(elements.soft(f"… and {len(pairs.pairs) - SHOWN:,} more, in the data"))
    parts += [elements.soft(str(one)) for one in pairs.refused[:SHOWN]]
    about = f"{', '.join(pairs.names)} · seed {pairs.seed} · {format_seconds(pairs.seconds)}"
    return elements.frame([*parts, elements.source(about)])


@pages.register(Pairs)
def pairs_page(pairs: Pairs) -> str:
    facts = provenance(pairs, {"random words": str(pairs.draws)} | models_facts(pairs.models))
    return page_around("Pairs of texts", pairs_fragment(pairs), facts, pairs.to_dict())


def _sentence(pair: Pair) -> str:
    before, gone, come, behind = in_place(pair)
    return elements.flow(
        html_line(before)
        + marked_change(gone, come)
        + ("" if not behind or not behind[:1].isalnum() else " ")
        + html_line(behind)
        + (f' <span style="{elements.SOFT}">{html_line(pair.kind)}</span>' if pair.kind else "")
    )


def marked_change(gone: str, come: str) -> str:
    """What goes struck through on blue, what comes on orange."""
    look = "border-radius:.25em;padding:0 .15em"
    parts = []
    if gone:
        ground = f"{elements.tint(0.4, elements.COLD)};{look}"
        parts.append(f'<del style="{ground}">{html_line(gone)}</del>')
    if come:
        ground = f"{elements.tint(0.5)};{look};text-decoration:none"
        parts.append(f'<ins style="{ground}">{html_line(come)}</ins>')
    return " ".join(parts)


def _numbers(pair: Pair) -> str:
    heads = (
        ("model", elements.WORD),
        ("cosine", elements.RIGHT),
        ("", elements.BARS),
        ("change", elements.RIGHT),
        ("above", elements.RIGHT),
        ("parts in", elements.LEFT),
    )
    rows = [
        (
            html_name(one.name),
            number(one.cosine),
            elements.bar(share(one.cosine, 1.0)),
            number(one.change),
            percent(one.percentile),
            f"layer {one.parts} of {len(one.layers) - 1}",
        )
        for one in pair.models
    ]
    return elements.table(heads, rows)


def _kinds(pairs: Pairs) -> str:
    heads = (
        ("kind", elements.WORD),
        ("model", elements.WORD),
        ("pairs", elements.RIGHT),
        ("cosine", elements.RIGHT),
        ("", elements.BARS),
        ("change", elements.RIGHT),
        ("above", elements.RIGHT),
    )
    rows = [
        (
            html_name(row["kind"] or "–"),
            html_name(row["name"]),
            f"{row['pairs']:,}",
            number(row["cosine"]),
            elements.bar(share(row["cosine"], 1.0)),
            number(row["change"]),
            percent(row["percentile"]),
        )
        for row in pairs.kinds()
    ]
    return elements.table(heads, rows)
