"""Jobs: the units of work that runs execute and stores keep. A job is named by its content."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

#: Bytes of a process with torch, before it measures anything; and with a pretrained model's tools.
PROCESS = 300_000_000
PROCESS_WITH_MODEL = 550_000_000


class Job(ABC):
    """One unit of work; it runs anywhere, in any order, with the same outputs."""

    @property
    @abstractmethod
    def content(self) -> dict[str, Any]:
        """Everything that determines the outputs, as JSON; ``version`` is that of their meaning."""

    @abstractmethod
    def run(self) -> dict[str, Any]:
        """The outputs, as JSON."""

    @abstractmethod
    def peak_bytes(self) -> float:
        """Bytes that a worker needs at most, its process included; nothing is loaded."""

    @property
    @abstractmethod
    def size(self) -> float:
        """A number with which the time of jobs of one family grows. Computed, as `peak_bytes`."""

    @property
    @abstractmethod
    def family(self) -> Hashable:
        """Jobs of one family differ in their size alone, as far as their time is concerned."""

    @abstractmethod
    def estimate(self) -> float:
        """Seconds on one core of this machine: the job, or a smaller one, is run and timed."""

    def startup(self) -> float:
        """Seconds on one core that a worker takes before its first job of this family."""
        return 0.0

    @property
    def holds(self) -> str:
        """What a worker keeps for the next job, such as a model; such jobs run in a row."""
        return ""

    @property
    def source(self) -> str | None:
        """The name of data outside the content, whose bytes must agree between machines."""
        return None

    def fingerprint(self) -> dict[str, str]:
        """Hashes of the source's data on this machine."""
        return {}

    def hashes_in(self, outputs: Mapping[str, Any]) -> dict[str, str]:
        """The same hashes, as finished outputs recorded them."""
        return {}

    def source_is_here(self) -> bool:
        """Whether `fingerprint` finds the source on this machine without fetching it."""
        return False

    @cached_property
    def key(self) -> str:
        """The job's name: SHA-256 of its content."""
        return key_of(self.content)


def canonical(content: Mapping[str, Any]) -> str:
    """The one spelling of a content."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def key_of(content: Mapping[str, Any]) -> str:
    """The name of a job with this content.

    >>> key_of({"b": 1, "a": 2}) == key_of({"a": 2, "b": 1})
    True
    """
    return hashlib.sha256(canonical(content).encode()).hexdigest()
