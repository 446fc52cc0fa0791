"""Run jobs on a Dask cluster, on one machine or many. The only file that imports Dask.

Any running scheduler can be used, whatever started its workers (dask-kubernetes, a list of
machines); on Slurm, dask-jobqueue starts one here and submits workers as jobs. The workers need
wordsway installed. Dask runs the jobs of a dead worker again on
another one.
"""

from __future__ import annotations

import contextlib
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wordsway.core.errors import InputError, WordswayError, first_line, needs
from wordsway.core.progress import Progress, silent
from wordsway.core.result import versions
from wordsway.core.runtime import run_with_timeout
from wordsway.engine.job import Job
from wordsway.engine.provenance import Provenance, compare_versions
from wordsway.engine.workers import DEATHS, JobOutcome, work

log = logging.getLogger("wordsway")
#: Seconds that a scheduler has to respond, and seconds before a line reports the wait.
PATIENCE = 10
#: Seconds between polls for outcomes, and for workers; and seconds without any worker after which a
#: cluster that was started here, and does not start new ones, is given up.
POLL, CHECK, LOST = 0.02, 2.0, 60.0
#: Jobs submitted per worker ahead of their turn.
AHEAD = 2
#: What ``slurm:COUNT`` takes: options of `SLURMCluster`; the scheduler's port, by default any free
#: one; and a virtual environment to activate in the jobs, this one by default.
SLURM = ("queue", "account", "walltime", "memory", "interface", "port", "activate")
NOISY = ("", ".worker", ".nanny", ".scheduler", ".comm", ".core", ".client", ".utils")


class DaskCluster:
    """Jobs as tasks of a Dask cluster: ``tcp://host:port``, ``tls://host:port``; ``local:4`` for a
    scheduler and four workers here; ``slurm:64,queue=short`` for a scheduler here and 64 workers as
    jobs of Slurm.
    """

    def __init__(self, address: str, memory: int, progress: Progress = silent) -> None:
        self.address, self.progress = address, progress
        #: A cluster that was started here, and how many workers it is to have.
        self.local: Any = None
        self.wanted = 0
        self.client: Any = None
        import distributed  # noqa: F401 (it sets the levels of its loggers when it is imported)

        for name in ("tornado", "tornado.application", *(f"distributed{part}" for part in NOISY)):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        kind, _, options = address.partition(":")
        if kind in ("local", "slurm") or not options:
            self.wanted, slurm = _options(address, options, () if kind == "local" else SLURM)
        progress(f"waiting for the Dask scheduler at {address}", 0, 0)
        try:
            if kind == "slurm":
                self.local = _slurm_cluster(self.wanted, slurm)
            elif kind == "local":
                self.local = _local_cluster(self.wanted, memory)
            self._connect()
        except WordswayError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise WordswayError(
                f"no Dask scheduler answered at {address} within {PATIENCE} s "
                f"({first_line(error, 120)}): start one with `dask scheduler`, or use "
                "--cluster local:4"
            ) from None

    def _connect(self) -> None:
        from distributed import Client

        if self.local is not None:
            self.client = Client(self.local, timeout=PATIENCE)
            return
        # A port that accepts and never answers blocks the handshake beyond its time-out.
        self.client = run_with_timeout(PATIENCE + 2, lambda: Client(self.address, timeout=PATIENCE))

    def run(
        self, jobs: Iterable[Job], provenance: Provenance, wanted: Callable[[Job], bool]
    ) -> Iterator[JobOutcome]:
        from distributed import as_completed

        count = max(self.wanted, self._check_workers(provenance))
        waiting = iter(jobs)
        queue = as_completed(with_results=False)
        running: dict[Any, tuple[Any, Job]] = {}

        def submit() -> None:
            for job in waiting:
                if wanted(job):
                    required = provenance.for_job(job)
                    name = f"cell-{job.key}"
                    future = self.client.submit(
                        work, job, required, key=name, pure=False, retries=DEATHS
                    )
                    running[future.key] = (future, job)
                    queue.add(future)
                    return

        for _ in range(AHEAD * count):
            submit()
        watch = _WorkerWatch(self)
        while queue.count():
            if not queue.has_ready():
                watch.check()
                time.sleep(POLL)
                continue
            future = next(queue)
            _, done = running.pop(future.key)
            outcome = self._outcome(future, done)
            future.release()
            submit()
            yield outcome

    def _outcome(self, future: Any, job: Job) -> JobOutcome:
        if self.client.status != "running":
            raise WordswayError(
                f"the Dask scheduler at {self.address} is gone: start it again and run the same "
                "command; what was stored is safe"
            )
        error = future.exception()
        if error is None:
            return future.result()
        return JobOutcome(job, None, {}, f"{type(error).__name__}: {first_line(error)}")

    def _check_workers(self, provenance: Provenance) -> int:
        """Wait for the first worker, compare the versions of all, and return how many there are."""
        started = time.monotonic()
        warned = False
        while not (workers := self._workers()):
            self.progress(f"waiting for workers of the Dask scheduler at {self.address}", 0, 0)
            if not warned and time.monotonic() - started > PATIENCE:
                warned = True
                remedy = f"start some with `dask worker {self.address}`"
                if self.address.startswith("slurm:"):
                    remedy = "`squeue --me` shows the jobs of its workers"
                log.warning(
                    "no worker has joined the Dask scheduler at %s: %s", self.address, remedy
                )
            time.sleep(0.2)
        answers = self.client.run(versions, on_error="return")
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                raise WordswayError(
                    f"the Dask worker {worker} cannot run wordsway ({first_line(answer, 120)}): "
                    "install the same version there"
                )
            for difference in compare_versions(provenance.versions, answer, f"worker {worker}"):
                log.warning("%s", difference)
        return len(workers)

    def _workers(self) -> dict[str, Any]:
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def close(self) -> None:
        with contextlib.suppress(Exception):
            if self.client is not None:
                self.client.close(timeout=2)
        with contextlib.suppress(Exception):
            if self.local is not None:
                self.local.close(timeout=2 if self.address.startswith("local:") else 20)


