"""A random map measured on several texts: each trial draws its own text, weights and search."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from wordsway.errors import InputError
from wordsway.experiments.texts import CorpusTexts, Fetching, GaussianTexts, Source, TextOptions
from wordsway.maps import DRF, RAF, RF, FeatureMap, ReluRAF
from wordsway.progress import Progress, silent
from wordsway.result import versions
from wordsway.runtime import peak_bytes
from wordsway.seeds import derive
from wordsway.sensitivity import MEMORY, Sensitivity, sensitivity

MAPS = ("rf", "drf", "raf", "relu-raf")


@dataclass(frozen=True)
class Request:
    """What to measure: checked once, here; everything behind it assumes it is right."""

    map: str
    n: int
    d: int
    k: int | None = None
    depth: int | None = None
    positions: str | tuple[int | str, ...] = (0,)
    trials: int = 1
    seed: int = 0
    data: str = "gaussian"
    certificate: bool = True
    memory: int = MEMORY
    texts: TextOptions = field(default_factory=TextOptions)
    effort: float = 1.0

    def __post_init__(self) -> None:
        if self.map not in MAPS:
            raise InputError(f"a map among {', '.join(MAPS)}", repr(self.map), "choose one of them")
        for name, least in (("n", 1), ("d", 1), ("trials", 1), ("k", 1), ("depth", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise InputError(f"{name} ≥ {least}", value, f"pass a positive {name}")
        if self.k is not None and self.map not in ("rf", "drf"):
            raise InputError(
                "k only with rf and drf",
                f"k={self.k} with {self.map}",
                "attention has n·d features; leave k out",
            )
        if self.depth is not None and self.map != "drf":
            raise InputError(
                "depth only with drf",
                f"depth={self.depth} with {self.map}",
                "use --map drf, or leave depth out",
            )
        if self.data == "gaussian" and self.texts != TextOptions():
            raise InputError(
                "a corpus for these options (model, layer, padding, columns)",
                "gaussian texts",
                "pass --data imdb, or a file",
            )
        if not isinstance(self.positions, str):
            outside = [i for i in self.positions if not isinstance(i, str) and not 0 <= i < self.n]
            if outside or not self.positions:
                raise InputError(
                    f"positions between 0 and {self.n - 1}", outside or "none", "count words from 0"
                )
            if len(set(self.positions)) < len(self.positions):
                raise InputError(
                    "distinct positions", f"{list(self.positions)}", "name each word once"
                )
        elif self.positions not in ("all", "words"):
            raise InputError(
                'positions "all", "words" or numbers',
                repr(self.positions),
                "write them as 0,3,5 or word:3",
            )

    @property
    def layers(self) -> int | None:
        return (self.depth or 2) if self.map == "drf" else None

    @property
    def features(self) -> int:
        """k: the number of features, n·d for attention."""
        return self.k if self.k is not None else self.n * self.d

    @property
    def searched(self) -> int:
        """How many words are searched."""
        return self.n if isinstance(self.positions, str) else len(self.positions)

    def build(self, seed: int) -> FeatureMap:
        """The map, drawn from a seed."""
        if self.map == "rf":
            return RF(self.n, self.d, self.k, seed)
        if self.map == "drf":
            return DRF(self.n, self.d, self.layers or 2, self.k, seed)
        return RAF(self.d, seed) if self.map == "raf" else ReluRAF(self.d, seed)

    def source(self, fetching: Fetching | None = None) -> Source:
        """The texts of all trials; corpora and models that are not here are fetched."""
        if self.data == "gaussian":
            return GaussianTexts(self.n, self.d, self.seed)
        return CorpusTexts(self.data, self.n, self.d, self.seed, self.trials, self.texts, fetching)


@dataclass(frozen=True)
class Trial:
    """One draw: the interval, where it was attained, and the seeds that make it again."""

    lower: float
    upper: float | None
    position: int
    seconds: float
    certificate: str | None
    status: str
    sample_seed: int
    map_seed: int
    search_seed: int
    word: str | None = None
    text: dict[str, Any] | None = None


@dataclass(frozen=True)
class Measurement:
    """All finished trials of one request; ``mean`` and ``sd`` are of the attained values (sd is
    None for one trial).
    """

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
        return (
            statistics.stdev(trial.lower for trial in self.trials) if len(self.trials) > 1 else None
        )

    @property
    def mean_upper(self) -> float | None:
        uppers = [trial.upper for trial in self.trials if trial.upper is not None]
        return statistics.fmean(uppers) if uppers else None

    def to_dict(self) -> dict[str, Any]:
        request = self.request
        return {
            "map": request.map,
            "n": request.n,
            "d": request.d,
            "k": request.features,
            "depth": request.layers,
            "seed": request.seed,
            "data": request.data,
            "source": self.source,
            "positions": request.positions
            if isinstance(request.positions, str)
            else list(request.positions),
            "mean": self.mean,
            "sd": self.sd,
            "mean_upper": self.mean_upper,
            "trials": [asdict(trial) for trial in self.trials],
            "requested_trials": request.trials,
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "peak_mb": self.peak_mb,
            "versions": versions(),
        }


def measure(
    request: Request,
    *,
    progress: Callable[[int], Progress] | None = None,
    done: Callable[[int, Sensitivity], None] | None = None,
    fetching: Fetching | None = None,
) -> Measurement:
    """Run the trials. Ctrl-C keeps the finished ones: the result then says it was interrupted.

    >>> result = measure(Request("raf", n=5, d=4, trials=2))
    >>> len(result.trials), result.interrupted
    (2, False)
    """
    trials: list[Trial] = []
    spent, interrupted = 0.0, False
    source = request.source(fetching)
    for index in range(request.trials):
        try:
            trial, result = run_trial(
                request, source, index, silent if progress is None else progress(index)
            )
        except KeyboardInterrupt:
            interrupted = True
            break
        spent += result.seconds
        trials.append(trial)
        if done is not None:
            done(index, result)
    return Measurement(
        request, tuple(trials), spent, peak_bytes() / 1e6, interrupted, source.describe()
    )


def run_trial(
    request: Request,
    source: Source,
    index: int,
    progress: Progress = silent,
    *,
    text: int | None = None,
) -> tuple[Trial, Sensitivity]:
    """One trial: its text (number ``text`` of the source, or the trial's own), its weights, its
    search, each from its seed.
    """
    map_seed, search_seed = (
        derive(request.seed, "trial", index, name) for name in ("map", "search")
    )
    drawn = source.draw(index if text is None else text)
    result = sensitivity(
        request.build(map_seed),
        drawn.sample,
        positions=request.positions
        if isinstance(request.positions, str)
        else list(request.positions),
        seed=search_seed,
        effort=request.effort,
        certificate=request.certificate,
        memory=request.memory,
        progress=progress,
    )
    trial = Trial(
        lower=result.lower,
        upper=result.upper,
        position=result.position,
        seconds=result.seconds,
        certificate=result.certificate,
        status=result.status,
        sample_seed=drawn.seed,
        map_seed=map_seed,
        search_seed=search_seed,
        word=drawn.sample.word(result.position),
        text=drawn.text,
    )
    return trial, result
