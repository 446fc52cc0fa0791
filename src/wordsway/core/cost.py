"""The cost of a computation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What a search costs: bytes held at the peak (beyond the process itself), and floating-point
    operations.
    """

    bytes: float
    work: float
