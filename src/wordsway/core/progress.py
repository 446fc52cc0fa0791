"""Progress of a piece of work.

A verb that may take more than two seconds accepts ``progress`` and calls it with the stage, the
amount done and the total. A command shows a line, a server sends an event, a test keeps a list.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called as ``progress(stage, done, total, note)``.

    ``total`` is 0 where it is not known; ``note`` reports an intermediate result ("best S 3.2").
    """

    def __call__(self, stage: str, done: float, total: float, note: str = "") -> None: ...


def silent(stage: str, done: float, total: float, note: str = "") -> None:
    """No-op."""


def part_of(progress: Progress, whole: str, index: int, count: int) -> Progress:
    """Progress of part ``index`` of ``count`` equal parts, reported as parts done of the ``whole``.

    >>> calls = []
    >>> second = part_of(lambda *call: calls.append(call), "trial", index=1, count=4)
    >>> second("searching", 5, 10, "best S 3.2")
    >>> calls
    [('trial', 1.5, 4, 'best S 3.2')]
    """
    return stretch_of(progress, index, index + 1, count, whole)


def stretch_of(
    progress: Progress, start: float, stop: float, total: float, name: str = ""
) -> Progress:
    """Progress of the work between ``start`` and ``stop`` of a whole of ``total``; its note and
    its stage (unless it has another ``name``) are passed on.

    >>> calls = []
    >>> second = stretch_of(lambda *call: calls.append(call), start=40, stop=60, total=100)
    >>> second("certifying", 1, 4)
    >>> calls
    [('certifying', 45.0, 100, '')]
    """
    if progress is silent:
        return silent
    whole = total

    def report(stage: str, done: float, total: float, note: str = "") -> None:
        share = min(1.0, done / total) if total else 0.0
        progress(name or stage, start + share * (stop - start), whole, note)

    return report
