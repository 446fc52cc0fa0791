"""A cell: a request and a trial, one point of a grid. Its seeds come from its content and nothing
else.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import torch

from wordsway.core.cost import Cost
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import single_thread
from wordsway.core.seeds import derive
from wordsway.engine.job import PROCESS, PROCESS_WITH_MODEL, Job, canonical
from wordsway.learning.learn import Question
from wordsway.learning.stack import Chains, Features
from wordsway.studies.corpus_texts import CorpusTexts, fingerprint, is_here, stamp
from wordsway.studies.cost import trial_cost
from wordsway.studies.lessons import Begun, begin_trial, end_trial, features_of
from wordsway.studies.measure import run_trial
from wordsway.studies.request import LearningOptions, Request, request_of
from wordsway.studies.speed import family_of, searching_seconds, trial_seconds
from wordsway.studies.texts import (
    GaussianTexts,
    LabelledGaussianTexts,
    LabelledSource,
    Source,
    TextOptions,
)

#: What a stored cell means, and one that learns; raise it when the same content would give other
#: numbers.
VERSION, LEARNING_VERSION = 2, 6
#: The versions that their seeds are drawn with: texts and weights have been the same ones since.
SEEDS, LEARNING_SEEDS = 1, 2
#: What learning cells of the same weights may differ in.
ASKED = ("train", "update", "loss", "penalty", "real_words")
#: Bytes of Gaussian texts that all trials of a study learn from and that are not drawn again: the
#: figures' 1,300 of n = 120, d = 384 take 480 MB.
KEPT_TEXTS = 2**29
#: What a stored cell keeps of its texts' source.
HASHES = ("corpus_sha256", "labels_sha256", "model_sha256")
PROVENANCE = ("corpus", *HASHES[:2], "model", *HASHES[2:], "layer", "cache_version")


@dataclass(frozen=True)
class Cell(Job):
    """One trial of a request; the request's own number of trials does not matter."""

    request: Request
    trial: int = 0

    def __post_init__(self) -> None:
        if self.trial < 0:
            raise InputError("trial ≥ 0", self.trial, "count trials from 0")

    @cached_property
    def content(self) -> dict[str, Any]:
        version = VERSION if self.request.learning is None else LEARNING_VERSION
        return self.request.content | {"trial": self.trial, "version": version}

    @cached_property
    def seed(self) -> int:
        """From the study's seed, the trial, the map and the texts: neither order, nor workers, nor
        other cells matter. Cells that differ in how they search (rows, radius, effort,
        certificate, …) have the same text, weights and seed of the search; so have training
        texts, updates and losses of one trial.
        """
        if self.request.learning is None:
            content, version = self.request.drawn.content, SEEDS
        else:
            content, version = self.request.content, LEARNING_SEEDS
        drawn = {name: value for name, value in content.items() if name not in ASKED}
        return derive(
            self.request.seed, canonical(drawn | {"trial": self.trial, "version": version})
        )

    @cached_property
    def together(self) -> Hashable:
        """Learning cells of the same weights share the features of their texts, and those of the
        same new text factorisation, certificate and search.
        """
        return None if self.request.learning is None else self.seed

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Cell:
        """The cell of a stored content.

        >>> cell = Cell(Request("raf", 5, 4), trial=2)
        >>> Cell.of(cell.content) == cell
        True
        """
        plain = {name: content[name] for name in content if name not in ("trial", "version")}
        return cls(request_of(plain), content["trial"])

    def expect(self, others: Sequence[Job]) -> None:
        _SHARED.expected = tuple(other for other in others if isinstance(other, Cell))

    def cost(self) -> Cost:
        request, learning = self.request, self.request.learning
        cost = trial_cost(request)
        gaussian = request.data == "gaussian"
        process = PROCESS if gaussian and learning is None else PROCESS_WITH_MODEL
        if gaussian and learning is not None:  # texts that stay, counted in single precision so far
            process += min(KEPT_TEXTS, 8 * learning.train * request.n * request.d) // 2
        return Cost(cost.bytes + process, cost.work)

    @property
    def family(self) -> Hashable:
        return family_of(self.request)

    def estimate(self) -> float:
        return trial_seconds(self.request)

    def estimate_next(self) -> float:
        return searching_seconds(self.request)

    @cached_property
    def source(self) -> str | None:
        request = self.request
        if request.data == "gaussian":
            return None
        return canonical({"data": request.data, "texts": request.texts.content})

    def fingerprint(self) -> dict[str, str]:
        return fingerprint(self.request.data, self.request.texts)

    def hashes_in(self, outputs: Mapping[str, Any]) -> dict[str, str]:
        about = outputs.get("source") or {}
        return {name: about[name] for name in HASHES if name in about}

    def source_is_here(self) -> bool:
        return is_here(self.request.data, self.request.texts)

    def run(self, progress: Progress = silent) -> dict[str, Any]:
        """The cell's outputs. One thread, so that they are the same for any number of workers."""
        with single_thread(torch.get_num_threads() > 1):
            learning = self.request.learning
            if learning is not None:
                return self._learned(learning)
            _SHARED.forget()
            return self._measured(progress)

    def _measured(self, progress: Progress) -> dict[str, Any]:
        request, seeded = self.request, self.request.seeded(self.seed)
        source: Source
        if request.data == "gaussian":
            source = GaussianTexts(request.n, request.d, self.seed)
            trial = run_trial(seeded, source, 0, progress)
        else:
            source = _texts_of(request)
            trial = run_trial(seeded, source, 0, progress, text=self.trial)
        return trial.summary() | {"source": _provenance(source)}

    def _learned(self, learning: LearningOptions) -> dict[str, Any]:
        """The study's first N texts, and the one after them that the trial names."""
        request, seeded = self.request, self.request.seeded(self.seed)
        source: LabelledSource
        if request.data == "gaussian":
            source = _gaussian_texts(request.n, request.d, request.seed)
        else:
            source = _texts_of(request)
        plain = replace(seeded, learning=LearningOptions(learning.train))
        begun = _SHARED.begin(plain, source, learning.train + self.trial)
        started = time.perf_counter()
        beside = [
            Question(*other.request.learning.settings)
            for other in _SHARED.expected
            if other.request.learning is not None
            and (other.seed, other.request.learning.train) == (self.seed, learning.train)
        ]
        trial, _ = end_trial(seeded, source, 0, begun, beside=beside)
        seconds = time.perf_counter() - started
        about = {"lower": trial["error"], "upper": None, "source": _provenance(source)}
        return trial | {"seconds": seconds} | about


