"""What every medium says of real words in one place of a text."""

from __future__ import annotations

from wordsway.probing.results import Swap, Swaps
from wordsway.reading import word_spans
from wordsway.render.numbers import number


def in_place(swaps: Swaps) -> tuple[str, str, str]:
    """What stands before the swapped word, the word, and what stands after it."""
    spans = word_spans(swaps.text)
    if 0 <= swaps.index < len(spans) and swaps.text[slice(*spans[swaps.index])] == swaps.word:
        start, end = spans[swaps.index]
        return swaps.text[:start], swaps.word, swaps.text[end:]
    return "", swaps.word, ""


def counts(swaps: Swaps) -> str:
    """How many words were tried, and how many of them flip a classifier's label."""
    likely = f" (likely there, by {swaps.plausible})" if swaps.plausible else ""
    tried = f"{swaps.candidates:,} candidates{likely}, {swaps.evaluated:,} evaluated exactly"
    if swaps.flips is None:
        return tried
    proof = "" if swaps.exhaustive else "; others may, too: --exhaustive tries all"
    return f"{tried}, {swaps.flips:,} of which flip the label{proof}"


def prediction(swaps: Swaps) -> str:
    """What a classifier says of the text itself."""
    if swaps.label is None or swaps.probability is None:
        return ""
    return f"Predicted label: {swaps.label}, probability {swaps.probability:.3f}"


def label_cells(swap: Swap) -> tuple[str, str, str]:
    """The label after a swap, the probability of the label before, and the margin that is left."""
    probability = "–" if swap.probability is None else f"{swap.probability:.3f}"
    return swap.label or "–", probability, number(swap.margin)


def refusals(swaps: Swaps) -> str:
    """Words of the user's own list that cannot stand there."""
    if not swaps.refused:
        return ""
    named = ", ".join(f"“{name}”" for name in swaps.refused[:5])
    more = f" and {len(swaps.refused) - 5} more" if len(swaps.refused) > 5 else ""
    return f"Left out, no single word in that place: {named}{more}"


def ordering(swaps: Swaps) -> str:
    """What the words are ordered by."""
    if swaps.only_flips:
        return "that flip the label, the smallest change first"
    if swaps.label is not None:
        return f"by the margin that is left to the label {swaps.label}"
    return f"by the change of {swaps.target}"


def reached(swaps: Swaps) -> str:
    """How far the best real word comes."""
    if swaps.reached is None or swaps.worst is None:
        return "the worst Δ was not searched"
    return f"reaches {100 * swaps.reached:.3g} % of the worst Δ found, {number(swaps.worst)}"
