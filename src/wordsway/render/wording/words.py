"""What every medium says of the words of a text: its pieces, its headline, its facts."""

from __future__ import annotations

from wordsway.probing.results import Words, WordSway
from wordsway.render.numbers import largest, number, times
from wordsway.render.wording.provenance import provenance


def top_of(words: Words) -> float:
    """The end of the colour scale: the largest S of the text."""
    return largest([word.sensitivity for word in words.words])


def over_noise(word: WordSway, layer: int) -> float | None:
    """S over the mean change by Gaussian noise of the same norm, at the searched layer."""
    noise = word.noise[layer] if 0 <= layer < len(word.noise) else 0.0
    return word.sensitivity / noise if noise > 0 else None


def worst_layer(word: WordSway) -> int:
    """The layer that the word's Δ moves most (the first one, if several)."""
    return max(range(len(word.profile)), key=lambda layer: word.profile[layer], default=0)


def ranked(words: Words) -> list[int]:
    """The places of the words in ``words.words``, the largest S first; equal ones in the order of
    the text.
    """
    return sorted(range(len(words.words)), key=lambda place: -words.words[place].sensitivity)


def pieces(words: Words) -> list[tuple[str, int | None]]:
    """The whole text in order: each piece with the place of its word in ``words.words``, None
    between the words.
    """
    found: list[tuple[str, int | None]] = []
    at = 0
    for place in sorted(range(len(words.words)), key=lambda place: words.words[place].start):
        word = words.words[place]
        if word.start < at or word.end <= word.start:
            continue
        found += [(words.text[at : word.start], None), (words.text[word.start : word.end], place)]
        at = word.end
    return [(text, place) for text, place in [*found, (words.text[at:], None)] if text]


def headline(words: Words) -> str:
    """What was found, in one sentence, without the word itself."""
    if not words.words:
        return f"no word was searched at layer {words.layer} of {words.layers}"
    top = words.top
    against = over_noise(top, words.layer)
    return f"S = {number(top.sensitivity)}" + (
        f", {times(against)} noise" if against is not None else ""
    )


def facts(words: Words) -> dict[str, str]:
    """Where the numbers come from: everything needed to get them again."""
    return provenance(
        words,
        {
            "layer searched": f"{words.layer} of {words.layers}",
            "reach": f"ρ = {words.reach:g} of the word's own norm",
            "Δ is added to": words.at,
            "words searched": f"{len(words.words)}, in {len(words.tokens)} tokens",
            "status": words.status,
        },
    )
