"""Blind spots: meaning-changing edits that move a model less than a meaning-preserving one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from wordsway.auditing.scores import Measured

T = TypeVar("T")


@dataclass(frozen=True)
class BlindSpot:
    """A meaning-changing edit that moves the model less than a meaning-preserving one."""

    kind: str
    text: str
    edited: str
    start: int
    before: str
    after: str
    change: float
    percentile: float | None
    keeping: str
    keeping_text: str
    keeping_before: str
    keeping_after: str
    keeping_change: float

    @property
    def ratio(self) -> float:
        """How many times further the meaning-preserving edit moves the model."""
        return self.keeping_change / max(self.change, 1e-12)


def closer_changes(measured: Sequence[Measured]) -> tuple[int, int, int]:
    """The number of meaning-changing edits that move the model less than a meaning-preserving edit
    of the same text, of those that have one to compare with, and of the `distinct` former ones.
    """
    closer = [
        any(other.value > change.value for _, other in kept)
        for text in measured
        if (kept := text.with_role("keeping"))
        for _, change in text.with_role("turning")
    ]
    return sum(closer), len(closer), len(blind_spots(measured, None))


def blind_spots(measured: Sequence[Measured], count: int | None = 10) -> tuple[BlindSpot, ...]:
    """Return the meaning-changing edits that move the model least, each with a meaning-preserving
    edit of the same text that moves it more: the one with the largest overlap.
    """
    found = []
    for text in measured:
        for edit, change in text.with_role("turning"):
            further = [pair for pair in text.with_role("keeping") if pair[1].value > change.value]
            if further:
                other, most = max(further, key=lambda pair: (pair[0].overlap, pair[1].value))
                about = (edit.kind, edit.text, edit.edited, edit.start, edit.before, edit.after)
                beside = (other.kind, other.edited, other.before, other.after, most.value)
                found.append(BlindSpot(*about, change.value, change.percentile, *beside))
    found.sort(key=lambda spot: (-spot.ratio, spot.text))
    return tuple(distinct(found, lambda spot: spot, count))


def distinct(found: Iterable[T], edit_of: Callable[[T], Any], count: int | None) -> list[T]:
    """Return the first ``count`` items; no text and no pair of words occurs twice."""
    chosen: list[T] = []
    seen: set[object] = set()
    for item in found:
        edit = edit_of(item)
        words = (edit.before.lower(), edit.after.lower())
        if edit.text not in seen and words not in seen:
            chosen.append(item)
            seen |= {edit.text, words}
    return chosen[:count]
