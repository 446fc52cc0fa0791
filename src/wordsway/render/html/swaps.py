"""Real words in one place of a text, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line, html_name
from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import largest, number, share
from wordsway.render.wording.provenance import model_name, provenance
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


@fragments.register(Swaps)
def swaps_fragment(swaps: Swaps) -> str:
    """The word in its place, the real words that move the target most, and how near they come to
    the worst Δ.
    """
    before, word, after = in_place(swaps)
    place = [(len(before), len(before) + len(word))]
    parts = [
        elements.paragraph(title(swaps)),
        elements.flow(elements.marked(before + word + after, place)),
    ]
    if swaps.swaps:
        parts += [swap_table(swaps), elements.explained(meanings(swaps))]
    else:
        parts.append(elements.paragraph(f"{html_line(nothing(swaps))}."))
    parts.append(elements.paragraph(f"{html_line(summary(swaps))}."))
    about = f"{model_name(swaps.model)} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
    return elements.frame([*parts, elements.source(about)])


@pages.register(Swaps)
def swaps_page(swaps: Swaps) -> str:
    more = {"candidates": f"{swaps.candidates:,}", "evaluated exactly": f"{swaps.evaluated:,}"}
    return page_around(
        "Real words", swaps_fragment(swaps), provenance(swaps, more), swaps.to_dict()
    )


def title(swaps: Swaps) -> str:
    """Which word is swapped, and what for; HTML already."""
    place = f"“<b>{html_name(swaps.word)}</b>” (word {swaps.index})"
    return f"Real words for {place}, <b>{html_line(ordering(swaps))}</b>"


def swap_table(swaps: Swaps) -> str:
    """Every real word, and the worst Δ."""
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    more = other_columns(swaps)
    heads = [("word", elements.WORD), ("change", elements.RIGHT), ("", elements.BARS)]
    heads += [
        (html_line(one.name), elements.LEFT if one.name == "label" else elements.RIGHT)
        for one in more
    ]
    rows: list[tuple[str, ...]] = []
    for swap in swaps.swaps:
        drawn = elements.bar(share(swap.change, top))
        cells = tuple(html_line(column.cell(swap)) for column in more)
        rows.append((html_name(swap.word), number(swap.change), drawn, *cells))
    if swaps.worst is not None:
        grey = elements.bar(share(swaps.worst, top), elements.GREY)
        rows.append(("<i>worst Δ</i>", number(swaps.worst), grey, *("" for _ in more)))
    return elements.table(heads, rows)


def summary(swaps: Swaps) -> str:
    """How far the best word comes, and how many were tried."""
    best = f"The best {reached(swaps)}" if reached(swaps) else ""
    return ". ".join(
        part for part in (prediction(swaps), best, counts(swaps), refusals(swaps)) if part
    )
