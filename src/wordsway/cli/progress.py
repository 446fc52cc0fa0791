"""What commands say: progress on standard error (a live bar in a terminal, plain lines elsewhere), JSON on standard output."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wordsway.memory import duration, in_words

if TYPE_CHECKING:
    from wordsway.search import Progress

#: Nothing is shown before this many seconds, and plain lines come no more often than the second number.
QUIET, EVERY = 2.0, 10.0


class Reporter:
    """Progress over several trials, each with its own steps; knows the time left from the share done."""

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what = total, what
        self.started = self.last = time.monotonic()
        self.live = sys.stderr.isatty()
        self.shown = False

    def trial(self, index: int) -> Progress:
        if index == 0:  # what came before (fetching, embedding) tells nothing about the trials
            self.started = time.monotonic()

        def report(done: int, total: int, best: float) -> None:
            self._show(index, min(1.0, done / max(1, total)), best)

        return report

    def _show(self, index: int, share: float, best: float) -> None:
        now = time.monotonic()
        spent = now - self.started
        wait = 0.2 if self.live else EVERY
        if spent < QUIET or (self.shown and now - self.last < wait):
            return
        self.last, self.shown = now, True
        finished = (index + share) / self.total
        left = f", about {duration(spent * (1 - finished) / finished)} left" if finished > 0.02 else ""
        line = f"{self.what} {index + 1} of {self.total}: {100 * finished:.0f} %{left}, best S so far {best:.4g}"
        print(f"\r\x1b[2K{line}" if self.live else line, end="" if self.live else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self.live and self.shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


@contextmanager
def reporting(total: int, what: str) -> Iterator[Reporter]:
    reporter = Reporter(total, what)
    try:
        yield reporter
    finally:
        reporter.close()


def echo_json(document: object) -> None:
    """One JSON document on standard output; what cannot be spelled in UTF-8 is escaped."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, allow_nan=False)
    print(text)


@contextmanager
def fetching() -> Iterator[Callable[[str, int, int], None]]:
    """Progress of downloads: a bar in a terminal, plain lines elsewhere."""
    live, started, last = sys.stderr.isatty(), time.monotonic(), 0.0
    shown = False

    def show(what: str, done: int, total: int) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - started < QUIET / 4 or now - last < (0.2 if live else EVERY):
            return
        last, shown = now, True
        share = min(1.0, done / max(1, total))
        line = f"fetching {what}: {in_words(done)} of {in_words(total)}"
        if live:
            width = 28
            line = f"\r\x1b[2K{line} {'█' * round(width * share)}{'░' * (width - round(width * share))} {100 * share:.0f} %"
        print(line, end="" if live else "\n", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if live and shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
