"""What every medium says of real words in one place of a text."""

from __future__ import annotations

from wordsway.probing.results import Swaps
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
    """How many words were tried."""
    return f"{swaps.candidates:,} candidates, {swaps.evaluated:,} evaluated exactly"


def reached(swaps: Swaps) -> str:
    """How far the best real word comes."""
    if swaps.reached is None or swaps.worst is None:
        return "the worst Δ was not searched"
    return f"reaches {100 * swaps.reached:.3g} % of the worst Δ found, {number(swaps.worst)}"
