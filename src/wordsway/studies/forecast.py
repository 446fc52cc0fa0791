"""What a request will cost, before it is run: time tried on small sizes, memory
computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.checks import validated
from wordsway.core.errors import InputError
from wordsway.core.result import Result
from wordsway.core.runtime import peak_bytes
from wordsway.studies.cost import trial_cost, what_does_not_fit
from wordsway.studies.request import Request
from wordsway.studies.speed import trial_seconds

if TYPE_CHECKING:
    import pandas


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

    def frame(self) -> pandas.DataFrame:
        """One row."""
        import pandas

        return pandas.DataFrame([self.to_dict()])


@validated
def forecast(request: Request) -> Forecast:
    """Time and memory of all trials of a request on this machine; takes about a second."""
    if not isinstance(request, Request):
        raise InputError(
            "a request", repr(request), 'pass ws.Request("raf", n=120, d=768), for example'
        )
    base = peak_bytes()
    seconds = trial_seconds(request, one_core=False)
    peak = base + trial_cost(request).bytes
    return Forecast(request, seconds * request.trials, peak, what_does_not_fit(request))
