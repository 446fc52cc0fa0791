"""The verb `words`: which word of a text moves a pretrained model, and how far.

Numbers come in tiers, from the quickest: mean local, local, real words, the curve S(ρ); each is the
same from another seed, or comes with its error. Every word gets the same plan, whatever the length
of the text and the words next to it.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from wordsway.core.checks import OneText, takes, validated
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.result import fields_of, versions
from wordsway.core.runtime import peak_bytes, single_thread
from wordsway.models.encoders import AnyModel, opened, with_vectors
from wordsway.models.heads import is_classifier
from wordsway.models.probe import EncodedText, Probe
from wordsway.probing.black_boxes import words_by_vectors
from wordsway.probing.ceiling import ceilings
from wordsway.probing.local import TWICE, Local, local, mean_local, sketch_of
from wordsway.probing.moves import (
    Blocks,
    attained,
    noise_blocks,
    weight_of,
)
from wordsway.probing.real_words import real_words
from wordsway.probing.request import SwapRequest, WordsRequest
from wordsway.probing.results import Words, WordSway
from wordsway.probing.search import curves, reaches_up_to
from wordsway.probing.swap import TRIED, swaps_of
from wordsway.probing.targets import Target, target_of
from wordsway.probing.tiers import TIERS, in_order
from wordsway.text.clean import checked

log = logging.getLogger("wordsway")
#: Tokens of a text up to which two threads are no quicker than one: all of it is small products.
SMALL = 8
#: Words × tokens, in units of MiniLM's cost per token, up to which a text is short: all words get
#: the first three tiers.
SHORT = 1500
#: Tokens, in the same units, that real words may take by default in a long text: its words with the
#: largest mean local come first.
REAL_TOKENS = 16_000


@takes(WordsRequest)
@validated
def words(
    text: OneText,
    model: Any = "minilm",
    *,
    progress: Progress = silent,
    **options: Any,
) -> Words:
    """How far changing each word of a text moves a pretrained model, or any encoder of texts
    (`wordsway.models.encoders`; one that only returns vectors is measured by real words).

    ``options`` are the fields of `WordsRequest`, which explains them: layer, target, tiers, colour,
    word, reach, at, scaling, passes, draws, twin, cut, seed, effort, memory.
    """
    request = WordsRequest(**options)
    checked(text)
    *_, found = measure(text, opened(model), request, progress)
    return found


def measure(
    text: str, probe: AnyModel, request: WordsRequest, progress: Progress = silent
) -> Iterator[Words]:
    """The result after every tier, with all that was measured before; the last one is whole."""
    checked(text)
    if not isinstance(probe, Probe):
        yield words_by_vectors(text, with_vectors(probe, "words"), request, progress)
        return
    if request.target != "logits" and is_classifier(probe):
        log.warning("%s has labels, which only target logits measures", probe.name)
    started = time.perf_counter()
    kept = probe.cut(text) if request.cut else text
    run = _WordsRun(probe, probe.read(kept, request.at), request, progress)
    seconds = time.perf_counter() - started
    for step in run.steps():
        started = time.perf_counter()
        with single_thread(run.encoded.n <= SMALL):
            step()
        seconds += time.perf_counter() - started
        found = run.result(seconds)
        yield replace(found, cut=len(text)) if len(kept) < len(text) else found


def default_tiers(
    probe: Probe, target: Target, words: int, tokens: int, colour: str | None = None
) -> tuple[str, ...]:
    """All but the curve for a short text; the first for a long one; and ``colour``."""
    units = words * tokens * weight_of(probe, target.layer)
    tiers = ("mean-local", "local", "real-words") if units <= SHORT else ("mean-local",)
    return in_order([*tiers, *([colour] if colour else [])])


def places_in_time(probe: Probe, target: Target, tokens: int, draws: int) -> int:
    """The number of words of a long text that get real words by default."""
    return int(REAL_TOKENS / (draws * tokens * weight_of(probe, target.layer)))


class _WordsRun:
    """One request about one text: its tiers as steps, and the words as far as they are measured."""

    def __init__(
        self, probe: Probe, encoded: EncodedText, request: WordsRequest, progress: Progress
    ) -> None:
        self.probe, self.encoded, self.request, self.progress = probe, encoded, request, progress
        self.target = target_of(probe, encoded, request.wanted, request.scaling)
        self.chosen = request.words_of(encoded)
        self.tiers = request.planned or default_tiers(
            probe, self.target, len(self.chosen), encoded.n, request.colour
        )
        self.reach = request.reach or 1.0
        self.blocks = Blocks(self.target, self.chosen, 1.0, request.memory)
        self.done: list[str] = []

    def steps(self) -> Iterator[Callable[[], None]]:
        """One step per tier; then real words for some words of a long text, and the twin."""
        compute = {
            "mean-local": self._mean_local,
            "local": self._local,
            "real-words": lambda: self._real_words(range(len(self.chosen))),
            "curve": self._curve,
        }
        for tier in self.tiers:
            self.done.append(tier)
            yield compute[tier]
        if self.request.planned is None and "real-words" not in self.tiers:
            order = sorted(range(len(self.found)), key=lambda at: -(self.found[at].mean_local or 0))
            count = places_in_time(self.probe, self.target, self.encoded.n, self.request.draws)
            if count:
                yield lambda: self._real_words(order[:count])
        if self.request.twin:
            yield self._twin

    @cached_property
    def found(self) -> list[WordSway]:
        """The words, with their ceilings at first."""
        return [
            WordSway(
                word.index,
                word.text,
                word.start,
                word.end,
                word.rows,
                self.encoded.radius(word) * self.reach,
                upper=upper,
                unknown=self.encoded.reading.is_unknown(word),
                joined=word.joined,
            )
            for word, upper in zip(self.chosen, ceilings(self.target, self.chosen), strict=True)
        ]

    def _add(self, places: Sequence[int], fields: Sequence[dict[str, Any]]) -> None:
        for place, more in zip(places, fields, strict=True):
            word = self.found[place] = replace(self.found[place], **more)
            numbers = [word.mean_local, word.local, word.sensitivity, *(word.profile or ())]
            if not all(value is None or math.isfinite(value) for value in numbers):
                raise WordswayError(
                    "hidden states became NaN or Inf under the Δ found: "
                    "take a smaller reach, or a wider dtype"
                )

    def _add_all(self, fields: Sequence[dict[str, Any]]) -> None:
        self._add(range(len(self.found)), fields)

    @cached_property
    def _sketch(self) -> torch.Tensor:
        how: dict[str, Any] = {"passes": self.request.passes, "seed": self.request.seed}
        return sketch_of(self.target, **how, progress=self.progress)

    def _mean_local(self) -> None:
        means = mean_local(self._sketch, self.encoded, self.chosen)
        self._add_all([{"mean_local": one, "mean_local_error": error} for one, error in means])

    @cached_property
    def _small(self) -> list[Local]:
        return local(self.blocks, self._sketch, self.progress)

    def _local(self) -> None:
        self._add_all(
            [
                {"local": one.value, "local_converged": one.converged, "direction": one.direction}
                for one in self._small
            ]
        )
        if "curve" not in self.tiers:  # else the curve attains more
            radius = self.blocks.at_reach(self.reach).radius
            ways = [radius[place] * one.direction for place, one in enumerate(self._small)]
            self._attain([[way, -way] for way in ways], noise_counts=True)

    def _curve(self) -> None:
        lines = curves(
            self.blocks,
            self._small,
            reaches=reaches_up_to(self.reach),
            effort=self.request.effort,
            seed=self.request.seed,
            progress=self.progress,
        )
        self._add_all([{"curve": line.points} for line in lines])
        self._attain([[line.deltas[-1]] for line in lines], noise_counts=False)

    def _attain(self, candidates: list[list[torch.Tensor]], *, noise_counts: bool) -> None:
        """The best candidate Δ of each word, or noise where that counts and does more."""
        here = self.blocks.at_reach(self.reach)
        noise = noise_blocks(here, self.request.seed)
        reached = attained(here, candidates, noise, noise_counts=noise_counts)
        self._add_all([fields_of(one) for one in reached])

    def _real_words(self, places: Sequence[int]) -> None:
        found = real_words(
            self.target,
            [self.chosen[place] for place in places],
            draws=self.request.draws,
            seed=self.request.seed,
            size=self.blocks.at_once,
            progress=self.progress,
        )
        self._add(places, [{"real": one} for one in found])

    def _twin(self) -> None:
        """The profiles that the same tiers find in the model's twin with random weights."""
        other = self.probe.again(twin=self.request.seed)
        request = replace(
            self.request,
            tiers=("local", "curve") if "curve" in self.tiers else ("local",),
            colour=None,
            word=[word.index for word in self.chosen],
            scaling=self.target.scaling,
            twin=False,
        )
        *_, twins = measure(self.encoded.text, other, request, self.progress)
        self._add_all([{"twin": one.profile} for one in twins.words])

    def result(self, seconds: float) -> Words:
        found = tuple(self.found)
        done = tuple(tier for tier in TIERS if any(word.score(tier) for word in found))
        label, probability = self.target.prediction
        request = self.request
        return Words(
            text=self.encoded.text,
            words=found,
            tokens=tuple(token.piece for token in self.encoded.reading.tokens),
            target=self.target.name,
            layer=self.target.layer,
            layers=self.probe.layers.count,
            tier=request.headline,
            tiers=done,
            scaling=self.target.scaling,
            passes=request.passes,
            draws=request.draws,
            reach=self.reach,
            at=request.at,
            model=self.probe.describe(),
            seed=request.seed,
            seconds=seconds,
            peak_mb=peak_bytes() / 1e6,
            status=_status(found, done, "real-words" in self.done),
            versions=versions(),
            label=label,
            probability=probability,
            partial=tuple(tier for tier in done if tier not in self.tiers),
        )


