"""Repeated learning: each trial adds one new text to the same training texts, under new weights,
and changes one of its words.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from wordsway.core.checks import Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, part_of, silent
from wordsway.core.result import SequenceResult, versions
from wordsway.core.runtime import peak_bytes
from wordsway.core.sample import rows_of
from wordsway.core.seeds import derive
from wordsway.learning.learn import Learned, Question, evaluate_words, search_changes
from wordsway.learning.problem import Lesson, Problem
from wordsway.learning.stack import Chains, Features
from wordsway.studies.corpus_texts import CorpusTexts
from wordsway.studies.cost import check_memory
from wordsway.studies.request import LearningOptions, Request, as_rows
from wordsway.studies.texts import (
    Drawn,
    LabelledGaussianTexts,
    LabelledSource,
    TextOptions,
)

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class FirstTexts:
    """A source's first texts, each drawn when it is asked for: they pass by, and are never held all
    at once.
    """

    source: LabelledSource
    size: int

    def __len__(self) -> int:
        return self.size

    def matrix(self, index: int) -> torch.Tensor:
        return self.source.matrix(index)

    @property
    def labels(self) -> list[int]:
        return [self.source.label(index) for index in range(self.size)]


@dataclass(frozen=True)
class Lessons(SequenceResult[dict[str, Any]], items="trials", brief="request"):
    """All finished learning trials of a request."""

    request: Request
    trials: tuple[dict[str, Any], ...]
    seconds: float
    peak_mb: float
    source: dict[str, Any]
    interrupted: bool = False
    found: tuple[Learned, ...] = field(default=(), repr=False)

    @property
    def errors(self) -> list[float]:
        return [trial["error"] for trial in self.trials]

    def to_dict(self) -> dict[str, Any]:
        request, learning = self.request, learning_of(self.request)
        update, loss, penalty = learning.settings
        errors = self.errors
        return request.sizes | {
            "train": learning.train,
            "update": update,
            "loss": loss,
            "penalty": penalty,
            "seed": request.seed,
            "data": request.data,
            "source": self.source,
            "trials": list(self.trials),
            "mean": statistics.fmean(errors) if errors else None,
            "median": statistics.median(errors) if errors else None,
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            "interrupted": self.interrupted,
            "versions": versions(),
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per trial."""
        import pandas

        lists = ("rows", "real_words", "text")
        plain = [
            {name: value for name, value in trial.items() if name not in lists}
            for trial in self.trials
        ]
        return pandas.DataFrame([{"trial": index} | row for index, row in enumerate(plain)])


def learning_of(request: Request) -> LearningOptions:
    """The learning part of a request that has one."""
    if request.learning is None:
        raise InputError(
            "a request that learns", "one that measures", "pass learning=LearningOptions(N)"
        )
    return request.learning


@validated
def learning_trials(
    map: str,
    n: int,
    d: int,
    train: int,
    *,
    update: str = "fine-tune",
    loss: str = "direct",
    penalty: float = 0.0,
    real_words: bool = False,
    positions: str | int | Sequence[int | str] = 0,
    trials: int = 1,
    seed: Seed = 0,
    data: str = "gaussian",
    texts: TextOptions | None = None,
    certificate: bool = True,
    progress: Progress = silent,
    **options: Any,
) -> Lessons:
    """Does a linear readout of a random map learn that one word flips the label? Several draws of
    new text and weights; `learn` is one of them on texts of your own.

    >>> result = learning_trials("raf", n=5, d=8, train=6, trials=2)
    >>> len(result.trials), all(trial["error"] >= (trial["bound"] or 0) for trial in result.trials)
    (2, True)
    """
    request = Request(
        map=map,
        n=n,
        d=d,
        options=options,
        positions=as_rows(positions),
        trials=trials,
        seed=seed,
        data=data,
        texts=texts or TextOptions(),
        certificate=certificate,
        learning=LearningOptions(train, update, loss, penalty, real_words),
    )
    return run_learning_trials(request, progress=progress)


def run_learning_trials(request: Request, *, progress: Progress = silent) -> Lessons:
    """Run the trials of a request that learns; Ctrl-C keeps the finished ones."""
    learning = learning_of(request)
    check_memory(request)
    source = _source(request, learning, progress)
    trials: list[dict[str, Any]] = []
    found: list[Learned] = []
    interrupted = False
    for index in range(request.trials):
        stage = f"trial {index + 1} of {request.trials}"
        part = part_of(progress, stage, index, request.trials)
        try:
            trial, best = run_learning_trial(
                request, source, index, new=learning.train + index, progress=part
            )
        except KeyboardInterrupt:
            interrupted = True
            break
        found.append(best)
        trials.append(trial)
    spent = sum(trial["seconds"] for trial in trials)
    peak = peak_bytes() / 1e6
    about = source.describe()
    return Lessons(request, tuple(trials), spent, peak, about, interrupted, tuple(found))