def _options(address: str, options: str, known: Sequence[str]) -> tuple[int, dict[str, str]]:
    """The number of workers, and what follows it as ``name=value``.

    >>> _options("slurm:8,queue=short", "8,queue=short", SLURM)
    (8, {'queue': 'short'})
    """
    count, *rest = options.split(",")
    given = {name: value for name, _, value in (one.partition("=") for one in rest)}
    if not count.isdecimal() or not 1 <= int(count) <= 1024 or not set(given) <= set(known):
        raise InputError(
            "a cluster as tcp://host:port, local:COUNT or slurm:COUNT,NAME=VALUE,…, a name being "
            f"{', '.join(SLURM)}",
            repr(address),
            "local:4 starts four workers here",
        )
    return int(count), given


def _local_cluster(count: int, memory: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=count,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        memory_limit=max(memory // count, 2**30),
    )


def _slurm_cluster(count: int, options: dict[str, str]) -> Any:
    """A scheduler here, on free ports, and ``count`` workers that Slurm starts, and starts again
    when they die. Dask's configuration (``jobqueue.slurm``) has all other settings of the jobs.
    """
    needs("cluster", "dask_jobqueue")
    from dask_jobqueue import SLURMCluster

    folder = options.pop("activate", None)
    scheduler = {"dashboard_address": ":0", "port": int(options.pop("port", "0"))}
    cluster = SLURMCluster(
        cores=1,
        processes=1,
        **({"memory": "4GB", "walltime": "01:00:00"} | options),
        python=sys.executable if folder is None else "python",
        job_script_prologue=[f"source {shlex.quote(folder)}/bin/activate"] if folder else [],
        scheduler_options=scheduler,
        silence_logs=logging.CRITICAL,
    )
    cluster.adapt(minimum=count, maximum=count)
    return cluster


class _WorkerWatch:
    """Detects that no worker is left: workers that die too fast are not replaced."""

    def __init__(self, cluster: DaskCluster) -> None:
        self.cluster = cluster
        self.checked = self.seen = time.monotonic()
        self.warned = False

    def check(self) -> None:
        """Check every few seconds. Only a cluster that others started can get workers again."""
        now = time.monotonic()
        if now - self.checked < CHECK:
            return
        self.checked = now
        try:
            here = self.cluster._workers()
        except Exception:  # the scheduler is gone: the next outcome reports it
            return
        if here:
            self.seen, self.warned = now, False
            return
        address = self.cluster.address
        if address.startswith("local:") and now - self.seen > LOST:
            raise WordswayError(
                f"no worker of {address} is left, they died faster than they start: run the same "
                "command again; what was stored is safe"
            )
        if not self.warned and now - self.seen > PATIENCE:
            self.warned = True
            log.warning("no worker is left at %s: waiting for one", address)
