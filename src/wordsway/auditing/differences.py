"""Differences of the scores of two models on the same texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordsway.auditing.scores import Measured, intervals, text_shares
from wordsway.core.format import count, rounded


def shares_of(measured: Sequence[Measured], score: str) -> dict[tuple[str, str], float]:
    """The number of every text whose mean is a score: a_t of LEVEL or LEVEL.KIND, or for
    "flips.KIND" the share of edits of that kind that change the label.
    """
    name, _, kind = score.partition(".")
    if name != "flips":
        return {key: one[0] for key, one in text_shares(measured, name, kind or None).items()}
    found = {}
    for text in measured:
        both = zip(text.edits, text.changes, strict=True)
        flips = [one.flips for edit, one in both if edit.kind == kind and one.flips is not None]
        if flips:
            found[text.id, text.text] = sum(flips) / len(flips)
    return found


@dataclass(frozen=True)
class Difference:
    """A score of one model minus that of another on the same texts, with its 95 % interval;
    ``identical`` if every text has the same score in both. ``score`` names it: LEVEL or flips.KIND,
    where ``should`` is that of the `FlipScore`.
    """

    first: str
    second: str
    texts: int
    difference: float
    low: float
    high: float
    identical: bool = False
    score: str = "rewording"
    should: str = ""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        both = f"{self.score}: {self.first} and {self.second}"
        if self.identical:
            return f"{both} have the same score on every text ({count(self.texts, 'text')})."
        more, other = (self.first, self.second)[:: 1 if self.low > 0 else -1]
        low, size, high = sorted(map(abs, (self.low, self.difference, self.high)))
        if self.score.startswith("flips.") and self.certain:
            where = {"flip": " where expected", "stay": " where not expected"}.get(self.should, "")
            return (
                f"{self.score}: {more} changes more labels than {other}{where}: by {rounded(size)} "
                f"({rounded(low)} to {rounded(high)}) on {count(self.texts, 'text')}."
            )
        if self.certain:
            ahead = (
                f"{more} is ahead of {other} by {rounded(size)} ({rounded(low)} to {rounded(high)})"
            )
            return f"{self.score}: {ahead} on {count(self.texts, 'text')}."
        ends = f"{self.difference:+.2f} ({self.low:+.2f} to {self.high:+.2f})"
        return f"{both} cannot be told apart: {ends} on {count(self.texts, 'text')}."


def difference(
    first: tuple[str, Sequence[Measured]], second: tuple[str, Sequence[Measured]], score: str
) -> Difference | None:
    """Return the paired difference of two models in a score; None if they have no common text.

    The differences a_t − b_t ∈ [−1, 1] are mapped to [0, 1], where `intervals` applies.
    """
    one, two = (shares_of(measured, score) for _, measured in (first, second))
    both = [key for key in one if key in two]
    if not both:
        return None
    moved = np.array([[(one[key] - two[key] + 1) / 2] for key in both])
    (found,) = intervals(moved)
    middle, low, high = (2 * value - 1 for value in found)
    same = bool((moved == 0.5).all())
    return Difference(first[0], second[0], len(both), middle, low, high, same, score)
