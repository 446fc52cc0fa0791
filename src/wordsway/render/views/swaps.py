"""Real words in one place of a text, those that move the target most first."""

from __future__ import annotations

from dataclasses import replace

from wordsway.core.escape import shortened
from wordsway.core.format import format_seconds
from wordsway.core.reading import word_spans
from wordsway.probing.results import Swap, Swaps
from wordsway.probing.targets import named, sized
from wordsway.render import blocks as b
from wordsway.render.numbers import largest, number, percent
from wordsway.render.views.common import model_name, provenance


def swaps_view(swaps: Swaps) -> b.ResultView:
    """The word in its place, the real words, and how near they come to the worst Δ."""
    before, word, after = in_place(swaps)
    blocks: list[b.Block] = [
        b.plain(
            "Real words for “",
            b.Span(swaps.word, "bold"),
            f"” (word {swaps.index}), ",
            b.Span(_ordering(swaps), "bold"),
        ),
        b.RunningText((before, b.Span(word, "marked"), after)),
    ]
    if swaps.label is not None:
        blocks.append(b.headline(f"Predicted label: {labelled(swaps.label, swaps.probability)}"))
    if swaps.swaps:
        blocks += [_table(swaps), *_reached(swaps)]
    elif swaps.only_flips:
        tried = f"none of the {swaps.evaluated:,} words tried flips the label"
        remedy = "another word may: words --target logits counts flips in every place"
        blocks.append(b.plain(f"{tried}; {remedy}"))
    else:
        blocks.append(b.plain("no real word was found"))
    if swaps.refused:
        names = ", ".join(f"“{name}”" for name in swaps.refused[:5])
        more = f" and {len(swaps.refused) - 5} more" if len(swaps.refused) > 5 else ""
        blocks.append(b.headline(f"Left out (not exactly one word in that place): {names}{more}"))
    how = f"{_counts(swaps)} · seed {swaps.seed} · {format_seconds(swaps.seconds)}"
    facts = {"candidates": f"{swaps.candidates:,}", "evaluated exactly": f"{swaps.evaluated:,}"}
    return b.ResultView(
        "Real words",
        [*blocks, b.source(f"{model_name(swaps.model)} · {how}")],
        provenance(swaps, facts),
        lambda: _bars(swaps),
    )


def labelled(label: str, probability: float | None) -> str:
    """A label with its probability, where that is known."""
    return label if probability is None else f"{label}, probability {probability:.3f}"


def in_place(swaps: Swaps) -> tuple[str, str, str]:
    """The text before the swapped word, the word, and the text after it."""
    spans = word_spans(swaps.text)
    start = spans[swaps.index][0] if 0 <= swaps.index < len(spans) else len(swaps.text)
    if swaps.text.startswith(swaps.word, start):
        return swaps.text[:start], swaps.word, swaps.text[start + len(swaps.word) :]
    return "", swaps.word, ""


def _ordering(swaps: Swaps) -> str:
    if swaps.only_flips:
        return "that flip the label, the smallest change first"
    if swaps.label is not None:
        return f"by the remaining margin of the label {swaps.label}"
    return f"by the change of {named(swaps.target)}"


def _counts(swaps: Swaps) -> str:
    """How many words were tried, and how many of them flip a classifier's label."""
    likely = f" (likely there, by {swaps.plausible})" if swaps.plausible else ""
    tried = f"{swaps.candidates:,} candidates{likely}, {swaps.evaluated:,} evaluated exactly"
    if swaps.flips is None:
        return tried
    how = "chosen by search, not a rate" if swaps.searched else "drawn at random"
    proof = "" if swaps.exhaustive else f" ({how}; --exhaustive tries all)"
    return f"{tried}, {swaps.flips:,} of which flip the label{proof}"


def _table(swaps: Swaps) -> b.Table:
    top = max(swaps.worst or 0.0, largest([swap.change for swap in swaps.swaps]))
    columns = [
        b.Column("word", "text", cell=_spelled),
        b.Column("change", cell=lambda swap: number(swap.change)),
        b.Column("", "bar", cell=lambda swap: b.Bar(swap.change, top)),
    ]
    notes = {
        "change": f"How far {named(swaps.target)} moves, {sized(swaps.target)}, with this word in "
        "that place: evaluated exactly."
    }
    if swaps.label is not None:
        label = shortened(swaps.label, 10)
        columns += [
            b.Column("label", "text", cell=lambda swap: swap.label or "–"),
            b.Column(f"p({label})", cell=_probability),
            b.Column("margin", cell=lambda swap: number(swap.margin)),
        ]
        notes |= {
            "label": "The classifier's label with this word.",
            f"p({label})": f"The probability of {label} with this word.",
            "margin": f"The remaining margin of {label}: its logit or score minus the largest "
            "other one. Below 0 the label flips.",
        }
    if any(swap.plausibility is not None for swap in swaps.swaps):
        likely = b.Column("likely", optional=True, cell=lambda swap: number(swap.plausibility))
        columns.append(likely)
        notes["likely"] = f"How likely the word is in that place: {swaps.plausible}."
    columns.append(b.Column("tokens", optional=True, cell=lambda swap: str(swap.pieces)))
    notes["tokens"] = "Number of tokens in the word."
    if swaps.worst is None:
        return b.table_of(swaps.swaps, columns, shown=16, notes=notes)
    notes["worst Δ"] = (
        "The largest change found when a vector Δ at most as long as the word's embedding is added "
        "to it, in a shorter search than words --tier curve; the sum need not be a real word."
    )
    table = b.table_of(swaps.swaps, columns, shown=16, notes=notes)
    row: list[b.Cell] = [b.Span("worst Δ", "italic"), number(swaps.worst)]
    row += [b.Bar(swaps.worst, top, grey=True), *[""] * (len(columns) - 3)]
    return replace(table, rows=[*table.rows, row])


def _spelled(swap: Swap) -> str:
    """The word, with the number of words of exactly the same effect."""
    more = f" and {swap.others:,} other{'s' * (swap.others > 1)}" if swap.others else ""
    return swap.word + more


def _probability(swap: Swap) -> str:
    return "–" if swap.probability is None else f"{swap.probability:.3f}"


def _reached(swaps: Swaps) -> list[b.Block]:
    """How near the best real word comes to the worst Δ, if words are ordered by change."""
    if swaps.reached is None or swaps.worst is None or swaps.label is not None:
        return []
    part = f"” reaches {percent(swaps.reached, 3)} of the worst Δ found, {number(swaps.worst)}"
    return [b.plain("“", b.Span(swaps.swaps[0].word, "bold"), part)]


def _bars(swaps: Swaps) -> b.Bars:
    before, word, after = in_place(swaps)
    sentence = f"{shortened(before, 70)} [{shortened(word, 30)}] {shortened(after, 70)}".strip()
    label = f"change of {named(swaps.target)}, {sized(swaps.target)}"
    lines = []
    if swaps.worst is not None:
        lines = [(swaps.worst, f"worst Δ found, {number(swaps.worst)}", "--")]
    return b.Bars(
        f"{sentence}\n{model_name(swaps.model)}, {swaps.candidates:,} candidates",
        [_spelled(swap) for swap in swaps.swaps],
        [b.BarColumn(label, [swap.change for swap in swaps.swaps])],
        lines=lines,
    )
