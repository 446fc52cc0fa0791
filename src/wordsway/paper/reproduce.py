"""The verb `reproduce`: the paper's figures by name, measured, drawn and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from wordsway.core.atomic import read_text
from wordsway.core.checks import FilePath, OneOf, Seed, validated
from wordsway.core.errors import InputError, needs
from wordsway.core.format import format_seconds
from wordsway.core.progress import Progress, silent, stretch_of
from wordsway.core.result import SequenceResult, fields_of, table, versions
from wordsway.engine.forecast import SweepForecast, forecast_unfinished
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, Tally, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.tables import writable
from wordsway.paper.figure import OPEN, Figure, Finding, Sources, find_sources
from wordsway.paper.ingredients import INGREDIENTS, READ_OUT
from wordsway.paper.learned_flips import FLIPS
from wordsway.paper.lengths import LengthStudy
from wordsway.paper.phase import PhaseDiagram
from wordsway.paper.pretrained import (
    AnswersToTwoPrompts,
    AttentionOfTwoTexts,
    AttractedAttention,
    AttractedLayers,
)
from wordsway.paper.sensitivity_curves import CURVES
from wordsway.paper.training import TrainingStudy

if TYPE_CHECKING:
    import pandas

OUT = Path("out/reproduce")
PICTURES = ("png", "svg", "pdf")
#: Styles of PNG and PDF.
STYLES = ("screen", "icml")
#: The share of a run's progress that belongs to drawing.
DRAWING = 0.03
#: The paper's figures, then the studies that go beyond it.
_ALL: tuple[Figure[Any], ...] = (
    AttentionOfTwoTexts(),
    AnswersToTwoPrompts(),
    *CURVES,
    AttractedLayers(),
    AttractedAttention(),
    *FLIPS,
    INGREDIENTS,
    PhaseDiagram(),
    READ_OUT,
    LengthStudy(),
    TrainingStudy(),
)
FIGURES = {figure.name: figure for figure in _ALL}


def choose(names: Sequence[str]) -> list[Figure[Any]]:
    """The figures of these names: "2-left", "2" for both halves of Figure 2, "3" for 3.1 to 3.4,
    "4" for Figure 4 on all data, "all" (or none) for the paper, "studies" for the studies.

    >>> [figure.name for figure in choose(["2", "3.1", "phase"])]
    ['2-left', '2-right', '3.1', 'phase']
    """
    chosen: dict[str, Figure[Any]] = {}
    for name in names or ["all"]:
        found = {
            key: figure
            for key, figure in FIGURES.items()
            if name == key
            or name == ("studies" if figure.study else "all")
            or key.startswith((f"{name}-", f"{name}."))
        }
        if not found:
            raise InputError(
                f"figures among {', '.join(FIGURES)}, 1, 2, 3, 4, 5, all, studies",
                repr(name),
                "leave it out for all of the paper",
            )
        chosen |= found
    return list(chosen.values())


@dataclass(frozen=True)
class DrawnFigure:
    """A drawn figure: its caption, its files next to the page (the SVG among them), and a caution
    about its numbers.
    """

    name: str
    title: str
    caption: str
    files: tuple[str, ...]
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class Reproduction(SequenceResult[Finding], items="findings", brief="folder quick seed"):
    """The drawn figures, the claims with their measurements, and where the numbers come from."""

    folder: Path
    quick: bool
    seed: int
    command: str
    figures: tuple[DrawnFigure, ...]
    findings: tuple[Finding, ...]
    tally: Tally
    facts: dict[str, str]

    @property
    def page(self) -> Path:
        return self.folder / "index.html"

    def to_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "page": str(self.page),
            "quick": self.quick,
            "seed": self.seed,
            "command": self.command,
            "figures": [fields_of(drawn) for drawn in self.figures],
            "findings": [fields_of(finding) for finding in self.findings],
            "total": self.tally.total,
            "done": self.tally.done,
            "before": self.tally.before,
            "failed": self.tally.failures,
            "interrupted": self.tally.interrupted,
            "versions": versions(),
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per claim."""
        return table(self.findings, Finding)


@validated
def reproduce(
    figures: Sequence[str] = (),
    *,
    quick: bool = False,
    out: FilePath = OUT,
    seed: Seed = 0,
    workers: int | None = None,
    cluster: str | None = None,
    memory: int | None = None,
    retry_failed: bool = False,
    text: FilePath | None = None,
    style: Annotated[str, OneOf(STYLES)] = "screen",
    command: str = "",
    progress: Progress = silent,
) -> Reproduction:
    """The paper's figures with bands of ± 1 sd, theory curves, certificates and provenance.

    Parameters
    ----------
    figures : names such as "2-left", "3" or "all"; all of them by default
    quick : a subset of the cells: d = 192 (768 for depth) with 3 trials; d = 384 for Figures
        4 (10 trials) and 5 (6)
    out : folder for ``<figure>.png .svg .pdf .csv``, ``index.html`` and the store; an interrupted
        run resumes where it stopped
    workers, cluster, memory : as in `sweep`; ``command`` is shown on the page
    text : a file with the text of Figure 3.3; a paragraph of ours by default
    style : "screen", or "icml" for PNG and PDF as a journal prints them (the page keeps its own)
    """
    chosen = with_text(choose(figures), text)
    needs("figures", "matplotlib", "pyarrow")
    machines = Machines(workers, cluster, memory)
    folder = writable(Path(out))
    store = Store(folder / "store")
    sources = find_sources(fetch=True, reviews=_reviews(chosen), progress=progress)
    jobs = _jobs(chosen, sources, quick, seed)
    every = [job for some in jobs.values() for job in some]
    running = stretch_of(progress, 0, 1 - DRAWING, 1)
    tally = run_jobs(every, store, machines, retry_failed=retry_failed, progress=running)
    drawing = stretch_of(progress, 1 - DRAWING, 1, 1)
    drawn, findings = [], []
    for number, figure in enumerate(chosen):
        drawing(f"drawing Figure {figure.name}", number, len(chosen))
        data = figure.read(store, jobs[figure.name])
        if data is not None:
            drawn.append(_draw(figure, data, folder, style))
            findings += figure.findings(data)
    findings += _not_measured(_missing(chosen, sources, jobs, quick))
    result = Reproduction(
        folder=folder,
        quick=quick,
        seed=seed,
        command=command or f"ws.reproduce({list(figures)}, quick={quick}, seed={seed})",
        figures=tuple(drawn),
        findings=tuple(findings),
        tally=tally,
        facts=_facts(drawn, store, every, tally, seed),
    )
    result.save(result.page)
    return result


