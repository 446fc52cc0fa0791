"""Time and memory of jobs that are still to run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from wordsway.core.result import Result
from wordsway.engine.job import Job
from wordsway.engine.run import Machines
from wordsway.engine.store import Store

#: Seconds that a timed run may take, as estimated from the runs before it.
AFFORDABLE = 4.0
#: Time grows at least and at most like these powers of the share.
POWERS = (1.0, 4.0)


def extrapolated_seconds(
    run: Callable[[float], object],
    share: float = 1.0,
    fits: Callable[[float], bool] = lambda share: True,
) -> float:
    """Processor seconds of ``run(1)``. This share of it is timed, then twice as much, as long as
    that is affordable and its memory ``fits``; the rest follows the power law through the last two.

    >>> extrapolated_seconds(lambda share: sum(range(int(1000 * share)))) < AFFORDABLE
    True
    """
    run(share / 8)  # the first run takes longer
    seconds = _timed(run, share / 2 if share < 1 else share)
    while share < 1:
        before, seconds = seconds, _timed(run, share)
        power = math.log(max(seconds, 1e-9) / max(before, 1e-9)) / math.log(2)
        factor = 2 ** min(max(power, POWERS[0]), POWERS[1])
        if factor * seconds > AFFORDABLE or not fits(min(1.0, 2 * share)):
            return seconds * factor ** -math.log2(share)
        share *= 2
        if share >= 1:
            seconds = _timed(run, 1.0)
    return seconds


def _timed(run: Callable[[float], object], share: float) -> float:
    started = time.process_time()
    run(share)
    return time.process_time() - started


@dataclass(frozen=True)
class SweepForecast(Result):
    """The rest of a sweep: seconds with ``workers`` workers, and their joint peak memory."""

    what: str
    total: int
    left: int
    workers: int
    seconds: float
    bytes: float
    #: What is not counted, as "what: why", and entries of the catalogue that a run downloads first.
    missing: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        counts = {self.what: self.total, "left": self.left, "workers": self.workers}
        return counts | {
            "forecast_seconds": self.seconds,
            "forecast_peak_mb": self.bytes / 1e6,
            **({"missing": list(self.missing)} if self.missing else {}),
            **({"downloads": list(self.downloads)} if self.downloads else {}),
        }


def forecast_unfinished(
    jobs: Sequence[Job],
    store: Store | None = None,
    workers: int | None = None,
    what: str = "cells",
    memory: int | None = None,
) -> SweepForecast:
    """Time and memory, on this machine, of the jobs that the store does not have."""
    every = {job.key: job for job in jobs}
    left = [job for key, job in every.items() if store is None or key not in store]
    here = Machines(workers, memory=memory)
    families: dict[Hashable, list[Job]] = {}
    for job in left:
        families.setdefault(job.family, []).append(job)
    starting = max((jobs[0].startup() for jobs in families.values()), default=0.0)
    seconds = sum(map(_family_seconds, families.values()))
    needs = sorted((job.peak_bytes() for job in left), reverse=True)[: here.count]
    peak = needs[0] if needs and sum(needs) > here.limit else sum(needs)
    seconds = starting + seconds / max(1, min(here.count, len(left)))
    return SweepForecast(what, len(every), len(left), here.count, seconds, peak)


def _family_seconds(jobs: Sequence[Job]) -> float:
    """A power law through the times of the smallest and the largest job of a family."""
    small, large = min(jobs, key=lambda job: job.size), max(jobs, key=lambda job: job.size)
    first = max(small.estimate(), 1e-3)
    if large.size == small.size:
        return first * len(jobs)
    last = max(large.estimate(), 1e-3)
    power = math.log(last / first) / math.log(large.size / small.size)
    return sum(first * (job.size / small.size) ** power for job in jobs)
