"""Real words in one place of a text, as HTML: a fragment for a notebook, and a page around it."""

from __future__ import annotations

from wordsway.format import format_seconds
from wordsway.probing.results import Swaps
from wordsway.render.html import blocks
from wordsway.render.html.parts import in_place, largest, model_name, number, origin, share
from wordsway.render.html.sheet import around
from wordsway.render.letters import escaped_line, escaped_name


def swaps_fragment(swaps: Swaps) -> str:
    """The word in its place, the real words that move the target most, and how near they come to
    the worst Δ.
    """
    before, word, after = in_place(swaps)
    place = [(len(before), len(before) + len(word))]
    parts = [f"<div>{_lead(swaps)}</div>", blocks.flow(blocks.marked(before + word + after, place))]
    if swaps.swaps:
        heads = (
            ("word", f"{blocks.LEFT};max-width:16em;overflow-wrap:anywhere"),
            ("change", blocks.RIGHT),
            ("", f"{blocks.LEFT};width:20em"),
        )
        parts.append(blocks.table(heads, swap_rows(swaps)))
    parts.append(f"<div>{escaped_line(said_of(swaps))}.</div>")
    return blocks.frame(
        [
            *parts,
            blocks.source(
                f"{model_name(swaps.model)} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
            ),
        ]
    )


def swaps_page(swaps: Swaps) -> str:
    facts = origin(
        swaps, {"candidates": f"{swaps.candidates:,}", "evaluated exactly": f"{swaps.evaluated:,}"}
    )
    return around("Real words", swaps_fragment(swaps), facts, swaps.to_dict())


def swap_rows(swaps: Swaps) -> list[tuple[str, str, str]]:
    """Name, change and bar of every real word, and of the worst Δ, in HTML."""
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    lines = [(escaped_name(swap.word), swap.change, blocks.ORANGE) for swap in swaps.swaps]
    lines += [("<i>worst Δ</i>", swaps.worst, blocks.GREY)] if swaps.worst is not None else []
    return [
        (name, number(change), blocks.bar(share(change, top), colour))
        for name, change, colour in lines
    ]


def said_of(swaps: Swaps) -> str:
    """How far the best word comes, and how many were tried."""
    told = f"{swaps.candidates:,} candidates, {swaps.evaluated:,} evaluated exactly"
    return (
        told
        if swaps.reached is None
        else f"The best reaches {100 * swaps.reached:.3g} % of the worst Δ. {told}"
    )


def _lead(swaps: Swaps) -> str:
    return f"Real words for “<b>{escaped_name(swaps.word)}</b>” (word {swaps.index}), by the change of <b>{escaped_line(swaps.target)}</b>"
