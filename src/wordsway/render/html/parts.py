"""What the views of a probed text share: its pieces, its numbers as text, and where they come from."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from wordsway.format import format_bytes, format_seconds
from wordsway.probing.results import Swaps, Words, WordSway
from wordsway.reading import word_spans


def number(value: float | None) -> str:
    """Four digits, the same in every view; – where there is nothing.

    >>> number(0.123456), number(1.59), number(1000.2), number(None)
    ('0.1235', '1.590', '1000', '–')
    """
    return "–" if value is None else f"{value:#.4g}".removesuffix(".")


def share(value: float, top: float) -> float:
    """value / top within [0, 1]; 0 where that means nothing.

    >>> share(1.0, 4.0), share(1.0, 0.0), share(float("nan"), 1.0)
    (0.25, 0.0, 0.0)
    """
    if not (math.isfinite(value) and math.isfinite(top)) or top <= 0:
        return 0.0
    return min(1.0, max(0.0, value / top))


def largest(values: Sequence[float]) -> float:
    """The largest finite value, 0 if there is none."""
    return max((value for value in values if math.isfinite(value)), default=0.0)


def top_of(words: Words) -> float:
    """The end of the colour scale: the largest S of the text."""
    return largest([word.sensitivity for word in words.words])


def over_noise(word: WordSway, layer: int) -> float | None:
    """S over the mean change by Gaussian noise of the same norm, at the searched layer."""
    noise = word.noise[layer] if 0 <= layer < len(word.noise) else 0.0
    return word.sensitivity / noise if noise > 0 else None


def times(value: float | None) -> str:
    """A ratio for a person.

    >>> times(5.234), times(1234.5), times(None)
    ('5.23×', '1.23e+03×', '–')
    """
    return "–" if value is None else f"{value:.3g}×"


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


def in_place(swaps: Swaps) -> tuple[str, str, str]:
    """What stands before the swapped word, the word, and what stands after it."""
    spans = word_spans(swaps.text)
    if 0 <= swaps.index < len(spans) and swaps.text[slice(*spans[swaps.index])] == swaps.word:
        start, end = spans[swaps.index]
        return swaps.text[:start], swaps.word, swaps.text[end:]
    return "", swaps.word, ""


def model_name(model: dict[str, object]) -> str:
    return str(model.get("model") or model.get("name") or "unnamed model")


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
    return origin(
        words,
        {
            "layer searched": f"{words.layer} of {words.layers}",
            "reach": f"ρ = {words.reach:g} of the word's own norm",
            "Δ is added to": words.at,
            "words searched": f"{len(words.words)}, in {len(words.tokens)} tokens",
            "status": words.status,
        },
    )


def origin(result: Any, more: dict[str, str] | None = None) -> dict[str, str]:
    """The model of any result, what else is to be said, then seed, time, memory and versions."""
    about = {
        key: value
        for key, value in result.model.items()
        if key not in ("model", "name") and value is not None
    }
    seed, peak = getattr(result, "seed", None), getattr(result, "peak_mb", None)
    return {
        "model": model_name(result.model),
        **{
            key.replace("_", " "): value
            if isinstance(value, str)
            else json.dumps(value, default=str)
            for key, value in about.items()
        },
        **(more or {}),
        **({} if seed is None else {"seed": str(seed)}),
        "time": format_seconds(result.seconds),
        **({} if peak is None else {"peak memory": format_bytes(peak * 1e6)}),
        "versions": ", ".join(f"{name} {version}" for name, version in result.versions.items()),
    }
