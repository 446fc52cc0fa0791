"""A piece of work in a thread beside the others.

Torch lets go of the interpreter while it computes: two pieces of small work, each on one core, take
as long as the longer one. They share a model, whose hooks are deaf to other threads
(`models.layers`); nothing else that either of them changes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from wordsway.progress import Progress

T = TypeVar("T")
#: Seconds that an interrupted piece of work gets to notice it.
PATIENCE = 1.0


class _Interrupted(Exception):
    """Nobody waits for this work any more."""


class Aside(Generic[T]):
    """``with Aside(work, apart, progress) as later``: `later.result()` is ``work(progress)``,
    begun at once in a thread of its own where ``apart``, and only there and then where not.

    What goes wrong in the work is raised where its result is asked for. Its progress is told from
    then on, for until then the line belongs to others; leaving the block ends the work.

    >>> from wordsway.progress import silent
    >>> with Aside(lambda progress: 6 * 7, True, silent) as later:
    ...     later.result()
    42
    """

    def __init__(self, work: Callable[[Progress], T], apart: bool, progress: Progress) -> None:
        self._work, self._progress = work, progress
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._over, self._waiting = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        if apart:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def result(self) -> T:
        """What the work gives, once it is done."""
        if self._thread is None:
            return self._work(self._progress)
        self._waiting.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._found[0]

    def __enter__(self) -> Aside[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(PATIENCE)

    def _run(self) -> None:
        try:
            self._found.append(self._work(self._told))
        except BaseException as error:  # whatever it is, it belongs to who asks for the result
            self._error = error

    def _told(self, stage: str, done: float, total: float, note: str = "") -> None:
        if self._over.is_set():
            raise _Interrupted
        if self._waiting.is_set():
            self._progress(stage, done, total, note)
