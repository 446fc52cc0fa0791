"""Time and memory of jobs that are still to run."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.result import Result
from wordsway.engine.job import Job

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SweepForecast(Result):
    """What is left of a sweep: seconds with so many workers, and the peak of all of them
    together.
    """

    what: str
    total: int
    left: int
    workers: int
    seconds: float
    bytes: float

    def to_dict(self) -> dict[str, Any]:
        counts = {self.what: self.total, "left": self.left, "workers": self.workers}
        return counts | {
            "forecast_seconds": self.seconds,
            "forecast_peak_mb": self.bytes / 1e6,
        }

    def frame(self) -> pandas.DataFrame:
        """One row."""
        import pandas

        return pandas.DataFrame([self.to_dict()])


def forecast_jobs(
    left: Sequence[Job],
    *,
    workers: int,
    memory: int,
    what: str = "cells",
    total: int | None = None,
) -> SweepForecast:
    """Time of these jobs on this machine, starting the workers included: three sizes of every
    family are estimated, the others lie between them; admission by memory decides how many run at
    once.
    """
    families: dict[tuple[Hashable, bool], list[Job]] = {}
    begun: set[Hashable] = set()
    for job in left:
        follows = job.together is not None and job.together in begun
        begun.add(job.together)
        families.setdefault((job.family, follows), []).append(job)
    starting = max((jobs[0].startup() for jobs in families.values()), default=0.0)
    seconds = sum(_family_seconds(jobs, follows) for (_, follows), jobs in families.items())
    needs = sorted((job.cost().bytes for job in left), reverse=True)[:workers]
    peak = needs[0] if needs and sum(needs) > memory else sum(needs)
    at_once = max(1, min(workers, len(left)))
    count = len(left) if total is None else total
    return SweepForecast(what, count, len(left), workers, starting + seconds / at_once, peak)


def _family_seconds(jobs: Sequence[Job], follows: bool) -> float:
    """Seconds of jobs of one family, all of which begin, or follow others of their groups."""
    count = Counter(job.cost().work for job in jobs)
    points = sorted({job.cost().work: job for job in jobs}.items())
    chosen = sorted({0, len(points) // 2, len(points) - 1})
    curve = [
        (math.log(work), math.log(max(job.estimate_next() if follows else job.estimate(), 1e-3)))
        for work, job in (points[number] for number in chosen)
    ]
    return sum(count[work] * math.exp(_between(curve, math.log(work))) for work, _ in points)


def _between(curve: list[tuple[float, float]], x: float) -> float:
    """Linear between the points, their ends' values outside.

    >>> _between([(0.0, 1.0), (2.0, 5.0)], 1.0)
    3.0
    """
    if x <= curve[0][0]:
        return curve[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(curve):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / max(x1 - x0, 1e-12)
    return curve[-1][1]
