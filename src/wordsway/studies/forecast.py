"""Time and memory of a request, before it is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordsway.core.checks import validated
from wordsway.core.result import Result
from wordsway.core.runtime import peak_bytes
from wordsway.studies.cells import jobs_of
from wordsway.studies.request import Request, trial_bytes, what_does_not_fit


@dataclass(frozen=True)
class Forecast(Result):
    """Seconds and peak bytes of a whole request; ``refused`` says why it would not be run."""

    request: Request
    seconds: float
    bytes: float
    refused: str | None = None

    def to_dict(self) -> dict[str, Any]:
        learning = self.request.learning
        train = {} if learning is None else {"train": learning.train}
        costs = {"forecast_seconds": self.seconds, "forecast_peak_mb": self.bytes / 1e6}
        asked = {"trials": self.request.trials, "data": self.request.data}
        return self.request.sizes | train | asked | costs | {"refused": self.refused}


@validated
def forecast(request: Request) -> Forecast:
    """Time and memory of all trials of a request on this machine; takes a few seconds."""
    base = peak_bytes()
    (job,) = jobs_of([(request, 0)])
    seconds = job.estimate() * request.trials
    return Forecast(request, seconds, base + trial_bytes(request), what_does_not_fit(request))
