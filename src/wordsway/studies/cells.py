"""The jobs of a grid: one trial of a request each. Their seeds depend on their content alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, final

import torch

from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import single_thread
from wordsway.core.seeds import derive
from wordsway.engine.forecast import extrapolated_seconds
from wordsway.engine.job import PROCESS, PROCESS_WITH_MODEL, Job, canonical
from wordsway.optimize.driver import MANY
from wordsway.studies.corpus_texts import CorpusTexts, fingerprint, is_here, stamp
from wordsway.studies.flips import Factors, run_flips
from wordsway.studies.measure import run_trial
from wordsway.studies.pairing import Draw, design, numbers_of, unpaired
from wordsway.studies.request import LearningOptions, Request, trial_bytes
from wordsway.studies.texts import (
    GaussianTexts,
    LabelledGaussianTexts,
    LabelledSource,
    Source,
    TextOptions,
)

#: The version of stored outputs; raise it when the same content would give other numbers.
VERSION, SHORTLIST_VERSION, FLIPS_VERSION = 4, 5, 7
#: The versions that seeds are derived from: texts and weights stay the same.
SEEDS, FLIPS_SEEDS = 1, 2
#: Bytes of Gaussian training texts that a worker keeps for the next trial: the figures' 1,300 texts
#: of n = 120, d = 384 take 480 MB.
KEPT_TEXTS = 2**29
#: Features times rows, and bytes, of the first part of a trial that is timed for a forecast.
TRIED_SIZE, TRIED_BYTES = 2e4, 2e8
#: What a stored cell records of its texts' source.
HASHES = ("corpus_sha256", "labels_sha256", "model_sha256")
PROVENANCE = ("corpus", *HASHES[:2], "model", *HASHES[2:], "layer", "cache_version")


@dataclass(frozen=True)
class RequestJob(Job):
    """One trial of a request; the request's own number of trials does not matter.

    ``weights`` is the number of the weights where every text meets every draw of the weights; else
    it is the trial's. Settings that differ in ``pair_by`` alone have the same seeds.
    """

    request: Request
    trial: int = 0
    weights: int | None = field(default=None, kw_only=True)
    pair_by: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def numbers(self) -> dict[str, Any]:
        """The trial and, where they are given, the weights and the names of paired parameters."""
        return {"trial": self.trial} | design(self.weights, self.pair_by)

    @property
    @abstractmethod
    def drawn(self) -> dict[str, Any]:
        """What seeds are derived from, next to the trial."""

    def seed_of(self, trial: int) -> int:
        drawn = self.drawn | {"trial": trial}
        return derive(self.request.seed, canonical(unpaired(drawn, self.pair_by)))

    @cached_property
    def seed(self) -> int:
        """From the study's seed, the trial, the map and the texts: neither order, nor workers, nor
        other cells matter. Cells that differ in how they search (rows, radius, effort,
        certificate, …) have the same text, weights and seed of the search.
        """
        return self.seed_of(self.trial)

    @property
    def seeded(self) -> Request:
        """The request with the seed of this trial's weights and search."""
        return self.request.seeded(
            self.seed if self.weights is None else self.seed_of(self.weights)
        )

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

    @property
    def family(self) -> Hashable:
        request = self.request
        own = sorted((name, value) for name, value in request.settings.items() if name != "k")
        plan = (request.rows > MANY, request.certificate, request.effort)
        return (type(self).__name__, request.map, tuple(own), *plan)

    @abstractmethod
    def smaller(self, share: float) -> RequestJob:
        """A job like this one on Gaussian texts, with a share of n, d and the training texts."""

    def estimate(self) -> float:
        """Gaussian rows stand in for a corpus: searching them takes as long."""

        def fits(share: float) -> bool:
            return self.smaller(share).peak_bytes() <= TRIED_BYTES + PROCESS_WITH_MODEL

        share = 1.0
        while self.smaller(share).size > TRIED_SIZE or not fits(share):
            share /= 2
        return extrapolated_seconds(lambda share: self.smaller(share).run(), share, fits)


@final
@dataclass(frozen=True)
class Cell(RequestJob):
    """One trial of a request that measures S."""

    @cached_property
    def content(self) -> dict[str, Any]:
        version = VERSION if self.request.shortlist is None else SHORTLIST_VERSION
        return self.request.content | self.numbers | {"version": version}

    @property
    def drawn(self) -> dict[str, Any]:
        return self.request.drawn.content | {"version": SEEDS}

    def peak_bytes(self) -> float:
        process = PROCESS if self.request.data == "gaussian" else PROCESS_WITH_MODEL
        return trial_bytes(self.request) + process

    @property
    def size(self) -> float:
        return float(self.request.rows * self.request.features)

    def smaller(self, share: float) -> Cell:
        return Cell(smaller(self.request, share))

    def run(self, progress: Progress = silent) -> dict[str, Any]:
        """The cell's outputs. One thread, so that they are the same for any number of workers."""
        request, seeded = self.request, self.seeded
        source: Source
        with single_thread(torch.get_num_threads() > 1):
            if request.data == "gaussian":
                source = GaussianTexts(request.n, request.d, self.seed)
                trial = run_trial(seeded, source, 0, progress)
            else:
                source = _texts_of(request)
                trial = run_trial(seeded, source, 0, progress, text=self.trial)
        return trial.summary() | {"source": _provenance(source)}


