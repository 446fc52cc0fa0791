"""Time and memory of `words` on this machine: some words of the text are measured, and timed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from wordsway.core.reading import Word
from wordsway.models.probe import Probe
from wordsway.probing.moves import Blocks, MemoryBudget
from wordsway.probing.request import WordsRequest
from wordsway.probing.swap import TRIED
from wordsway.probing.targets import Target, target_of
from wordsway.probing.words import TWICE, default_tiers, measure, places_in_time
from wordsway.text.clean import checked

#: Words that are measured next: `SOME` where the first took less than `MOMENT` seconds, else `FEW`.
SOME, FEW, MOMENT = 6, 2, 2.0


@dataclass(frozen=True)
class WordsCost:
    """The cost of a request: seconds, and bytes in addition to the model."""

    words: int
    tokens: int
    seconds: float
    bytes: float


def forecast(
    text: str,
    probe: Probe,
    request: WordsRequest,
    *,
    swaps: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> WordsCost:
    """Time and memory of `words`, with swaps for ``swaps`` of them; ``clock`` counts seconds."""
    checked(text)
    encoded = probe.read(probe.cut(text) if request.cut else text, request.at)
    target = target_of(probe, encoded, request.wanted, request.scaling)
    chosen = request.words_of(encoded)
    budget = MemoryBudget.of(probe, encoded.n, target.layer, request.memory)
    planned = request.planned or default_tiers(
        probe, target, len(chosen), encoded.n, request.colour
    )

    def timed(tiers: Sequence[str], some: Sequence[Word]) -> float:
        started = clock()
        part = replace(
            request,
            tiers=tiers,
            word=[word.index for word in some],
            reach=request.reach if "curve" in tiers else None,
            colour=None,
            twin=False,
        )
        for _ in measure(encoded.text, probe, part):
            pass
        return clock() - started

    timed(("mean-local",), chosen[:1])  # the first one warms up
    seconds = _seconds(lambda some: timed(planned, some), chosen, planned)
    seconds *= 2 if request.twin else 1
    if request.planned is None and "real-words" not in planned:
        places = chosen[: places_in_time(probe, target, encoded.n, request.draws)]
        more = ("real-words",)
        seconds += _seconds(lambda some: timed(more, some), places, more) if places else 0.0
    if swaps:
        seconds += swaps * TRIED * _forward_seconds(target, chosen[: budget.count], clock)
    grown = TWICE if "local" in planned else 1
    held = min(len(chosen) * grown, budget.count) * budget.text
    return WordsCost(len(chosen), encoded.n, seconds, held)


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
    """``count`` words, from all parts of the text."""
    return [chosen[(2 * at + 1) * len(chosen) // (2 * count)] for at in range(count)]


def _forward_seconds(target: Target, some: Sequence[Word], clock: Callable[[], float]) -> float:
    """Seconds of one pass forwards, of a batch of them."""
    blocks = Blocks(target.encoded, list(some), 1.0)
    delta = torch.zeros(len(some), blocks.size).to(target.encoded.embeds)
    started = clock()
    with torch.no_grad():
        target.change2(blocks.moved(torch.arange(len(some)), delta))
    return (clock() - started) / len(some)
