"""Time and memory of `words` on this machine: some words of the text are measured, and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from wordsway.core.reading import Word
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.curve import passes as curve_passes
from wordsway.probing.inputs import check, check_text
from wordsway.probing.local import PASSES
from wordsway.probing.memory import MEMORY, affordable, row_bytes
from wordsway.probing.moves import Blocks
from wordsway.probing.real_words import DRAWS
from wordsway.probing.swap import TRIED
from wordsway.probing.targets import Target, target_of
from wordsway.probing.words import (
    TWICE,
    chosen_tiers,
    chosen_words,
    default_tiers,
    places_in_time,
    words,
)

#: A pass forwards alone, as a share of one forwards and backwards; products with JᵀJ per word.
FORWARD, PRODUCTS = 0.4, 10
#: Words that are measured beside a single one: some where that took less than so many seconds, else
#: few.
SOME, FEW, MOMENT = 6, 2, 2.0


@dataclass(frozen=True)
class Cost:
    """What a request will take: seconds, and bytes beside the model."""

    words: int
    tokens: int
    seconds: float
    bytes: float


def passes_per_word(
    tiers: Sequence[str], words: int, *, reach: float, effort: float, passes: int, draws: int
) -> float:
    """Passes of the text, forwards and backwards, for each of its words: a rough count, by which
    texts are compared before any of them is measured.
    """
    total = 0.0
    if "mean-local" in tiers:
        total += passes / max(1, words)
    if "local" in tiers:
        total += PRODUCTS * 1.5 + 6 * FORWARD
    if "real-words" in tiers:
        total += FORWARD * draws
    if "curve" in tiers:
        total += curve_passes(reach, effort)
    return total


def forecast(
    text: str,
    model: str | Probe = "minilm",
    *,
    layer: int | str = "last",
    target: str = "layer",
    tiers: Sequence[str] | None = None,
    colour: str | None = None,
    only: Sequence[int | str] | None = None,
    reach: float | None = None,
    at: str = "words",
    twin: bool = False,
    swaps: int = 0,
    passes: int = PASSES,
    draws: int = DRAWS,
    cut: bool = False,
    effort: float = 1.0,
    memory: int = MEMORY,
    clock: Callable[[], float] = time.perf_counter,
) -> Cost:
    """Time and memory of `words`, with swaps for ``swaps`` of them; ``clock`` counts seconds."""
    check_text(text)
    check(1.0 if reach is None else reach, effort, memory)
    wanted = chosen_tiers(tiers, colour, reach)
    probe = model if isinstance(model, Probe) else Probe(model)
    if cut:
        text = probe.cut(text)
    encoded = probe.read(text, at)
    judged = target_of(probe, encoded, layer if target == "layer" else target)
    chosen = chosen_words(encoded, only)
    size = affordable(probe, encoded.n, judged.layer, memory)
    planned = wanted or default_tiers(probe, judged, len(chosen), encoded.n, colour)

    def timed(tiers: Sequence[str], some: Sequence[Word]) -> float:
        started = clock()
        words(
            text,
            probe,
            layer=layer,
            target=target,
            tiers=tiers,
            word=[word.index for word in some],
            reach=reach if "curve" in tiers else None,
            at=at,
            passes=passes,
            draws=draws,
            effort=effort,
            memory=memory,
        )
        return clock() - started

    timed(("mean-local",), chosen[:1])  # the first one warms up
    seconds = _seconds(lambda some: timed(planned, some), chosen, planned) * (2 if twin else 1)
    if wanted is None and "real-words" not in planned:
        places = chosen[: places_in_time(probe, judged, encoded.n, draws)]
        more = ("real-words",)
        seconds += _seconds(lambda some: timed(more, some), places, more) if places else 0.0
    if swaps:
        seconds += swaps * TRIED * _forward_seconds(judged, encoded, chosen[:size], clock)
    grown = TWICE if "local" in planned else 1
    held = min(len(chosen) * grown, size) * row_bytes(probe, encoded.n, judged.layer)
    return Cost(len(chosen), encoded.n, seconds, held)


def _seconds(
    timed: Callable[[Sequence[Word]], float], chosen: Sequence[Word], tiers: Sequence[str]
) -> float:
    """Seconds of all words: mean local takes the same for any number of them, the other tiers grow
    in proportion to it.
    """
    if tuple(tiers) == ("mean-local",):
        return timed(chosen[:1])
    once = timed(_spread(chosen, 1))
    count = SOME if once < MOMENT else FEW
    if len(chosen) <= count:
        return timed(chosen) if len(chosen) > 1 else once
    some = timed(_spread(chosen, count))
    return some + (len(chosen) - count) * max(0.0, some - once) / (count - 1)


def _spread(chosen: Sequence[Word], count: int) -> list[Word]:
    """So many words, from all parts of the text."""
    return [chosen[(2 * at + 1) * len(chosen) // (2 * count)] for at in range(count)]


def _forward_seconds(
    target: Target, encoded: EncodedText, some: Sequence[Word], clock: Callable[[], float]
) -> float:
    """Seconds of one pass forwards, of a batch of them."""
    blocks = Blocks(encoded, list(some), 1.0)
    delta = torch.zeros(len(some), blocks.size).to(encoded.embeds)
    started = clock()
    with torch.no_grad():
        target.change2(blocks.moved(torch.arange(len(some)), delta))
    return (clock() - started) / len(some)
