"""A figure: one class with its jobs, its drawing, its caption and its findings.

`reproduce` runs the jobs of all chosen figures; then every figure reads its results from the store.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from wordsway import data as catalogue
from wordsway.core.format import format_seconds
from wordsway.core.laws import Interval
from wordsway.core.progress import Progress, silent
from wordsway.core.result import Result
from wordsway.engine.job import Job
from wordsway.engine.store import Store
from wordsway.engine.tables import export, without_facts
from wordsway.intervals import not_converged_line
from wordsway.studies.tables import cells_frame, not_converged
from wordsway.studies.texts import TextOptions

if TYPE_CHECKING:
    import pandas

HOLDS, FAILS, OPEN = "agrees", "disagrees", "not measured"
#: The interval allows either answer.
UNDECIDED = "undecided"
#: Fewer independent draws than `LEAST_TRIALS`: no verdict, whatever the interval.
TOO_FEW, LEAST_TRIALS = "too few trials", 5
#: The source of a claim: the paper, or wordsway's own checks and studies.
PAPER, OWN = "paper", "wordsway"
WIDTHS = (192, 384, 768)
#: The paper's reviews through each model.
MODELS = {"imdb:minilm": "MiniLM", "imdb:mpnet": "MPNet", "imdb:bert-base": "BERT-Base"}


@dataclass(frozen=True)
class Finding:
    """A claim, the series it was tested on, the measurement, the verdict and its ``rule``: when the
    claim agrees. ``source`` is who makes the claim.
    """

    figure: str
    claim: str
    series: str
    measured: str
    verdict: str
    rule: str = ""
    source: str = PAPER


def decide(found: Interval | None, least: float = -math.inf, most: float = math.inf) -> str:
    """The verdict on "the true value is between least and most": agrees where the whole interval
    is, disagrees where none of it is. Either is wrong with the interval's error rate at most.
    Fewer than `LEAST_TRIALS` draws decide nothing.

    >>> [decide(Interval(0.5, 0.4, 0.6, 9), most=most) for most in (0.7, 0.5, 0.3)]
    ['agrees', 'undecided', 'disagrees']
    >>> decide(Interval(0.5, 0.4, 0.6, 4), most=0.7)
    'too few trials'
    """
    if found is None:
        return OPEN
    if found.points < LEAST_TRIALS:
        return TOO_FEW
    if least < found.low and found.high < most:
        return HOLDS
    return FAILS if found.high < least or most < found.low else UNDECIDED


def check(holds: bool) -> str:
    """The verdict on a claim that can be counted."""
    return HOLDS if holds else FAILS


@dataclass
class Sources:
    """The data for each width, the installed models, what is missing, with the reason, and what a
    run downloads first.
    """

    by_width: dict[int, list[str]]
    missing: list[str] = field(default_factory=list)
    models: dict[str, str] = field(default_factory=dict)
    downloads: list[str] = field(default_factory=list)

    def preferred(self, d: int) -> str:
        """Reviews if there are any, Gaussian texts otherwise."""
        return next((name for name in self.by_width[d] if name != "gaussian"), "gaussian")

    def first_model(self, names: Iterable[str]) -> str | None:
        """The first of these models that is installed."""
        return next((name for name in names if name in self.models), None)

    def why_not(self, name: str) -> str:
        """Why jobs of a model that is not installed are missing."""
        if name in self.downloads:
            return f"its cells are known once {name} is downloaded"
        return f"{name} is not present; run `wordsway data get {name}` first"


def texts_for(name: str) -> TextOptions:
    """How the paper reads its texts."""
    return TextOptions() if name == "gaussian" else TextOptions(padding="paper")


def find_sources(*, fetch: bool, reviews: bool = True, progress: Progress = silent) -> Sources:
    """Gaussian texts; with ``reviews`` also IMDb through the installed models: MiniLM (d = 192 and
    384), MPNet and BERT-Base (d = 768).

    ``fetch`` downloads the reviews and MiniLM where they are missing, but no larger model; without
    it they are among the ``downloads``.
    """
    found = Sources({width: ["gaussian"] for width in WIDTHS})
    for name in ("imdb", "minilm") if reviews else ():
        if catalogue.present(name) is not None:
            continue
        if not fetch:
            found.downloads.append(name)
            continue
        try:
            catalogue.get(name, progress=progress)
        except catalogue.DataError as error:
            found.missing.append(f"IMDb panels: {error}")
    entries = [name for name, entry in catalogue.CATALOGUE.items() if entry.kind == "model"]
    here = {name: catalogue.present(name) for name in entries}
    found.models = {name: model.digest for name, model in here.items() if model is not None}
    if found.missing or not reviews:
        return found
    for width in (192, 384):
        found.by_width[width].append("imdb:minilm")
    for name in ("mpnet", "bert-base"):
        if name in found.models:
            found.by_width[768].append(f"imdb:{name}")
        else:
            found.missing.append(
                f"IMDb through {MODELS[f'imdb:{name}']}, d = 768: not present; run "
                f"`wordsway data get {name}` first"
            )
    return found


#: The results of a figure's jobs, as its own methods take them.
Data = TypeVar("Data")


class Figure(ABC, Generic[Data]):
    """A figure of the paper, or a study that goes beyond it."""

    name: str
    title: str
    #: Whether it is measured on reviews as well as on Gaussian texts.
    reviews: ClassVar[bool] = False
    #: Whether it goes beyond the paper: drawn only when named.
    study: ClassVar[bool] = False

    @abstractmethod
    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> Sequence[Job]:
        """The jobs to run; the quick jobs are a subset."""

    def missing(self, sources: Sources) -> list[str]:
        """What cannot be measured on this machine, as "what: why"."""
        return []

    @abstractmethod
    def read(self, store: Store, jobs: Sequence[Job]) -> Data | None:
        """The results in the store; None if there are none."""

    @abstractmethod
    def drawing(self, data: Data) -> Result:
        """The picture, which is saved as PNG, SVG and PDF."""

    @abstractmethod
    def caption(self, data: Data) -> str:
        """How to read the figure."""

    def note(self, data: Data) -> str:
        """A caution about the numbers, next to the verdicts."""
        return ""

    @abstractmethod
    def findings(self, data: Data) -> list[Finding]:
        """The paper's claims and wordsway's own checks, each with a verdict."""

    @abstractmethod
    def tables(self, data: Data, folder: Path) -> list[Path]:
        """Write the numbers next to the picture."""

    def seconds(self, data: Data) -> float | None:
        """Seconds of one core that the jobs took, where recorded."""
        return None


@dataclass(frozen=True)
class GridFigure(Figure["pandas.DataFrame"]):
    """A figure of many cells; its data is their table."""

    name: str
    title: str
    reviews: ClassVar[bool] = True

    def read(self, store: Store, jobs: Sequence[Job]) -> pandas.DataFrame | None:
        frame = cells_frame(store, [job.key for job in jobs if job.key in store], facts=True)
        return None if frame.empty else frame

    def tables(self, data: pandas.DataFrame, folder: Path) -> list[Path]:
        return export(data, folder, self.name)

    def seconds(self, data: pandas.DataFrame) -> float:
        """A cell that learns has several rows, each with the time of the whole cell."""
        return float(data.drop_duplicates("key")["seconds"].sum())

    def caption(self, data: pandas.DataFrame) -> str:
        trials = int(data["trial"].max()) + 1
        cost = f"{data['key'].nunique():,} cells, {format_seconds(self.seconds(data))} of one core."
        sentences = (self.explain(without_facts(data), trials), self.note(data), cost)
        return " ".join(filter(None, sentences))

    def note(self, data: pandas.DataFrame) -> str:
        """The number of searches that a longer one might improve; a study may have no searches."""
        if not (loose := int(not_converged(data).sum())):
            return ""
        searches = int(data["status"].notna().sum())
        return f"{not_converged_line(loose, searches, 'effort 4', certified=True)}."

    @abstractmethod
    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        """How to read the figure."""
