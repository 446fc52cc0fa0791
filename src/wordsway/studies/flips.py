"""Learning trials: a new text under new weights, of which one word changes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.checks import Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.progress import Progress, silent
from wordsway.core.result import SequenceResult, versions
from wordsway.core.runtime import peak_bytes
from wordsway.core.sample import rows_of
from wordsway.core.seeds import derive
from wordsway.gaussian.joint import TextGramFactor
from wordsway.intervals import reached
from wordsway.learning.features import TrainingFeatures
from wordsway.learning.problem import FlipProblem
from wordsway.learning.results import FlipRow
from wordsway.studies.corpus_texts import CorpusTexts
from wordsway.studies.measure import each_trial
from wordsway.studies.request import (
    LearningOptions,
    Request,
    check_memory,
    request_of,
    rows_together,
)
from wordsway.studies.texts import Drawn, LabelledGaussianTexts, LabelledSource

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class FlipTrials(SequenceResult[dict[str, Any]], items="trials", brief="request"):
    """The finished trials of a request that learns, one dictionary each."""

    request: Request
    trials: tuple[dict[str, Any], ...]
    seconds: float
    peak_mb: float
    source: dict[str, Any]
    interrupted: bool = False

    @property
    def errors(self) -> list[float]:
        return [trial["error"] for trial in self.trials]

    def to_dict(self) -> dict[str, Any]:
        request, learning = self.request, learning_of(self.request)
        errors = self.errors
        return request.sizes | {
            "train": learning.train,
            **learning.setting._asdict(),
            **request.moves,
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
    seed: Seed = 0,
    progress: Progress = silent,
    **options: Any,
) -> FlipTrials:
    """Test whether a linear readout of a random map learns that one word flips the label.

    Each trial draws a new text and new weights; `learn` runs one trial on texts of your own.

    Parameters
    ----------
    map, n, d : as in `measure`; train : the number of training texts
    options : the map's own; ``update``, ``loss``, ``penalty``, ``real_words`` (`LearningOptions`);
        ``positions``, ``trials``, ``data``, ``texts`` and ``certificate`` as in `measure`

    >>> result = learning_trials("raf", n=5, d=8, train=6, trials=2)
    >>> len(result.trials), all(trial["error"] >= (trial["bound"] or 0) for trial in result.trials)
    (2, True)
    """
    request = request_of(map, n, d, train=train, seed=seed, **options)
    return run_learning_trials(request, progress=progress)


def run_learning_trials(request: Request, *, progress: Progress = silent) -> FlipTrials:
    """Run the trials of a request that learns; Ctrl-C keeps the finished ones."""
    learning = learning_of(request)
    check_memory(request)
    n, d, seed = request.n, request.d, request.seed
    source: LabelledSource
    if request.data == "gaussian":
        source = LabelledGaussianTexts(n, d, seed)
    else:
        ahead = learning.train + request.trials
        source = CorpusTexts(request.data, n, d, seed, ahead, request.texts, progress)
    factors: Factors = {}

    def trial(index: int, progress: Progress) -> dict[str, Any]:
        started = time.perf_counter()
        (found,) = run_flips(request, source, index, [learning], index, factors, progress)
        return found | {"seconds": time.perf_counter() - started}

    trials, interrupted = each_trial(request.trials, trial, progress)
    spent = sum(one["seconds"] for one in trials)
    return FlipTrials(
        request, tuple(trials), spent, peak_bytes() / 1e6, source.describe(), interrupted
    )


#: Factorisations of the texts' inner products, by the rows that change.
Factors = dict[tuple[int, ...], TextGramFactor]


def run_flips(
    request: Request,
    source: LabelledSource,
    index: int,
    every: Sequence[LearningOptions],
    trial: int,
    factors: Factors,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """The results of one draw of the weights, one dictionary for each of ``every`` options.

    The source's first N texts are the training texts, and its text N + ``trial`` is the new one.
    Weights and search have the seeds of trial ``index`` of the request. The features of the
    training texts are computed once, and options with the same N share one search.
    """
    phi = request.build(derive(request.seed, "trial", index, "map"))
    most = max(options.train for options in every)
    features: TrainingFeatures | None = None
    found: dict[LearningOptions, dict[str, Any]] = {}
    for train in sorted({options.train for options in every}, reverse=True):
        new = train + trial
        drawn = source.draw(new)
        together = None if request.together is None else tuple(rows_together(request.together))
        rows = list(together or rows_of(request.named_rows, drawn.sample))
        if features is None:
            factor = factors.setdefault(tuple(rows), TextGramFactor(rows))
            features = TrainingFeatures(phi, source.matrix, most, rows, factor=factor)
        features = features.for_rows(rows)
        labels = [source.label(number) for number in range(train)]
        problem = FlipProblem(features, labels, drawn.sample, source.label(new), together)
        same = [options for options in every if options.train == train]
        seed = derive(request.seed, "trial", index, "search")
        results = _search(request, problem, source, drawn, rows, same, seed, progress)
        found |= zip(same, results, strict=True)
    return [found[options] for options in every]


def _search(
    request: Request,
    problem: FlipProblem,
    source: LabelledSource,
    drawn: Drawn,
    rows: Sequence[int],
    every: Sequence[LearningOptions],
    seed: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """The results of each of the options on one problem: the easiest row, then all rows."""
    settings = [options.setting for options in every]
    results: list[list[FlipRow]] = [[] for _ in every]
    real: list[dict[str, Any]] = [{} for _ in every]
    constraint, reach = reached(request.constraint, request.radius, drawn.sample.X[list(rows)])
    for number, row in enumerate(rows if problem.together is None else rows[:1], 1):
        found = problem.search(
            row,
            settings,
            radius=reach,
            constraint=constraint,
            seed=seed,
            certificate=request.certificate,
        )
        for place, one in enumerate(found):
            results[place].append(one)
            if every[place].real_words and one is _easiest(results[place]):
                update = settings[place].update
                real[place] = _real_words(problem, source, drawn, row, update, request.d)
        progress("learning", number, len(rows))
    word = drawn.sample.word
    finished = []
    for own, more in zip(results, real, strict=True):
        best = _easiest(own)
        about: dict[str, Any] = {"word": word(best.position), "text": drawn.text}
        if len(own) > 1:
            about["rows"] = [one.to_dict() | {"word": word(one.position)} for one in own]
        finished.append(best.to_dict() | about | more)
    return finished


def _easiest(rows: Sequence[FlipRow]) -> FlipRow:
    return min(rows, key=lambda row: row.difficulty)


def _real_words(
    problem: FlipProblem, source: LabelledSource, new: Drawn, row: int, update: str, d: int
) -> dict[str, Any]:
    """The errors of the whole vocabulary in the same place, evaluated exactly; the best ten."""
    assert isinstance(source, CorpusTexts) and new.sample.reading is not None
    pieces, vectors = source.drawn.embedder.candidates(new.sample.reading.text, row, d)
    errors = problem.errors(row, vectors, update)
    order = errors.argsort()[:10].tolist()
    unchanged = (problem.before + problem.residual + problem.y) ** 2
    return {
        "unchanged_error": unchanged,
        "real_words": [{"piece": pieces[place], "error": float(errors[place])} for place in order],
        "real_words_tried": len(pieces),
    }
