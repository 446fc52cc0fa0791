"""Run the jobs that a store does not have, and store each as soon as it is done."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from wordsway.core.checks import Bytes, Workers, check_fields
from wordsway.core.errors import InputError, needs
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import available_memory
from wordsway.engine.dask_cluster import DaskCluster
from wordsway.engine.job import Job
from wordsway.engine.provenance import (
    Provenance,
    ProvenanceMismatch,
    compare_versions,
    provenance_of,
)
from wordsway.engine.store import Record, Store
from wordsway.engine.workers import WORKER_DIED, Executor, JobOutcome, LocalWorkers, cores

log = logging.getLogger("wordsway")
#: Seconds of the smallest job, so that its share of progress is never zero.
LEAST_SECONDS = 0.03


@dataclass
class Tally:
    """The counts of a run: jobs in all, done before, done now, and done meanwhile by other runs;
    failures with their errors. ``what`` is the plural name of the jobs ("cells").
    """

    total: int
    before: int
    what: str = "cells"
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    elsewhere: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def failures(self) -> dict[str, str]:
        """All failures, of this run or earlier ones."""
        return self.failed | self.skipped

    @property
    def left(self) -> int:
        return self.total - self.stored - len(self.failures)

    @property
    def stored(self) -> int:
        return self.before + self.done + self.elsewhere

    @property
    def complete(self) -> bool:
        """Whether everything is done."""
        return not (self.interrupted or self.failures)


@dataclass(frozen=True)
class Machines:
    """Where jobs run: ``workers`` processes here (one per core by default), or a Dask ``cluster``
    (``tcp://host:port``, ``local:COUNT``, ``slurm:COUNT``); ``memory`` limits all workers together,
    in bytes.
    """

    workers: Workers | None = None
    cluster: str | None = None
    memory: Bytes | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.cluster is not None:
            needs("cluster", "distributed", "pyarrow")

    @property
    def limit(self) -> int:
        return self.memory if self.memory is not None else int(0.8 * available_memory())

    @property
    def count(self) -> int:
        return self.workers or cores()

    def executor(self, progress: Progress = silent) -> Executor:
        if self.cluster is not None:
            return DaskCluster(self.cluster, self.limit, progress)
        return LocalWorkers(self.count, self.limit)


def shard_of(jobs: Sequence[Job], shard: str | None) -> Sequence[Job]:
    """Part 3 of 64 of the jobs for ``3/64``, all of them for None.

    Every part has large and small jobs; which ones depends neither on what is stored nor on the
    order of the jobs.
    """
    if shard is None:
        return jobs
    index, _, count = shard.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise InputError(
            "a shard as INDEX/COUNT, counted from 1", repr(shard), "1/4, 2/4, 3/4 and 4/4 are all"
        )
    return _ordered(list({job.key: job for job in jobs}.values()))[int(index) - 1 :: int(count)]


def run_jobs(
    jobs: Sequence[Job],
    store: Store,
    machines: Machines,
    *,
    retry_failed: bool = False,
    what: str = "cells",
    progress: Progress = silent,
) -> Tally:
    """Run the jobs that the store does not have, largest first; each is stored as soon as it is
    done.

    Ctrl-C stops the workers and returns the finished jobs; `kill -9` loses at most the jobs that
    were running.
    """
    store.refresh()
    unique = {job.key: job for job in jobs}
    left = [job for key, job in unique.items() if key not in store]
    tally = Tally(len(unique), len(unique) - len(left), what)
    if not retry_failed:
        failures = store.failures()
        tally.skipped = {
            job.key: failures[job.key]
            for job in left
            if not failures.get(job.key, WORKER_DIED).startswith(WORKER_DIED)
        }
        left = [job for job in left if job.key not in tally.skipped]
    progress(f"{what} left: {len(left):,}", 0, 0)
    provenance = provenance_of(list(unique.values()), store)
    if left:
        executor = machines.executor(progress)
        _run(left, store, executor, provenance, tally, progress)
    store.refresh()
    tally.elsewhere = sum(key in store for key in unique) - tally.before - tally.done
    return tally


@dataclass
class _Family:
    """Jobs of one family: how many are left and done, the sums of their sizes, and seconds."""

    left: int = 0
    left_size: float = 0.0
    done: int = 0
    done_size: float = 0.0
    seconds: float = 0.0

    def to_come(self, typical: float) -> float:
        """Seconds of the remaining jobs: in proportion to size, or ``typical`` for each job."""
        if not self.done:
            return typical * self.left
        return self.left_size * self.seconds / self.done_size + LEAST_SECONDS * self.left


class Meter:
    """The progress of a run, in seconds of its jobs: a family with finished jobs is extrapolated in
    proportion to the sizes of its jobs; the others count like the average finished job.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.families: dict[Hashable, _Family] = {}
        self.reached = 0.0
        for job in jobs:
            family = self.families.setdefault(job.family, _Family())
            family.left += 1
            family.left_size += job.size
        self.order = _ordered(jobs)

    def share(self, outcome: JobOutcome) -> float:
        """The share of the time that has passed, with this outcome; it never falls."""
        family, size = self.families[outcome.job.family], outcome.job.size
        family.left -= 1
        family.left_size -= size
        family.done += 1
        family.done_size += size
        family.seconds += float(outcome.facts.get("seconds", LEAST_SECONDS))
        every = self.families.values()
        spent = sum(one.seconds for one in every)
        typical = spent / sum(one.done for one in every)
        left = sum(one.to_come(typical) for one in every if one.left)
        self.reached = max(self.reached, spent / (spent + left) if left else 1.0)
        return self.reached


def _ordered(jobs: Sequence[Job]) -> list[Job]:
    """The largest job of every family first, so that all are known early; then by size, those that
    hold the same model together. Jobs of one source follow each other where sizes are the same: a
    worker keeps the texts of the last one.
    """
    ranked = sorted(jobs, key=lambda job: (job.holds, -job.size, job.source or "", job.key))
    first = {job.family: job.key for job in reversed(ranked)}
    return sorted(ranked, key=lambda job: first[job.family] != job.key)


def _run(
    left: list[Job],
    store: Store,
    executor: Executor,
    provenance: Provenance,
    tally: Tally,
    progress: Progress,
) -> None:
    started = time.perf_counter()
    meter = Meter(left)
    reported: set[str] = set()

    def wanted(job: Job) -> bool:
        store.refresh()  # another run may have finished it
        return job.key not in store

    try:
        for outcome in executor.run(meter.order, provenance, wanted):
            _check(outcome, provenance, reported)
            _keep(outcome, store, tally)
            share = meter.share(outcome)
            count = f"{tally.before + tally.done:,} of {tally.total:,} {tally.what}"
            note = f"{len(tally.failed)} failed" if tally.failed else ""
            progress(count, share, 1.0, note)
    except KeyboardInterrupt:
        tally.interrupted = True
        kept = tally.before + tally.done
        log.warning("stopping; %s %s are kept in %s", f"{kept:,}", tally.what, store.folder)
    finally:
        executor.close()
        tally.seconds = time.perf_counter() - started


def _check(outcome: JobOutcome, provenance: Provenance, reported: set[str]) -> None:
    """Stop where the provenance of a worker differs; report other versions once."""
    if outcome.refused:
        raise ProvenanceMismatch(outcome.error or "a worker refused its job")
    host = str(outcome.facts.get("host", "a worker"))
    found = outcome.facts if "wordsway" in outcome.facts else provenance.versions
    for difference in compare_versions(provenance.versions, found, host):
        if difference not in reported:
            reported.add(difference)
            log.warning("%s", difference)
    source = outcome.job.source
    if source is not None and outcome.outputs is not None:
        provenance.record(source, outcome.job.hashes_in(outcome.outputs), host)


def _keep(outcome: JobOutcome, store: Store, tally: Tally) -> None:
    job = outcome.job
    if outcome.outputs is None:
        tally.failed[job.key] = outcome.error or "unknown"
        store.fail(job.content, tally.failed[job.key])
    else:
        store.add(Record(job.content, outcome.outputs, outcome.facts))
        tally.done += 1
