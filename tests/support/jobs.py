"""Cells that cost nothing, and an executor in this process, for tests of everything around them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wordsway.cli.app import run
from wordsway.core.progress import Progress, silent
from wordsway.engine.job import Job
from wordsway.engine.provenance import Provenance
from wordsway.engine.run import Machines
from wordsway.engine.store import Record, Store
from wordsway.engine.workers import Executor, JobOutcome, work
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from wordsway.version import __version__

GRID = """
seed = 3
[[grid]]
map = ["rf", "raf", "relu-raf"]
n = [3, 4]
d = 4
positions = ["first", "all"]
[[grid]]
map = "drf"
depth = [2, 3]
n = 5
d = 6
"""
#: How many cells that has.
CELLS = 14


def cell(name: str, n: int, d: int, trial: int = 0, **request: Any) -> Cell:
    return Cell(Request(name, n, d, **request), trial)


def small_cells(count: int = 6) -> list[Cell]:
    return [cell("raf", 4, 5, trial) for trial in range(count)]


def fake(job: Job) -> JobOutcome:
    """An outcome that costs nothing."""
    value = int(job.key[:6], 16) / 2**24
    outputs = {"lower": value, "upper": value + 1, "position": 0, "status": "converged"}
    outputs |= {"sample_seed": int(job.key[6:12], 16)}
    return JobOutcome(job, outputs, {"seconds": 0.1, "wordsway": __version__})


class Here:
    """An executor in this process."""

    def __init__(self, function: Callable[[Job], JobOutcome] | None = None) -> None:
        self.function = function
        self.ran: list[str] = []
        self.closed = False

    def run(
        self, jobs: Iterable[Job], provenance: Provenance, wanted: Callable[[Job], bool]
    ) -> Iterator[JobOutcome]:
        for job in jobs:
            if wanted(job):
                self.ran.append(job.key)
                required = provenance.for_job(job)
                yield work(job, required) if self.function is None else self.function(job)

    def close(self) -> None:
        self.closed = True


class OnThese(Machines):
    """Machines that are one executor."""

    def __init__(self, executor: Executor) -> None:
        super().__init__()
        object.__setattr__(self, "chosen", executor)

    def executor(self, progress: Progress = silent) -> Executor:
        chosen: Executor = self.chosen  # type: ignore[attr-defined]
        return chosen


def filled(folder: Path, count: int = 6) -> Store:
    """A store with so many finished cells."""
    store = Store(folder)
    for job in small_cells(count):
        outcome = fake(job)
        assert outcome.outputs is not None
        store.add(Record(job.content, outcome.outputs, outcome.facts))
    return store


def stored(out: Path) -> list[bytes]:
    """The lines of finished cells that runs have stored so far."""
    return [
        line
        for path in sorted(out.glob("store/segments/*.log"))
        for line in path.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n") and b'"outputs": {' in line
    ]


def wait_for_cells(process: subprocess.Popen[Any], out: Path, count: int) -> None:
    """Wait until a run has stored so many cells."""
    deadline = time.monotonic() + 200
    while len(stored(out)) < count:
        assert process.poll() is None and time.monotonic() < deadline, "no more cells"
        time.sleep(0.01)


def sweep_here(study: Path, out: Path) -> int:
    """`wordsway sweep` in this process; its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
        return run(["sweep", str(study), "--out", str(out), "--workers", "1"])


def table(folder: Path) -> bytes:
    return (folder / "cells.csv").read_bytes()