def forecast_reproduction(
    figures: Sequence[str] = (),
    *,
    quick: bool = False,
    out: Path | str = OUT,
    seed: int = 0,
    workers: int | None = None,
) -> SweepForecast:
    """Time and memory of the jobs that the store does not have, those on reviews that the run
    downloads first included; nothing is downloaded here.
    """
    chosen = choose(figures)
    store = Store(writable(Path(out)) / "store")
    sources = find_sources(fetch=False, reviews=_reviews(chosen))
    jobs = _jobs(chosen, sources, quick, seed)
    every = [job for some in jobs.values() for job in some]
    missing = tuple(_missing(chosen, sources, jobs, quick))
    cost = forecast_unfinished(every, store, workers)
    return replace(cost, missing=missing, downloads=tuple(sources.downloads))


def _reviews(chosen: Sequence[Figure[Any]]) -> bool:
    return any(figure.reviews for figure in chosen)


def _jobs(
    chosen: Sequence[Figure[Any]], sources: Sources, quick: bool, seed: int
) -> dict[str, list[Job]]:
    return {figure.name: list(figure.jobs(sources, quick=quick, seed=seed)) for figure in chosen}


def with_text(chosen: list[Figure[Any]], path: Path | str | None) -> list[Figure[Any]]:
    """The figures, 3.3 with the text of a file."""
    if path is None:
        return chosen
    text, name = " ".join(read_text(Path(path), "a UTF-8 text file").split()), Path(path).name
    if not text:
        raise InputError("a text file with words", f"{path} is empty", "choose another file")
    return [
        replace(figure, text=text, source=name) if isinstance(figure, AttractedLayers) else figure
        for figure in chosen
    ]


def _draw(figure: Figure[Any], data: Any, folder: Path, style: str) -> DrawnFigure:
    picture = figure.drawing(data)
    print_style = "" if style == "screen" else style
    written = [
        picture.save(folder / f"{figure.name}.{kind}", style="" if kind == "svg" else print_style)
        for kind in PICTURES
    ]
    written += figure.tables(data, folder)
    files = tuple(path.name for path in written)
    caption, note = figure.caption(data), figure.note(data)
    return DrawnFigure(figure.name, figure.title, caption, files, figure.seconds(data), note)


def _missing(
    chosen: Sequence[Figure[Any]], sources: Sources, jobs: Mapping[str, Sequence[Job]], quick: bool
) -> list[str]:
    """What cannot be measured, as "what: why"."""
    reasons = [reason for figure in chosen for reason in figure.missing(sources)]
    reasons += [
        f"Figure {figure.name}: not part of --quick; run without it"
        for figure in chosen
        if quick and not jobs[figure.name] and not figure.missing(sources)
    ]
    return list(dict.fromkeys([*reasons, *sources.missing]))


def _not_measured(reasons: Sequence[str]) -> list[Finding]:
    parts = [reason.partition(":") for reason in reasons]
    return [Finding("", what, "", why.strip(), OPEN) for what, _, why in parts]


def not_drawn(names: Sequence[str], result: Reproduction) -> list[str]:
    """The figures of exactly these names that were not drawn; all chosen ones if none was."""
    drawn = {figure.name for figure in result.figures}
    if not drawn:
        return [figure.name for figure in choose(names)]
    return [name for name in names if name in FIGURES and name not in drawn]


def _facts(
    drawn: Sequence[DrawnFigure], store: Store, jobs: Sequence[Job], tally: Tally, seed: int
) -> dict[str, str]:
    """Where the numbers come from."""
    found = [record.facts for _, record in store.records(job.key for job in jobs)]
    peaks = [fact["peak_mb"] for fact in found if "peak_mb" in fact]
    hosts = sorted({fact["host"] for fact in found if "host" in fact})
    times = [
        f"Figure {figure.name}: {format_seconds(figure.seconds)}"
        for figure in drawn
        if figure.seconds is not None
    ]
    return {
        "seed": str(seed),
        "cells": f"{len(found):,} of {tally.total:,}; {len(tally.failures)} failed",
        "computing time": f"{'; '.join(times)} (seconds of one core, earlier runs included)",
        "this run": format_seconds(tally.seconds),
        "largest worker": f"{max(peaks):.0f} MB" if peaks else "–",
        "machines": ", ".join(hosts) or "–",
        "versions": ", ".join(f"{name} {value}" for name, value in versions().items()),
        "stored in": str(store.folder),
    }
