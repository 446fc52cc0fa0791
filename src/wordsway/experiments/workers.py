"""Where cells run: processes on this machine.

Each worker is a fresh process with one thread for torch: as many workers as cores keep them busy
without fighting. Cells are admitted by memory. A worker that dies takes only its cell with it; the
cell runs again, and after three deaths it is recorded as failed.
"""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from wordsway.experiments.jobs import Job
from wordsway.runtime import release_memory

#: A cell whose worker died this often is given up.
DEATHS = 3


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: outputs and facts, or an error."""

    cell: Job
    outputs: dict[str, Any] | None
    facts: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


class Executor(Protocol):
    """Runs cells somewhere and hands outcomes back as they come, in any order."""

    def run(
        self, cells: Iterable[Job], needs: Callable[[Job], int], wanted: Callable[[Job], bool]
    ) -> Iterator[Outcome]:
        """``needs`` tells the bytes that a cell takes at most, ``wanted`` whether it is still to be
        done when its turn comes.
        """

    def close(self) -> None:
        """Stop all work at once."""


def work(cell: Job) -> Outcome:
    """Run one cell here and now; a failure is an outcome, too."""
    started = time.perf_counter()
    try:
        outputs = cell.run()
    except Exception as error:
        return Outcome(
            cell, None, facts(started), f"{type(error).__name__}: {error}".splitlines()[0]
        )
    return Outcome(cell, outputs, facts(started))


def facts(started: float) -> dict[str, Any]:
    import platform

    from wordsway.result import versions
    from wordsway.runtime import peak_bytes

    finished = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    spent = {
        "seconds": time.perf_counter() - started,
        "peak_mb": peak_bytes() / 1e6,
        "host": platform.node(),
        "finished": finished,
    }
    return spent | versions()


def _serve(pipe: Connection) -> None:
    """A worker: cells in, outcomes out, until the pipe closes. Ctrl-C is the driver's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(1)
    with contextlib.suppress(EOFError, OSError):
        while True:
            pipe.send(work(pipe.recv()))
            release_memory()


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    cell: Job | None = None


class LocalWorkers:
    """Processes on this machine, ``count`` of them, within ``memory`` bytes in all."""

    def __init__(self, count: int, memory: int) -> None:
        self.count, self.memory = count, memory
        self.context = mp.get_context("spawn")
        self.workers: list[_Worker] = []

    def run(
        self, cells: Iterable[Job], needs: Callable[[Job], int], wanted: Callable[[Job], bool]
    ) -> Iterator[Outcome]:
        waiting, deaths = deque(cells), dict[str, int]()
        while waiting or any(worker.cell for worker in self.workers):
            self._admit(waiting, needs, wanted)
            if not any(worker.cell for worker in self.workers):
                continue  # other runs did what was waiting
            ready = wait([worker.pipe for worker in self.workers if worker.cell is not None])
            for worker in [worker for worker in self.workers if worker.pipe in ready]:
                cell = worker.cell
                assert cell is not None
                try:
                    outcome = worker.pipe.recv()
                except (EOFError, OSError):
                    self.workers.remove(worker)
                    worker.process.join()
                    deaths[cell.key] = deaths.get(cell.key, 0) + 1
                    if deaths[cell.key] < DEATHS:
                        waiting.appendleft(cell)
                        continue
                    code = worker.process.exitcode
                    outcome = Outcome(
                        cell,
                        None,
                        {},
                        f"its worker died {DEATHS} times (exit code {code}): too little memory?",
                    )
                worker.cell = None
                yield outcome

    def _admit(
        self, waiting: deque[Job], needs: Callable[[Job], int], wanted: Callable[[Job], bool]
    ) -> None:
        """Give free workers the first cells that fit beside the running ones; one always runs,
        however large.
        """
        taken = sum(needs(worker.cell) for worker in self.workers if worker.cell is not None)
        while waiting and sum(worker.cell is not None for worker in self.workers) < self.count:
            busy = any(worker.cell for worker in self.workers)
            at = next(
                (
                    at
                    for at, cell in enumerate(waiting)
                    if not busy or taken + needs(cell) <= self.memory
                ),
                None,
            )
            if at is None:
                return
            cell = waiting[at]
            del waiting[at]
            if not wanted(cell):
                continue
            taken += needs(cell)
            worker = (
                next((worker for worker in self.workers if worker.cell is None), None)
                or self._start()
            )
            worker.cell = cell
            with contextlib.suppress(OSError):  # it died while idle: the next wait sees it
                worker.pipe.send(cell)

    def _start(self) -> _Worker:
        ours, theirs = self.context.Pipe()
        process = self.context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        self.workers.append(_Worker(process, ours))
        return self.workers[-1]

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.join()
            worker.pipe.close()
        self.workers = []


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
