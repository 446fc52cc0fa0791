"""The verb `measure`: a random map on several texts, each with its own weights and search."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from wordsway.core.checks import Seed, validated
from wordsway.core.progress import Progress, part_of, silent
from wordsway.core.result import SequenceResult, fields_of, versions
from wordsway.core.runtime import peak_bytes, single_thread
from wordsway.core.sample import Positions, Sample, rows_of
from wordsway.core.seeds import derive
from wordsway.core.vectors import ball_radius
from wordsway.intervals import WordSensitivity, sensitivity
from wordsway.maps.average import AverageChange
from wordsway.maps.base import search_view_of
from wordsway.maps.proof import Proof
from wordsway.optimize import Plan, maximise
from wordsway.studies.corpus_texts import CorpusTexts
from wordsway.studies.request import Request, check_memory, first_row, request_of, rows_together
from wordsway.studies.texts import GaussianTexts, Source

if TYPE_CHECKING:
    import pandas

Outcome = TypeVar("Outcome")
#: What JSON has of a searched row.
ROW = ("position", "word", "lower", "upper")


@dataclass(frozen=True)
class Trial:
    """One draw: the interval, where it was attained, and the seeds that reproduce it.

    ``delta`` is the witness: ``phi(X.replaced(position, delta))`` attains ``lower``. With ``draw``
    "on-demand" that holds for weights that depend on the order of the queries: the seeds reproduce
    the trial, not the map. ``average`` and ``real`` are over random Δ and real words at the
    searched rows, if requested.
    """

    lower: float
    upper: float | None
    position: int
    seconds: float
    certificate: str | None
    status: str
    sample_seed: int
    map_seed: int
    search_seed: int
    word: str | None
    text: dict[str, Any] | None
    delta: torch.Tensor
    words: tuple[WordSensitivity, ...]
    average: AverageChange | None = None
    real: AverageChange | None = None
    proof: Proof | None = None
    draw: str = "dense"

    @property
    def averages(self) -> dict[str, AverageChange]:
        """The requested averages, by name."""
        found = {"average": self.average, "real": self.real}
        return {name: change for name, change in found.items() if change is not None}

    def summary(self) -> dict[str, Any]:
        """The stored part: witness and rows are reproduced from the seeds."""
        plain = fields_of(self)
        for name in ("delta", "words", "average", "real", "proof", "draw"):
            del plain[name]
        for name, change in self.averages.items():
            plain |= {f"{name}_{part}": value for part, value in asdict(change).items()}
        return plain

    def to_dict(self) -> dict[str, Any]:
        return self.summary() | {
            "delta": self.delta.tolist(),
            "draw": self.draw,
            "words": [{name: getattr(row, name) for name in ROW} for row in self.words],
        }


@dataclass(frozen=True)
class Measurement(SequenceResult[Trial], items="trials", brief="request mean sd"):
    """All finished trials of a request; ``mean`` and ``sd`` are of the attained values."""

    request: Request
    trials: tuple[Trial, ...]
    seconds: float
    peak_mb: float
    interrupted: bool
    source: dict[str, Any]

    @property
    def mean(self) -> float | None:
        return statistics.fmean(trial.lower for trial in self.trials) if self.trials else None

    @property
    def sd(self) -> float | None:
        lowers = [trial.lower for trial in self.trials]
        return statistics.stdev(lowers) if len(lowers) > 1 else None

    @property
    def mean_upper(self) -> float | None:
        uppers = [trial.upper for trial in self.trials if trial.upper is not None]
        return statistics.fmean(uppers) if uppers else None

    @property
    def averages(self) -> dict[str, AverageChange]:
        """Average over random Δ and real words: the means over the trials of each number, the
        standard error of the mean from their spread, and the largest change of all.
        """
        every = {
            name: [trial.averages[name] for trial in self.trials if name in trial.averages]
            for name in ("average", "real")
        }
        return {name: _mean_of(trials) for name, trials in every.items() if trials}

    def to_dict(self) -> dict[str, Any]:
        request = self.request
        return request.sizes | {
            "seed": request.seed,
            "data": request.data,
            "source": self.source,
            "positions": request.named_rows,
            "radius": request.reach,
            **request.moves,
            "mean": self.mean,
            "sd": self.sd,
            "mean_upper": self.mean_upper,
            **{name: asdict(change) for name, change in self.averages.items()},
            "trials": [trial.to_dict() for trial in self.trials],
            "requested_trials": request.trials,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            "versions": versions(),
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per trial."""
        import pandas

        rows = []
        for index, trial in enumerate(self.trials):
            text = trial.text or {}
            row = self.request.sizes | {"trial": index} | trial.summary()
            del row["text"]
            rows.append(row | {"text_id": text.get("id"), "label": text.get("label")})
        return pandas.DataFrame(rows)


@validated
def measure(
    map: str,
    n: int,
    d: int,
    *,
    positions: str | int | Sequence[int | str] | None = None,
    data: str = "gaussian",
    seed: Seed = 0,
    progress: Progress = silent,
    **options: Any,
) -> Measurement:
    """How far can one word sway a random map? Several draws of text and weights.

    Parameters
    ----------
    map : a name of the registry (rf, drf, raf …)
    n, d : tokens per text, embedding dimension
    positions : as in `sensitivity`; by default the first row, of real text the first word
    data : "gaussian", "imdb", "imdb:MODEL" or a file
    options : the map's own (k, depth …); ``trials``, and ``radius``, ``effort``, ``certificate``,
        ``memory``, ``constraint``, ``objective`` and ``edit`` as in `sensitivity`, the last three
        by name; ``together``, rows as "0,3" or "0-7"; ``average``, the number of random Δ to try at
        each row and, on real text, of real words; ``texts`` (a `TextOptions`) or its fields, which
        say how data is read and embedded

    >>> result = measure("raf", n=5, d=4, trials=2)
    >>> len(result.trials), result.interrupted, len(result.trials[0].delta)
    (2, False, 4)
    """
    rows = first_row(data) if positions is None else positions
    request = request_of(map, n, d, positions=rows, data=data, seed=seed, **options)
    return run_trials(request, progress=progress)


