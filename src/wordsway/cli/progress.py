"""What commands say while they work: one line on standard error (redrawn in a terminal, a plain one
now and then elsewhere), speaking `wordsway.core.progress`; and JSON on standard output.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from wordsway.core.escape import one_line
from wordsway.core.format import format_bytes, format_seconds
from wordsway.core.progress import Progress

#: Nothing is shown before this many seconds, and plain lines come no more often than the second
#: number; how often the line is renewed, in a terminal.
QUIET, EVERY, TICK = 2.0, 10.0, 0.25
WIDTH = 28


class ProgressLine:
    """The line of one command. Calls only note how far the work is; a thread shows it, so that it
    lives on while a single step (loading a model) takes long.
    """

    def __init__(self, stage: str = "") -> None:
        self.live = sys.stderr.isatty()
        self.started = time.monotonic()
        self.stage, self.done, self.total, self.note = stage, 0.0, 0.0, ""
        self.since, self.base = self.started, 0.0
        self.shown: float | None = None

    def __call__(self, stage: str, done: float, total: float, note: str = "") -> None:
        # Another piece of work is timed from here; one whose size is estimated may fall back a bit.
        if total != self.total or done < self.done / 2 or done < self.base:
            self.since, self.base = time.monotonic(), done
        self.stage, self.done, self.total, self.note = stage, done, total, note

    def text(self) -> str:
        """What the line says now: names of files and models are somebody else's."""
        if not self.total:
            parts = [f"{self.stage} ({format_seconds(time.monotonic() - self.started)})"]
        elif self.stage.startswith("fetching"):
            share = min(1.0, self.done / self.total)
            full = round(WIDTH * share)
            bar = f" {'█' * full}{'░' * (WIDTH - full)} {100 * share:.0f} %" if self.live else ""
            sizes = f"{format_bytes(self.done)} of {format_bytes(self.total)}"
            parts = [f"{self.stage}: {sizes}{bar}"]
        else:
            parts = [f"{self.stage}: {100 * min(1.0, self.done / self.total):.0f} %"]
            parts += [self._left()] if self._left() else []
        return one_line(", ".join([*parts, *([self.note] if self.note else [])]))

    def _left(self) -> str:
        """ "about 3 s left", once enough is done to tell."""
        gained = self.done - self.base
        if gained < 0.02 * (self.total - self.base) or gained <= 0:
            return ""
        spent = time.monotonic() - self.since
        left = max(0.0, spent * (self.total - self.done) / gained)
        return f"about {format_seconds(left)} left"

    def show(self) -> None:
        """Show the line, if it is time for it."""
        now = time.monotonic()
        wait = TICK if self.live else EVERY
        early = now - self.started < QUIET if self.shown is None else now - self.shown < wait
        if early or not self.stage:
            return
        self.shown = now
        if self.live:
            print(f"\r\x1b[2K{self.text()}", end="", file=sys.stderr, flush=True)
        else:
            print(self.text(), file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.live and self.shown is not None:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


@contextmanager
def progress_line(stage: str = "") -> Iterator[Progress]:
    """A `Progress` to hand to a verb; nothing is shown for quick work."""
    line = ProgressLine(stage)
    over = threading.Event()

    def renew() -> None:
        while not over.wait(TICK):
            line.show()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield line
    finally:
        over.set()
        thread.join()
        line.clear()


def echo_json(document: object) -> None:
    """One JSON document on standard output; what cannot be spelled in UTF-8 is escaped."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, allow_nan=False)
    print(text)
