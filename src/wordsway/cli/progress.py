"""What commands say: progress on standard error (a live bar in a terminal, plain lines elsewhere),
JSON on standard output.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wordsway.format import format_bytes, format_seconds

if TYPE_CHECKING:
    from wordsway.progress import Progress

#: Nothing is shown before this many seconds, and plain lines come no more often than the second
#: number.
QUIET, EVERY = 2.0, 10.0


class Line:
    """One line on standard error: redrawn in a terminal, a plain one now and then elsewhere, none
    in the first moments.
    """

    def __init__(self, quiet: float = QUIET) -> None:
        self.live, self.quiet = sys.stderr.isatty(), quiet
        self.started, self.last = time.monotonic(), 0.0
        self.shown = False

    @property
    def spent(self) -> float:
        return time.monotonic() - self.started

    def restart(self) -> None:
        """Time the work from now on."""
        self.started = time.monotonic()

    def show(self, text: Callable[[], str]) -> None:
        """Show what ``text`` says, if it is time for it."""
        now = time.monotonic()
        if now - self.started < self.quiet or (
            self.shown and now - self.last < (0.2 if self.live else EVERY)
        ):
            return
        self.last, self.shown = now, True
        print(
            f"\r\x1b[2K{text()}" if self.live else text(),
            end="" if self.live else "\n",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        if self.live and self.shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def time_left(spent: float, share: float) -> str:
    """ ", about 3 s left", once enough is done to tell."""
    return f", about {format_seconds(spent * (1 - share) / share)} left" if share > 0.02 else ""


class Reporter:
    """Progress over several trials, each with its own steps; knows the time left from the share
    done.
    """

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what, self.line = total, what, Line()

    def trial(self, index: int) -> Progress:
        if index == 0:  # what came before (fetching, embedding) tells nothing about the trials
            self.line.restart()

        def report(stage: str, done: float, total: float, note: str = "") -> None:
            share = min(1.0, done / total) if total else 0.0
            self.show(index, share, f", {note} so far" if note else "")

        return report

    def show(self, index: int, share: float, more: str = "") -> None:
        """Trial number ``index`` is done up to ``share``."""
        finished = (index + share) / self.total
        left = time_left(self.line.spent, finished)
        self.line.show(
            lambda: f"{self.what} {index + 1} of {self.total}: {100 * finished:.0f} %{left}{more}"
        )

    def close(self) -> None:
        self.line.close()


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
    line, width = Line(QUIET / 4), 28

    def show(what: str, done: int, total: int) -> None:
        share = min(1.0, done / max(1, total))
        bar = (
            f" {'█' * round(width * share)}{'░' * (width - round(width * share))} {100 * share:.0f} %"
            if line.live
            else ""
        )
        line.show(lambda: f"fetching {what}: {format_bytes(done)} of {format_bytes(total)}{bar}")

    try:
        yield show
    finally:
        line.close()
