"""Repeated learning: each trial adds one new text to the same training texts, under new weights, and changes one of its words."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from wordsway.errors import InputError
from wordsway.learning.descent import LOSSES
from wordsway.learning.learn import UPDATES, Learned, learn
from wordsway.memory import peak_bytes
from wordsway.result import versions
from wordsway.sample import Sample
from wordsway.seeds import derive, generator
from wordsway.studies.texts import Drawn, Fetching, Source, TextOptions
from wordsway.studies.trials import Request


@dataclass(frozen=True)
class Lesson:
    """What to learn: a request's map, sizes and data, N training texts, an update, a loss."""

    request: Request
    train: int
    update: str = "fine-tune"
    loss: str = "direct"
    penalty: float = 0.0

    def __post_init__(self) -> None:
        if self.train < 2:
            raise InputError("at least two training texts", self.train, "pass --train 2 or more: both labels have to be there")
        if self.update not in UPDATES:
            raise InputError(f"an update among {', '.join(UPDATES)}", repr(self.update), "choose one of them")
        if self.loss not in LOSSES:
            raise InputError(f"a loss among {', '.join(LOSSES)}", repr(self.loss), "choose one of them")
        if self.penalty < 0 or (self.penalty > 0) != (self.loss == "penalised"):
            raise InputError("a penalty > 0 with the penalised loss, and only there", self.penalty, "the paper uses 1, 0.1 and 0.01")


class GaussianLessons:
    """Gaussian texts labelled by a linear teacher, y = sign ⟨w, vec X⟩ with w drawn from the seed."""

    def __init__(self, n: int, d: int, seed: int) -> None:
        self.n, self.d, self.seed = n, d, seed
        self.teacher = torch.randn(n, d, dtype=torch.float64, generator=generator(seed, "teacher", n, d))

    def draw(self, index: int) -> Drawn:
        seed = derive(self.seed, "lesson", index)
        sample = Sample.gaussian(self.n, self.d, seed)
        return Drawn(
            sample, seed, {"id": f"gaussian:{index}", "sha256": None, "label": 1 if float((sample.X * self.teacher).sum()) > 0 else -1}
        )

    def describe(self) -> dict[str, Any]:
        return {"data": "gaussian", "labels": "a linear teacher"}


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
        told = {"mean": statistics.fmean(errors) if errors else None, "median": statistics.median(errors) if errors else None}
        facts = {"seconds": self.seconds, "peak_mb": self.peak_mb, "interrupted": self.interrupted, "versions": versions()}
        return sizes | how | {"source": self.source, "trials": list(self.trials)} | told | facts


def teach(lesson: Lesson, *, progress: Callable[[int, int], None] | None = None, fetching: Fetching | None = None) -> Lessons:
    """Run the trials; Ctrl-C keeps the finished ones.

    >>> result = teach(Lesson(Request("raf", n=5, d=8, trials=2), train=6))
    >>> len(result.trials), all(trial["error"] >= (trial["bound"] or 0) for trial in result.trials)
    (2, True)
    """
    request, N = lesson.request, lesson.train
    source = _source(lesson, fetching)
    train = [source.draw(index) for index in range(N)]
    labels = [_label(drawn) for drawn in train]
    trials: list[dict[str, Any]] = []
    found: list[Learned] = []
    interrupted = False
    for index in range(request.trials):
        try:
            new = source.draw(N + index)
            results = learn(
                request.build(derive(request.seed, "trial", index, "map")),
                [drawn.sample for drawn in train],
                labels,
                new.sample,
                _label(new),
                update=lesson.update,
                loss=lesson.loss,
                penalty=lesson.penalty,
                positions=request.positions if isinstance(request.positions, str) else list(request.positions),
                seed=derive(request.seed, "trial", index, "search"),
                certificate=request.certificate,
            )
        except KeyboardInterrupt:
            interrupted = True
            break
        best = min(results, key=lambda one: one.error)
        found.append(best)
        trials.append(best.to_dict() | {"word": new.sample.word(best.position), "text": new.text})
        if progress is not None:
            progress(index + 1, request.trials)
    spent = sum(trial["seconds"] for trial in trials)
    return Lessons(lesson, tuple(trials), spent, peak_bytes() / 1e6, source.describe(), interrupted, tuple(found))


def _source(lesson: Lesson, fetching: Fetching | None) -> Source:
    from wordsway.studies.texts import CorpusTexts

    request = lesson.request
    if request.data == "gaussian":
        return GaussianLessons(request.n, request.d, request.seed)
    options = request.texts if request.texts != TextOptions() else TextOptions(padding="paper")
    return CorpusTexts(request.data, request.n, request.d, request.seed, lesson.train + request.trials, options, fetching)


def _label(drawn: Drawn) -> int:
    label = (drawn.text or {}).get("label")
    if label is None:
        raise InputError("labelled texts", "a text without a label", "name the labels with --label-column")
    return int(label)
