"""Repeated learning: each trial adds one new text to the same training texts, under new weights,
and changes one of its words.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from wordsway.errors import InputError, MemoryBudgetError
from wordsway.experiments.texts import CorpusTexts, Drawn, Fetching, Source
from wordsway.experiments.trials import Request
from wordsway.format import format_bytes
from wordsway.learning.learn import Learned, evaluate_words, search_changes
from wordsway.learning.loss import LOSSES
from wordsway.learning.problem import UPDATES, Problem, update_interpolator
from wordsway.result import versions
from wordsway.runtime import available_memory, peak_bytes
from wordsway.sample import Sample, rows_of
from wordsway.seeds import derive, generator

#: progress(trial, share of it that is done)
Share = Callable[[int, float], None]


@dataclass(frozen=True)
class Lesson:
    """What to learn: a request's map, sizes and data, N training texts, an update, a loss."""

    request: Request
    train: int
    update: str = "fine-tune"
    loss: str = "direct"
    penalty: float = 0.0
    real_words: bool = False

    def __post_init__(self) -> None:
        if self.real_words and self.request.data == "gaussian":
            raise InputError(
                "a corpus, to try real words", "gaussian texts", "pass --data imdb, or a file"
            )
        if self.train < 2:
            raise InputError(
                "at least two training texts",
                self.train,
                "pass --train 2 or more: both labels have to be there",
            )
        if self.update not in UPDATES:
            raise InputError(
                f"an update among {', '.join(UPDATES)}", repr(self.update), "choose one of them"
            )
        if self.loss not in LOSSES:
            raise InputError(
                f"a loss among {', '.join(LOSSES)}", repr(self.loss), "choose one of them"
            )
        if self.penalty < 0 or (self.penalty > 0) != (self.loss == "penalised"):
            raise InputError(
                "a penalty > 0 with the penalised loss, and only there",
                self.penalty,
                "the paper uses 1, 0.1 and 0.01",
            )


class Labelled(Source, Protocol):
    """Texts by number, with their labels ±1."""

    def label(self, index: int) -> int:
        """The label of a text, without drawing it."""


class GaussianLessons:
    """Gaussian texts labelled by a linear teacher, y = sign ⟨w, vec X⟩ with w drawn from the seed;
    labels alternate.
    """

    def __init__(self, n: int, d: int, seed: int) -> None:
        self.n, self.d, self.seed = n, d, seed
        self.teacher = torch.randn(
            n, d, dtype=torch.float64, generator=generator(seed, "teacher", n, d)
        )

    def draw(self, index: int) -> Drawn:
        seed = derive(self.seed, "lesson", index)
        X, label = Sample.gaussian(self.n, self.d, seed).X, self.label(index)
        if (
            float((X * self.teacher).sum()) * label < 0
        ):  # X and −X are equally likely, so this balances the labels and nothing else
            X = -X
        return Drawn(Sample(X), seed, {"id": f"gaussian:{index}", "sha256": None, "label": label})

    def label(self, index: int) -> int:
        return (-1, 1)[index % 2]

    def describe(self) -> dict[str, Any]:
        return {"data": "gaussian", "labels": "a linear teacher"}


@dataclass(frozen=True)
class FirstTexts(Sequence[Sample]):
    """A source's first texts, each drawn when it is asked for: they pass by, and are never held all
    at once.
    """

    source: Labelled
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, at: Any) -> Any:
        if not 0 <= at < self.size:
            raise IndexError(at)
        return self.source.draw(at).sample


