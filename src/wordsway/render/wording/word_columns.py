"""What a table of words shows beside the number that they are coloured by: a name for each column,
its cells, and one plain sentence.
"""

from __future__ import annotations

from collections.abc import Callable

from wordsway.probing.results import Words, WordSway
from wordsway.probing.tiers import TIERS
from wordsway.render.numbers import number
from wordsway.render.wording.columns import ToldColumn
from wordsway.render.wording.targets import named, sized


def other_columns(words: Words) -> list[ToldColumn[WordSway]]:
    """The columns beside the tier that words are coloured by, the most telling ones first."""
    found: list[ToldColumn[WordSway]] = [
        ToldColumn("pieces", lambda word: str(word.pieces), "Tokens that a word is made of.")
    ]
    if any(word.real is not None and word.real.flips is not None for word in words.words):
        found.append(
            ToldColumn(
                "flips",
                _flips,
                f"How many of the random words make the classifier say something else than "
                f"{words.label}.",
            )
        )
    found += [
        ToldColumn(TIERS[tier].title, _score(tier), TIERS[tier].sentence)
        for tier in words.tiers
        if tier != words.tier
    ]
    if "curve" in words.tiers and any(word.upper is not None for word in words.words):
        found.insert(
            1 if words.tier == "curve" else len(found),
            ToldColumn("at most", lambda word: number(word.upper), _ceiling(words)),
        )
    if words.tier == "real-words":
        found += [
            ToldColumn("90 %", _quantile, "One random word in ten moves it farther than this."),
            ToldColumn("worst", _worst, "The farthest that one of the random words moves it."),
        ]
    return found


def _score(tier: str) -> Callable[[WordSway], str]:
    return lambda word: number((word.score(tier) or (None,))[0])


def _flips(word: WordSway) -> str:
    real = word.real
    return "–" if real is None or real.flips is None else f"{real.flips} of {real.draws}"


def _quantile(word: WordSway) -> str:
    return number(None if word.real is None else word.real.q90)


def _worst(word: WordSway) -> str:
    return number(None if word.real is None else word.real.worst)


def _ceiling(words: Words) -> str:
    reaches = [word.upper_reach for word in words.words if word.upper_reach is not None]
    how = f"no longer than reach {reaches[0]:g} " if reaches else ""
    where = f"{named(words.target, words.layers)} farther, {sized(words.target)}"
    return f"Certified: no change of the word {how}moves {where}."