@final
@dataclass(frozen=True)
class FlipJob(RequestJob):
    """One trial of learning: one draw of the weights, with every number of training texts, update
    and loss of ``flips``. The outputs hold one record for each of them, ``flips``.
    """

    flips: tuple[LearningOptions, ...] = ()

    def __post_init__(self) -> None:
        p = self.request.features
        for one in self.flips:
            if one.update == "retrain" and one.train >= p:
                raise InputError(
                    f"fewer training texts than features, {p:,}, to re-train",
                    f"{one.train:,}",
                    "take fewer training texts, or fine-tune",
                )

    @cached_property
    def content(self) -> dict[str, Any]:
        own = {"flips": [one.content for one in self.flips], "version": FLIPS_VERSION}
        return self.request.content | own | self.numbers

    @property
    def drawn(self) -> dict[str, Any]:
        """As that of `Cell`, with the rows; it does not depend on ``flips``."""
        return self.request.content | {"version": FLIPS_SEEDS}

    @cached_property
    def largest(self) -> LearningOptions:
        """The setting with the most training texts."""
        return max(self.flips, key=lambda one: one.train)

    def peak_bytes(self) -> float:
        request, process = self.request, PROCESS_WITH_MODEL
        if request.data == "gaussian":  # texts that stay, half of them counted in `trial_bytes`
            process += min(KEPT_TEXTS, 8 * self.largest.train * request.n * request.d) // 2
        return trial_bytes(replace(request, learning=self.largest)) + process

    @property
    def size(self) -> float:
        texts = self.largest.train
        return float((len(self.flips) * self.request.rows + texts) * self.request.features)

    def smaller(self, share: float) -> FlipJob:
        part = smaller(self.request, share)
        most = part.features - 1  # re-training needs fewer texts than features
        flips = tuple(
            replace(one, train=max(2, min(most, round(share * one.train))), real_words=False)
            for one in self.flips
        )
        return FlipJob(part, 0, flips)

    def run(self) -> dict[str, Any]:
        """The outputs. One thread, so that they are the same for any number of workers."""
        request = self.request
        source: LabelledSource
        if request.data == "gaussian":
            source = _gaussian_texts(request.n, request.d, request.seed)
        else:
            source = _texts_of(request)
        factors = _factors(source)
        with single_thread(torch.get_num_threads() > 1):
            found = run_flips(self.seeded, source, 0, self.flips, self.trial, factors)
        return {"flips": found, "source": _provenance(source)}


def smaller(request: Request, share: float) -> Request:
    """A request like this one on Gaussian texts, with a share of its n and d.

    >>> small = smaller(Request("attention", 100, 64, {"heads": 4}), 0.1)
    >>> small.n, small.d
    (10, 8)
    """
    options = dict(request.options)
    # Heads share the dimensions evenly, RoPE turns them in pairs.
    step = 2 * options["heads"] if "heads" in options else 1 + (options.get("pe") == "rope")
    n = max(min(4, request.n), round(share * request.n))
    d = min(request.d, max(8 // step, 1, round(share * request.d / step)) * step)
    if "visible" in options:
        options["visible"] = min(n, options["visible"])
    if "k" in options:
        options["k"] = max(min(32, options["k"]), round(share**2 * options["k"]))
    rows = request.rows
    return replace(
        request,
        n=n,
        d=d,
        options=options,
        positions="all" if rows == request.n else tuple(range(min(n, rows))),
        data="gaussian",
        texts=TextOptions(),
    )


def jobs_of(
    points: Iterable[tuple[Request, Draw]], pair_by: tuple[str, ...] = ()
) -> list[Cell | FlipJob]:
    """The jobs of requests and trials; those that learn under the same weights are one job.

    >>> learning = [LearningOptions(8, update) for update in ("fine-tune", "retrain")]
    >>> (job,) = jobs_of((Request("raf", 5, 4, learning=one), 0) for one in learning)
    >>> len(job.flips)
    2
    """
    cells: list[Cell | FlipJob] = []
    flips: dict[tuple[Request, Draw], list[LearningOptions]] = {}
    for request, draw in points:
        if request.learning is None:
            trial, weights = numbers_of(draw)
            cells.append(Cell(request, trial, weights=weights, pair_by=pair_by))
        else:
            flips.setdefault((replace(request, learning=None), draw), []).append(request.learning)
    for (request, draw), every in flips.items():
        trial, weights = numbers_of(draw)
        cells.append(FlipJob(request, trial, tuple(every), weights=weights, pair_by=pair_by))
    return cells


@lru_cache(maxsize=1)
def _gaussian_texts(n: int, d: int, seed: int) -> LabelledGaussianTexts:
    return LabelledGaussianTexts(n, d, derive(seed, "lessons", n, d), keep=KEPT_TEXTS)


@lru_cache(maxsize=1)
def _factors(source: LabelledSource) -> Factors:
    """Factorisations of a source's texts, which all trials share."""
    return {}


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
    others back is quick. ``version`` distinguishes a file from the one that it replaced.
    """
    return CorpusTexts(data, n, d, seed, None, options)
