"""One line on standard error that tells what a command is waiting for, also while a single step
takes long.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from wordsway.cli.progress import Line, time_left
from wordsway.format import format_bytes, format_seconds

#: Seconds between two looks at whether the line should be shown again.
TICK = 0.25


@contextmanager
def waiting(first: str = "starting") -> Iterator[Callable[[str, int, int], None]]:
    """A function to call with what is being done, how much is done, and of how much (0: not known).

    Loading a model is one call that says nothing for seconds: a second thread keeps the line alive.
    Nothing is shown for quick work.
    """
    line, done = Line(), threading.Event()
    now, since = [first], {first: line.started}

    def say(what: str, finished: int, total: int) -> None:
        if not total:
            text = what
        elif what.startswith("fetching"):
            text = f"{what}: {format_bytes(finished)} of {format_bytes(total)}"
        else:
            text = f"{what} {finished} of {total}{time_left(time.monotonic() - since.setdefault(what, time.monotonic()), finished / total)}"
        now[0] = text

    def tick() -> None:
        while not done.wait(TICK):
            line.show(lambda: f"{now[0]} ({format_seconds(line.spent)})")

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        done.set()
        thread.join()
        line.close()