def _status(found: Sequence[WordSway], done: Sequence[str], tried: bool) -> str:
    loose = [word.word for word in found if word.local_converged is False]
    parts = [f"local not converged for {len(loose)} of {len(found)} words"] if loose else []
    alone = [word.word for word in found if word.real is None] if tried else []
    if alone:
        names = ", ".join(map(repr, alone[:3])) + (" …" if len(alone) > 3 else "")
        parts.append(
            f"no real word of as many tokens known for {names} "
            "(words of several tokens come from WordNet: wordsway data get wordnet)"
        )
    if "curve" in done:
        parts.append("S(ρ) is a lower bound: a longer search (effort= in Python) may raise it")
    return "; ".join(parts) or "converged"


def with_swaps(
    result: Words, probe: AnyModel, count: int, memory: int, progress: Progress = silent
) -> Words:
    """The result with the worst real words of its ``count`` words with the largest numbers."""
    order = [result.words[place] for place in result.ranked]
    request = SwapRequest(
        target=result.target,
        scaling=result.scaling,
        worst_case=False,
        seed=result.seed,
        memory=memory,
    )
    found = []
    for word in order[:count]:
        with suppress(InputError):  # nothing else can stand there: a sign that touches a word
            found.append(swaps_of(result.text, word.index, probe, request, progress))
    seconds = result.seconds + sum(one.seconds for one in found)
    return replace(result, swaps=tuple(found), seconds=seconds)


#: Words that a forecast measures.
SOME = 6


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
    blocks = Blocks(target, chosen, 1.0, request.memory)
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

    def seconds_of(tiers: Sequence[str], words: Sequence[Word]) -> float:
        """Seconds of all words from those of some; mean local takes the same for any number."""
        once = timed(tiers, words[len(words) // 2 :][:1])
        if tuple(tiers) == ("mean-local",) or len(words) == 1:
            return once
        some = words[:: max(1, len(words) // SOME)][:SOME]
        several = timed(tiers, some)
        return several + (len(words) - len(some)) * max(0.0, several - once) / (len(some) - 1)

    timed(("mean-local",), chosen[:1])  # the first one warms up
    seconds = seconds_of(planned, chosen) * (2 if request.twin else 1)
    if request.planned is None and "real-words" not in planned:
        places = chosen[: places_in_time(probe, target, encoded.n, request.draws)]
        seconds += seconds_of(("real-words",), places) if places else 0.0
    if swaps:
        seconds += swaps * TRIED * timed(("real-words",), chosen[:1]) / request.draws
    grown = TWICE if "local" in planned else 1
    held = min(len(chosen) * grown, blocks.at_once) * blocks.text_bytes
    return WordsCost(len(chosen), encoded.n, seconds, held)