class _Shared:
    """What the last learning cell of this process made and the next one may use."""

    def __init__(self) -> None:
        #: Cells that are to follow.
        self.expected: tuple[Cell, ...] = ()
        self.forget()

    def forget(self) -> None:
        self._weights: Hashable = None
        self._features: Features | None = None
        self._texts: Hashable = None
        self._begun: Begun | None = None
        self._source: LabelledSource | None = None
        self._chains: Chains = {}

    def begin(self, request: Request, source: LabelledSource, new: int) -> Begun:
        """The trial's interpolator, and what it is made of as far as it is known. What is not
        needed any more goes first: one of them takes up to a gigabyte.
        """
        weights, texts = (replace(request, learning=None), source), (request, source, new)
        if self._features is None or self._weights != weights:
            chains = self._chains if self._source is source else {}
            self.forget()
            self._source, self._chains = source, chains
            self._weights, self._features = weights, features_of(request, 0, chains)
        if self._begun is None or self._texts != texts:
            self._begun = None
            self._begun = begin_trial(request, source, self._features, new=new)
            self._texts = texts
        return self._begun


_SHARED = _Shared()


@lru_cache(maxsize=1)
def _gaussian_texts(n: int, d: int, seed: int) -> LabelledGaussianTexts:
    return LabelledGaussianTexts(n, d, derive(seed, "lessons", n, d), keep=KEPT_TEXTS)


def _provenance(source: Source) -> dict[str, Any]:
    about = source.describe()
    return {name: about[name] for name in PROVENANCE if name in about}


def _texts_of(request: Request) -> CorpusTexts:
    """Texts by the study's seed: trial t of every cell of a study has the same review."""
    sizes = (request.n, request.d, request.seed)
    return _texts(request.data, *sizes, request.texts, stamp(request.data, request.texts))


@lru_cache(maxsize=1)
def _texts(
    data: str, n: int, d: int, seed: int, options: TextOptions, version: Hashable
) -> CorpusTexts:
    """Rows of 1,300 texts take 480 MB at n = 120, d = 768, so only the last source is kept; reading
    others back takes a moment. ``version`` tells a file from the one that it replaced.
    """
    return CorpusTexts(data, n, d, seed, None, options)
