"""Run jobs in processes on this machine.

Each worker is a new process with one torch thread, so that as many workers as cores do not compete.
Jobs are admitted by memory. When a worker dies, only its job is lost; the job runs again, and after
three deaths it is recorded as failed. A worker exits when its run has ended.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing as mp
import os
import platform
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import torch

from wordsway.core.errors import exit_reason, first_line
from wordsway.core.result import versions
from wordsway.core.runtime import end_with_input, peak_bytes, python_process, release_memory
from wordsway.engine.job import Job
from wordsway.engine.provenance import Provenance, ProvenanceMismatch

#: A job whose worker died this often is recorded as failed, with an error that begins like this;
#: the next run tries it again.
DEATHS = 3
WORKER_DIED = "its worker died"
#: Seconds of a job after which freed memory is returned to the system.
LONG = 1.0


@dataclass(frozen=True)
class JobOutcome:
    """Outputs and facts of a job, or an error; ``refused``: other versions or data."""

    job: Job
    outputs: dict[str, Any] | None
    facts: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    refused: bool = False


class Executor(Protocol):
    """Runs jobs and yields their outcomes, in any order."""

    def run(
        self, jobs: Iterable[Job], provenance: Provenance, wanted: Callable[[Job], bool]
    ) -> Iterator[JobOutcome]:
        """``wanted`` returns, just before a job starts, whether it is still to be done."""

    def close(self) -> None:
        """Stop all work at once."""


def work(
    job: Job, required: Provenance, run: Callable[[], dict[str, Any]] | None = None
) -> JobOutcome:
    """Run one job here, by ``run`` if given; a failure is an outcome, too."""
    started = time.perf_counter()
    try:
        required.check(job)
        outputs = (run or job.run)()
    except ProvenanceMismatch as error:
        return JobOutcome(job, None, facts(started), str(error), refused=True)
    except Exception as error:
        return JobOutcome(job, None, facts(started), f"{type(error).__name__}: {first_line(error)}")
    return JobOutcome(job, outputs, facts(started))


def facts(started: float) -> dict[str, Any]:
    """When, where and with what a job was run."""
    spent = {
        "seconds": time.perf_counter() - started,
        "peak_mb": peak_bytes() / 1e6,
        "host": platform.node(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return spent | versions()


def serve(number: int) -> None:
    """A worker: jobs in, outcomes out, through the socket of this number, until it closes."""
    threading.Thread(target=end_with_input, daemon=True).start()
    torch.set_num_threads(1)
    pipe = Connection(number)
    with contextlib.suppress(EOFError, OSError):
        while True:
            outcome = work(*pipe.recv())
            pipe.send(outcome)
            if outcome.facts["seconds"] > LONG:
                release_memory()


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: Connection
    job: Job | None = None


class LocalWorkers:
    """Processes on this machine, ``count`` of them, within ``memory`` bytes in all."""

    def __init__(self, count: int, memory: int) -> None:
        self.count, self.memory = count, memory
        self.workers: list[_Worker] = []
        self._sizes: dict[str, float] = {}

    def run(
        self, jobs: Iterable[Job], provenance: Provenance, wanted: Callable[[Job], bool]
    ) -> Iterator[JobOutcome]:
        waiting = deque(jobs)
        deaths: dict[str, int] = {}
        while waiting or self._busy():
            self._admit(waiting, provenance, wanted)
            if not self._busy():
                continue  # other runs finished the waiting jobs
            ready = wait([worker.pipe for worker in self._busy()])
            for worker in [worker for worker in self.workers if worker.pipe in ready]:
                outcome = self._outcome(worker, waiting, deaths)
                if outcome is not None:
                    yield outcome

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self.workers if worker.job is not None]

    def _outcome(
        self, worker: _Worker, waiting: deque[Job], deaths: dict[str, int]
    ) -> JobOutcome | None:
        """The outcome that a worker sends. A dead worker's job is queued again, a few times."""
        job = worker.job
        assert job is not None
        try:
            outcome: JobOutcome = worker.pipe.recv()
        except (EOFError, OSError):
            self.workers.remove(worker)
            with worker.process as process:
                process.wait()
            deaths[job.key] = deaths.get(job.key, 0) + 1
            if deaths[job.key] < DEATHS:
                waiting.appendleft(job)
                return None
            how = exit_reason(process.returncode)
            why = f"{WORKER_DIED} {DEATHS} times, the last time with {how}"
            return JobOutcome(job, None, {}, why)
        worker.job = None
        return outcome

    def _admit(
        self, waiting: deque[Job], provenance: Provenance, wanted: Callable[[Job], bool]
    ) -> None:
        """Start jobs whose memory fits next to the running ones; one always runs."""
        while waiting and len(self._busy()) < self.count:
            running = [worker.job for worker in self.workers if worker.job is not None]
            free = self.memory - sum(map(self._bytes, running)) if running else math.inf
            job = next((job for job in waiting if self._bytes(job) <= free), None)
            if job is None:
                return
            waiting.remove(job)
            if not wanted(job):
                continue
            idle = [worker for worker in self.workers if worker.job is None]
            worker = idle[0] if idle else self._start()
            worker.job = job
            with contextlib.suppress(OSError):  # it died while idle: the next wait sees it
                worker.pipe.send((job, provenance.for_job(job)))

    def _bytes(self, job: Job) -> float:
        """The memory of a job, computed once."""
        if job.key not in self._sizes:
            self._sizes[job.key] = job.peak_bytes()
        return self._sizes[job.key]

    def _start(self) -> _Worker:
        ours, theirs = mp.Pipe()
        process = python_process(
            "from wordsway.engine.workers import serve; serve(int(sys.argv[1]))",
            str(theirs.fileno()),
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.workers.append(_Worker(process, ours))
        return self.workers[-1]

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            with worker.process as process:
                process.wait()
            worker.pipe.close()
        self.workers = []


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