def run_trials(
    request: Request, *, progress: Progress = silent, proof: bool = False
) -> Measurement:
    """Run the trials, with verified proofs where wanted; Ctrl-C keeps the finished ones."""
    check_memory(request)
    source = source_of(request, progress)
    run = partial(run_trial, request, source, proof=proof)
    trials, interrupted = each_trial(request.trials, run, progress)
    spent = sum(trial.seconds for trial in trials)
    return Measurement(
        request, tuple(trials), spent, peak_bytes() / 1e6, interrupted, source.describe()
    )


def each_trial(
    count: int, run: Callable[[int, Progress], Outcome], progress: Progress
) -> tuple[list[Outcome], bool]:
    """The results of ``run(index, progress)``, and whether Ctrl-C came before the last one."""
    found: list[Outcome] = []
    for index in range(count):
        stage = f"trial {index + 1} of {count}"
        try:
            found.append(run(index, part_of(progress, stage, index, count)))
        except KeyboardInterrupt:
            return found, True
    return found, False


def source_of(request: Request, progress: Progress = silent) -> Source:
    """The texts of all trials; missing corpora and models are fetched."""
    n, d, seed = request.n, request.d, request.seed
    if request.data == "gaussian":
        return GaussianTexts(n, d, seed)
    return CorpusTexts(request.data, n, d, seed, request.trials, request.texts, progress)


def run_trial(
    request: Request,
    source: Source,
    index: int,
    progress: Progress = silent,
    *,
    text: int | None = None,
    proof: bool = False,
) -> Trial:
    """One trial: text (number ``text`` of the source, or its own), weights and search by seed."""
    map_seed = derive(request.seed, "trial", index, "map")
    search_seed = derive(request.seed, "trial", index, "search")
    drawn = source.draw(index if text is None else text)
    phi = request.build(map_seed)
    vocabulary = None
    if request.average is not None and isinstance(source, CorpusTexts):
        vocabulary = source.words_at(drawn.sample, request.average, search_seed)
    result = sensitivity(
        phi,
        drawn.sample,
        positions=_positions(request, map_seed, drawn.sample, search_seed),
        radius=request.radius,
        constraint=request.constraint,
        together=None if request.together is None else rows_together(request.together),
        objective=request.objective,
        edit=request.edit,
        seed=search_seed,
        effort=request.effort,
        certificate=request.certificate,
        proof=proof,
        average=request.average,
        vocabulary=vocabulary,
        memory=request.memory,
        progress=progress,
    )
    about = {"seed": drawn.seed} | (drawn.text or {})
    return Trial(
        lower=result.lower,
        upper=result.upper,
        position=result.position,
        seconds=result.seconds,
        certificate=result.certificate,
        status=result.status,
        sample_seed=drawn.seed,
        map_seed=map_seed,
        search_seed=search_seed,
        word=next(row.word for row in result.words if row.position == result.position),
        text=drawn.text,
        delta=result.delta,
        words=result.words,
        average=result.average,
        real=result.real,
        proof=None if result.proof is None else result.proof.noting(text=about),
        draw=result.map.get("draw", "dense"),
    )


def _positions(request: Request, map_seed: int, sample: Sample, seed: int) -> Positions:
    """The positions to search: all of the request, or those of its shortlist, the most promising
    first. They are chosen with another instance of the map, so that weights drawn on demand stay
    the same; a short search does not predict S of a row there, and the shortlist is evenly spaced.
    """
    if request.together is not None:
        return "all"
    if request.shortlist is None:
        return request.named_rows
    rows, few = rows_of(request.named_rows, sample), request.shortlist
    view = search_view_of(request.build(map_seed), sample)
    if view.bytes_retained_per_eval:
        few = min(few, len(rows))
        return [rows[place * len(rows) // few] for place in range(few)]
    objective = view.within(ball_radius(request.radius, request.d))

    def largest(rows: list[int], count: int, plan: Plan) -> list[int]:
        problems = torch.tensor(rows, device=view.X.device)
        found = maximise(objective, problems, plan, seed=seed, memory=request.memory)
        return [rows[place] for place in found.value.topk(count).indices.tolist()]

    with single_thread(view.small), torch.no_grad():
        if len(rows) > few:
            rows = largest(rows, few, view.plan.shortest())
        if view.plan.widths:
            rows = largest(rows, 1, view.plan.shorter())
    return rows


def _mean_of(trials: Sequence[AverageChange]) -> AverageChange:
    def mean(part: str) -> float:
        return statistics.fmean(getattr(trial, part) for trial in trials)

    means = [trial.mean for trial in trials]
    spread = statistics.stdev(means) / len(means) ** 0.5 if len(means) > 1 else trials[0].error
    draws, most = sum(trial.draws for trial in trials), max(trial.most for trial in trials)
    return AverageChange(mean("mean"), spread, mean("q50"), mean("q90"), mean("q99"), most, draws)
