"""A claim, what was measured, and the rule by which one follows from the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wordsway.studies.slopes import Interval

HOLDS, FAILS, OPEN = "agrees", "disagrees", "not measured"
#: The interval of what was measured allows either answer.
UNDECIDED = "undecided"
#: Who claims it: the paper, or wordsway, whose checks and studies have a table of their own.
PAPER, OWN = "paper", "wordsway"


@dataclass(frozen=True)
class Finding:
    """A claim, the series it was tested on, what was measured, the verdict, and its ``rule``: when
    the claim agrees, with the margin; ``source`` is who claims it.
    """

    figure: str
    claim: str
    series: str
    measured: str
    verdict: str
    rule: str = ""
    source: str = PAPER


def decide(found: Interval | None, least: float = -math.inf, most: float = math.inf) -> str:
    """The verdict on "the true value is between least and most": agrees where the whole interval
    is, disagrees where none of it is. Either is wrong with the interval's error rate at most.

    >>> [decide(Interval(0.5, 0.4, 0.6, 9), most=most) for most in (0.7, 0.5, 0.3)]
    ['agrees', 'undecided', 'disagrees']
    """
    if found is None:
        return OPEN
    if least < found.low and found.high < most:
        return HOLDS
    return FAILS if found.high < least or most < found.low else UNDECIDED


def check(holds: bool) -> str:
    """The verdict on what can be counted."""
    return HOLDS if holds else FAILS
