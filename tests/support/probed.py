"""Results of `words` made by hand, for tests of views: numbers that differ, none of them round."""

from __future__ import annotations

from typing import Any

from wordsway.core.reading import word_spans
from wordsway.probing.real_words import RealWords
from wordsway.probing.results import Swap, Swaps, Words, WordSway
from wordsway.probing.search import CurvePoint

ABOUT: dict[str, Any] = {
    "model": "tiny/<b>model</b>",
    "model_sha256": "0123abcd" * 8,
    "width": 16,
}
VERSIONS = {"wordsway": "0.9", "torch": "2.4"}


def real_of(scale: float, name: str) -> RealWords:
    changes = tuple(scale * (0.8 + 0.05 * at) for at in range(8))
    return RealWords(
        mean=scale * 0.975,
        error=scale * 0.0217,
        q90=scale * 1.115,
        worst=changes[-1],
        worst_word=name,
        draws=8,
        changes=changes,
        words=("bad", "</script>", "plot", "cast", "it", "she", "he", name),
    )


def word_of(
    text: str, index: int, start: int, end: int, layers: int, layer: int, twin: bool, full: bool
) -> WordSway:
    scale = 0.0123 + 0.7177 * (index * 7919 % 101) / 101
    profile = tuple(
        scale * (1.31 - 0.07 * (at - layer + 1) ** 2 / layers) for at in range(layers + 1)
    )
    curve = tuple(
        CurvePoint(reach, scale * reach * 1.3, scale * reach * 0.1) for reach in (0.03, 0.1, 1.0)
    )
    small = WordSway(
        index,
        text[start:end],
        start,
        end,
        (index + 1,) if index % 4 else (index + 1, index + 2),
        9.876,
        mean_local=scale * 0.31,
        mean_local_error=scale * 0.0031,
        unknown=index == 3,
    )
    if not full:
        return small
    fields = vars(small) | {
        "local": scale * 1.7,
        "local_converged": index != 5,
        "real": real_of(scale, "worst\x1b[2J"),
        "curve": curve,
        "upper": 2.345,
        "sensitivity": scale * 1.3,
        "profile": profile,
        "noise": tuple(value / (3.3 + index % 5) for value in profile),
        "twin": tuple(value / 2.7 for value in profile) if twin else None,
    }
    return WordSway(**fields)


def words_of(
    text: str,
    *,
    layers: int = 6,
    layer: int = 4,
    twin: bool = False,
    swaps: bool = False,
    full: bool = True,
    tier: str | None = None,
) -> Words:
    """All tiers of every word, or mean local alone."""
    found = tuple(
        word_of(text, index, start, end, layers, layer, twin, full)
        for index, (start, end) in enumerate(word_spans(text))
    )
    given: tuple[Swaps, ...] = ()
    if swaps and found:
        best = tuple(
            Swap(word, 0.5123 - 0.1 * at, 7 + at)
            for at, word in enumerate(["</script>", "\x1b[2Jgone", "שלום", "[red]x"])
        )
        name = f"layer {layer}"
        about = (30522, 64, 0.8111, ABOUT, 5, 1.25, VERSIONS)
        given = (Swaps(text, 0, found[0].word, name, best, *about),)
    tiers = ("mean-local", "local", "real-words", "curve") if full else ("mean-local",)
    return Words(
        text=text,
        words=found,
        tokens=("[CLS]", *(word.word for word in found), "[SEP]"),
        target=f"layer {layer}",
        layer=layer,
        layers=layers,
        tier=tier or ("real-words" if full else "mean-local"),
        tiers=tiers if found else (),
        scaling="frobenius",
        passes=32,
        draws=8,
        reach=1.0,
        at="words",
        model=ABOUT,
        seed=11,
        seconds=12.5,
        peak_mb=321.0,
        status="local not converged for 1 word",
        versions=VERSIONS,
        swaps=given,
    )
