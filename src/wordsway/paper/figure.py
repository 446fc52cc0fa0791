"""What a figure is: one class with its jobs, its drawing, its caption and its findings.

`reproduce` runs the jobs of all figures that are asked for, then every figure reads what it needs
from the store. Nobody asks a figure of which kind it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from wordsway.core.format import format_seconds
from wordsway.core.result import Result
from wordsway.engine.job import Job
from wordsway.engine.store import Record, Store
from wordsway.paper.finding import Finding
from wordsway.paper.sources import Sources
from wordsway.studies.tables import cells_frame, export, without_facts

if TYPE_CHECKING:
    import pandas

#: What a figure measured, as its own methods want it.
Data = TypeVar("Data")


class Figure(ABC, Generic[Data]):
    """A figure of the paper, or a study beside it."""

    name: str
    title: str
    #: Whether reviews are wanted beside Gaussian texts.
    reviews: ClassVar[bool] = False
    #: Whether it goes beyond the paper: drawn when asked for by name.
    study: ClassVar[bool] = False

    @abstractmethod
    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> Sequence[Job]:
        """Everything that has to be measured; the quick jobs are some of the same."""

    def missing(self, sources: Sources) -> list[str]:
        """What cannot be measured on this machine, "what: why"."""
        return []

    def earlier(self, folder: Path, jobs: Sequence[Job], seed: int) -> list[Record]:
        """What an earlier version of this program left beside the figure, as records."""
        return []

    @abstractmethod
    def read(self, store: Store, jobs: Sequence[Job]) -> Data | None:
        """What was measured; None where nothing was."""

    @abstractmethod
    def drawing(self, data: Data) -> Result:
        """What is saved as PNG, SVG and PDF."""

    @abstractmethod
    def caption(self, data: Data) -> str:
        """How to read the figure."""

    @abstractmethod
    def findings(self, data: Data) -> list[Finding]:
        """The paper's claims and wordsway's own checks, with what was measured; every one of them
        can fail.
        """

    @abstractmethod
    def tables(self, data: Data, folder: Path) -> list[Path]:
        """The numbers, written beside the picture."""

    def seconds(self, data: Data) -> float | None:
        """Seconds of one core that the jobs took, where they were recorded."""
        return None


@dataclass(frozen=True)
class GridFigure(Figure["pandas.DataFrame"]):
    """A figure of many cells; its data is their table, with the facts of each run."""

    name: str
    title: str
    reviews: ClassVar[bool] = True

    def read(self, store: Store, jobs: Sequence[Job]) -> pandas.DataFrame | None:
        frame = cells_frame(store, [job.key for job in jobs if job.key in store], facts=True)
        return None if frame.empty else frame

    def tables(self, data: pandas.DataFrame, folder: Path) -> list[Path]:
        return export(data, folder, self.name)

    def seconds(self, data: pandas.DataFrame) -> float:
        return float(data["seconds"].sum())

    def caption(self, data: pandas.DataFrame) -> str:
        trials = int(data["trial"].max()) + 1
        cost = f"{len(data):,} cells, {format_seconds(self.seconds(data))} of one core."
        return f"{self.explain(without_facts(data), trials)} {cost}"

    @abstractmethod
    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        """How to read the figure."""
