"""Real words in one place of a text, as HTML."""

from __future__ import annotations

from wordsway.escape import html_line, html_name
from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.html import elements, fragments, pages
from wordsway.render.html.page import page_around
from wordsway.render.numbers import largest, number, share
from wordsway.render.wording.provenance import model_name, provenance
from wordsway.render.wording.swaps import counts, in_place, reached


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
        heads = (("word", elements.WORD), ("change", elements.RIGHT), ("", elements.BARS))
        parts.append(elements.table(heads, swap_rows(swaps)))
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


def swap_rows(swaps: Swaps) -> list[tuple[str, str, str]]:
    """Name, change and bar of every real word, and of the worst Δ, in HTML."""
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    lines = [(html_name(swap.word), swap.change, elements.ORANGE) for swap in swaps.swaps]
    if swaps.worst is not None:
        lines.append(("<i>worst Δ</i>", swaps.worst, elements.GREY))
    return [
        (name, number(change), elements.bar(share(change, top), colour))
        for name, change, colour in lines
    ]


def summary(swaps: Swaps) -> str:
    """How far the best word comes, and how many were tried."""
    if swaps.reached is None:
        return counts(swaps)
    return f"The best {reached(swaps)}. {counts(swaps)}"
