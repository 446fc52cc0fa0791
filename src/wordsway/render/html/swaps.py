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
    label_cells,
    prediction,
    reached,
    refusals,
)

_PLAIN = (("word", elements.WORD), ("change", elements.RIGHT), ("", elements.BARS))
#: Columns of a table, and of a classifier's.
HEADS = {
    False: _PLAIN,
    True: (
        *_PLAIN,
        ("label after", elements.LEFT),
        ("probability of the label before", elements.RIGHT),
        ("margin", elements.RIGHT),
    ),
}


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
        parts.append(elements.table(HEADS[swaps.label is not None], swap_rows(swaps)))
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
    return f"Real words for {place}, by the change of <b>{html_line(swaps.target)}</b>"


def swap_rows(swaps: Swaps) -> list[tuple[str, ...]]:
    """Cells of every real word, and of the worst Δ, in HTML."""
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    rows: list[tuple[str, ...]] = []
    for swap in swaps.swaps:
        cells = label_cells(swap) if swaps.label is not None else ()
        drawn = elements.bar(share(swap.change, top))
        label = tuple(html_line(cell) for cell in cells)
        rows.append((html_name(swap.word), number(swap.change), drawn, *label))
    if swaps.worst is not None:
        grey = elements.bar(share(swaps.worst, top), elements.GREY)
        empty = ("", "", "") if swaps.label is not None else ()
        rows.append(("<i>worst Δ</i>", number(swaps.worst), grey, *empty))
    return rows


def summary(swaps: Swaps) -> str:
    """How far the best word comes, and how many were tried."""
    best = f"The best {reached(swaps)}" if swaps.reached is not None else ""
    return ". ".join(
        part for part in (prediction(swaps), best, counts(swaps), refusals(swaps)) if part
    )