@dataclass(frozen=True)
class Begun:
    """A trial before its update: the interpolator of the source's first N texts beside its text
    ``fresh``, whose ``rows`` may change.
    """

    lesson: Lesson
    fresh: Drawn
    rows: list[int]


def features_of(request: Request, index: int, chains: Chains | None = None) -> Features:
    """Features under the weights of the trial's seed, for as many texts as will be asked about;
    ``chains`` are shared by trials of the same texts.
    """
    return Features(request.build(derive(request.seed, "trial", index, "map")), chains)


def begin_trial(request: Request, source: LabelledSource, features: Features, *, new: int) -> Begun:
    """The interpolator of N training texts beside text number ``new``: what all updates and losses
    have in common.
    """
    learning = learning_of(request)
    fresh = source.draw(new)  # the furthest one first, so that all are drawn and embedded at once
    train = FirstTexts(source, learning.train)
    rows = rows_of(request.named_rows, fresh.sample)
    lesson = Lesson(features, train, train.labels, fresh.sample, source.label(new), rows)
    return Begun(lesson, fresh, rows)


def run_learning_trial(
    request: Request,
    source: LabelledSource,
    index: int,
    *,
    new: int,
    progress: Progress = silent,
) -> tuple[dict[str, Any], Learned]:
    """One trial: the source's first N texts for training, its text number ``new``, weights and
    search from the trial's seeds.
    """
    started = time.perf_counter()
    begun = begin_trial(request, source, features_of(request, index), new=new)
    trial, best = end_trial(request, source, index, begun, progress=progress)
    return trial | {"seconds": time.perf_counter() - started}, best


def end_trial(
    request: Request,
    source: LabelledSource,
    index: int,
    begun: Begun,
    *,
    beside: Sequence[Question] = (),
    progress: Progress = silent,
) -> tuple[dict[str, Any], Learned]:
    """Update, and look for the Δ that flips the label; see `search_changes` for ``beside``."""
    learning = learning_of(request)
    update, loss, penalty = learning.settings
    problem, fresh, rows = begun.lesson.updated(update), begun.fresh, begun.rows
    results: list[Learned] = []
    real: dict[str, Any] = {}
    for learned in search_changes(
        problem,
        rows,
        loss=loss,
        penalty=penalty,
        radius=request.radius,
        seed=derive(request.seed, "trial", index, "search"),
        certificate=request.certificate,
        beside=beside,
    ):
        results.append(learned)
        progress("learning", len(results), len(rows))
        if learning.real_words and learned is min(results, key=lambda other: other.difficulty):
            real = _real_words(problem, source, fresh, learned.position, request.d)
    best = min(results, key=lambda learned: learned.difficulty)
    about: dict[str, Any] = {"word": fresh.sample.word(best.position), "text": fresh.text}
    if len(results) > 1:
        about["rows"] = [
            learned.to_dict() | {"word": fresh.sample.word(learned.position)} for learned in results
        ]
    return best.to_dict() | about | real, best


def _real_words(
    problem: Problem, source: LabelledSource, new: Drawn, position: int, d: int
) -> dict[str, Any]:
    """The whole vocabulary at the same place, evaluated exactly: how much of the effect does an
    actual word reach?
    """
    assert isinstance(source, CorpusTexts) and new.sample.reading is not None
    pieces, rows = source.drawn.embedder.candidates(new.sample.reading.text, position, d)
    errors = evaluate_words(problem, position, rows)
    order = errors.argsort()[:10].tolist()
    before, aligned = torch.tensor([problem.before, 1.0], dtype=torch.float64)
    unchanged = problem.error(before, aligned)
    return {
        "unchanged_error": float(unchanged),
        "real_words": [{"piece": pieces[row], "error": float(errors[row])} for row in order],
        "real_words_tried": len(pieces),
    }


def _source(request: Request, learning: LearningOptions, progress: Progress) -> LabelledSource:
    if request.data == "gaussian":
        return LabelledGaussianTexts(request.n, request.d, request.seed)
    ahead = learning.train + request.trials
    n, d, seed = request.n, request.d, request.seed
    return CorpusTexts(request.data, n, d, seed, ahead, request.texts, progress)
