"""A claim beside its measurement."""

from __future__ import annotations

from dataclasses import dataclass

HOLDS, FAILS, OPEN = "agrees", "disagrees", "not measured"
#: The interval of what was measured allows either answer.
UNDECIDED = "undecided"


@dataclass(frozen=True)
class Finding:
    """A claim, the series it was tested on, what was measured, and the verdict."""

    figure: str
    claim: str
    series: str
    measured: str
    verdict: str