@dataclass(frozen=True)
class Lessons:
    """All finished trials."""

    lesson: Lesson
    trials: tuple[dict[str, Any], ...]
    seconds: float
    peak_mb: float
    source: dict[str, Any]
    interrupted: bool = False
    found: tuple[Learned, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        request = self.lesson.request
        errors = [trial["error"] for trial in self.trials]
        sizes = {
            "map": request.map,
            "n": request.n,
            "d": request.d,
            "k": request.features,
            "depth": request.layers,
            "train": self.lesson.train,
        }
        how = {
            "update": self.lesson.update,
            "loss": self.lesson.loss,
            "penalty": self.lesson.penalty,
            "seed": request.seed,
            "data": request.data,
        }
        told = {
            "mean": statistics.fmean(errors) if errors else None,
            "median": statistics.median(errors) if errors else None,
        }
        facts = {
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            "interrupted": self.interrupted,
            "versions": versions(),
        }
        return sizes | how | {"source": self.source, "trials": list(self.trials)} | told | facts


def teach(
    lesson: Lesson, *, progress: Share | None = None, fetching: Fetching | None = None
) -> Lessons:
    """Run the trials; Ctrl-C keeps the finished ones. ``progress(trial, share)`` is told how far a
    trial is.

    >>> result = teach(Lesson(Request("raf", n=5, d=8, trials=2), train=6))
    >>> len(result.trials), all(trial["error"] >= (trial["bound"] or 0) for trial in result.trials)
    (2, True)
    """
    request, N = lesson.request, lesson.train
    needed, free = lesson_bytes(request, N), available_memory()
    if needed > free:
        raise MemoryBudgetError(
            f"{N:,} training texts of n = {request.n}, d = {request.d} take about {format_bytes(needed)}, and {format_bytes(free)} are free: "
            "take fewer texts (--train), shorter ones (--n), or a larger machine"
        )
    source = _source(lesson, fetching)
    trials: list[dict[str, Any]] = []
    found: list[Learned] = []
    interrupted = False
    for index in range(request.trials):
        try:
            trial, best = run_one(lesson, source, index, new=N + index, progress=progress)
        except KeyboardInterrupt:
            interrupted = True
            break
        found.append(best)
        trials.append(trial)
    spent = sum(trial["seconds"] for trial in trials)
    return Lessons(
        lesson,
        tuple(trials),
        spent,
        peak_bytes() / 1e6,
        source.describe(),
        interrupted,
        tuple(found),
    )


def lesson_bytes(request: Request, train: int) -> float:
    """Bytes that learning takes beside Python and torch: features of all texts, their answers or
    copies, and the texts.
    """
    k = request.features or request.n * request.d
    return (train + 1) * (2.2 * k + 2 * request.n * request.d) * 8 + 60 * k * 8


def run_one(
    lesson: Lesson, source: Labelled, index: int, *, new: int, progress: Share | None = None
) -> tuple[dict[str, Any], Learned]:
    """One trial: the source's first N texts for training, its text number ``new``, weights and
    search from the trial's seeds.
    """
    request, started = lesson.request, time.perf_counter()
    fresh = source.draw(new)  # the furthest one first, so that all are drawn and embedded at once
    labels = [source.label(at) for at in range(lesson.train)]
    phi = request.build(derive(request.seed, "trial", index, "map"))
    rows = rows_of(request.positions, fresh.sample)
    problem = update_interpolator(
        phi,
        FirstTexts(source, lesson.train),
        labels,
        fresh.sample,
        source.label(new),
        update=lesson.update,
        rows=rows,
    )
    search_seed = derive(request.seed, "trial", index, "search")
    results: list[Learned] = []
    real: dict[str, Any] = {}
    for one in search_changes(
        problem,
        rows,
        loss=lesson.loss,
        penalty=lesson.penalty,
        seed=search_seed,
        certificate=request.certificate,
    ):
        results.append(one)
        if progress is not None:
            progress(index, len(results) / len(rows))
        if lesson.real_words and one is min(results, key=lambda other: other.difficulty):
            real = _real_words(problem, source, fresh, one.position, request.d)
    best = min(results, key=lambda one: one.difficulty)
    about: dict[str, Any] = {"word": fresh.sample.word(best.position), "text": fresh.text}
    if len(results) > 1:
        about["rows"] = [
            one.to_dict() | {"word": fresh.sample.word(one.position)} for one in results
        ]
    return best.to_dict() | about | real | {"seconds": time.perf_counter() - started}, best


def _real_words(
    problem: Problem, source: Labelled, new: Drawn, position: int, d: int
) -> dict[str, Any]:
    """The whole vocabulary at the same place, evaluated exactly: how much of the effect does an
    actual word reach?
    """
    assert isinstance(source, CorpusTexts) and new.sample.reading is not None
    pieces, rows = source.drawn.embedder.candidates(new.sample.reading.text, position, d)
    errors = evaluate_words(problem, position, rows)
    order = errors.argsort()[:10].tolist()
    own = problem.error(*(torch.tensor(one, dtype=torch.float64) for one in (problem.before, 1.0)))
    return {
        "unchanged_error": float(own),
        "real_words": [{"piece": pieces[at], "error": float(errors[at])} for at in order],
        "real_words_tried": len(pieces),
    }


def _source(lesson: Lesson, fetching: Fetching | None) -> Labelled:
    request = lesson.request
    if request.data == "gaussian":
        return GaussianLessons(request.n, request.d, request.seed)
    return CorpusTexts(
        request.data,
        request.n,
        request.d,
        request.seed,
        lesson.train + request.trials,
        request.texts,
        fetching,
    )
