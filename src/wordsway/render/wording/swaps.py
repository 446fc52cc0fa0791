"""What every medium says of real words in one place of a text."""

from __future__ import annotations

from wordsway.escape import shortened
from wordsway.probing.results import Swap, Swaps
from wordsway.reading import word_spans
from wordsway.render.numbers import number, percent
from wordsway.render.wording.columns import ToldColumn
from wordsway.render.wording.targets import named, sized


def in_place(swaps: Swaps) -> tuple[str, str, str]:
    """What stands before the swapped word, the word, and what stands after it."""
    spans = word_spans(swaps.text)
    start = spans[swaps.index][0] if 0 <= swaps.index < len(spans) else len(swaps.text)
    if swaps.text.startswith(swaps.word, start):
        return swaps.text[:start], swaps.word, swaps.text[start + len(swaps.word) :]
    return "", swaps.word, ""


def counts(swaps: Swaps) -> str:
    """How many words were tried, and how many of them flip a classifier's label."""
    likely = ""
    if swaps.plausible:
        grammar = swaps.plausible.startswith("part of speech")
        likely = f" ({'grammatical' if grammar else 'likely'} there, by {swaps.plausible})"
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


def other_columns(swaps: Swaps) -> list[ToldColumn[Swap]]:
    """The columns beside the word and its change."""
    found: list[ToldColumn[Swap]] = []
    if swaps.label is not None:
        label = shortened(swaps.label, 10)
        found = [
            ToldColumn("label", lambda swap: swap.label or "–", "What the classifier says then."),
            ToldColumn(
                f"p({label})",
                lambda swap: "–" if swap.probability is None else f"{swap.probability:.3f}",
                f"The probability that it then gives to {label}, its answer to the text itself.",
            ),
            ToldColumn(
                "margin",
                lambda swap: number(swap.margin),
                f"What is left of the lead of {label}: its logit minus the largest other one. "
                "Below 0 the label flips.",
            ),
        ]
    if any(swap.plausibility is not None for swap in swaps.swaps):
        found.append(
            ToldColumn(
                "likely",
                lambda swap: number(swap.plausibility),
                f"How likely the word is in that place: {swaps.plausible}.",
            )
        )
    pieces = "Tokens that the word is made of."
    return [*found, ToldColumn("pieces", lambda swap: str(swap.pieces), pieces)]


def meanings(swaps: Swaps) -> dict[str, str]:
    """One plain sentence for each column, and for the worst Δ."""
    target = named(swaps.target)
    said = {
        "change": f"How far {target} moves, {sized(swaps.target)}, when this word stands there: "
        "evaluated exactly."
    }
    said |= {column.name: column.sentence for column in other_columns(swaps)}
    if swaps.worst is not None:
        said["worst Δ"] = (
            "The farthest that it was found to move when any numbers as long as the word's own "
            "embedding, not only those of real words, are added to it."
        )
    return said


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
    return f"by the change of {named(swaps.target)}"


def reached(swaps: Swaps) -> str:
    """How far the best real word comes; a classifier's words are ordered by other things."""
    if swaps.reached is None or swaps.worst is None or swaps.label is not None:
        return ""
    return f"reaches {percent(swaps.reached, 3)} of the worst Δ found, {number(swaps.worst)}"


def nothing(swaps: Swaps) -> str:
    """What is said where no word is listed."""
    if swaps.only_flips:
        return f"none of the {swaps.evaluated:,} words tried flips the label"
    return "no real word was found"
