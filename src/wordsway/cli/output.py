"""Progress on standard error; results, JSON and files; failures of long runs."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from wordsway.core.escape import one_line
from wordsway.core.format import format_bytes, format_seconds
from wordsway.core.progress import Progress

if TYPE_CHECKING:
    from wordsway.core.result import Result
    from wordsway.engine.run import Tally

#: Seconds before anything is shown, between two plain lines, and between two updates in a terminal.
QUIET, EVERY, TICK = 2.0, 10.0, 0.25
WIDTH = 28


class ProgressLine:
    """The progress line of one command. A call only stores the progress; a thread prints it, so
    that the line is also updated during a long step.
    """

    def __init__(self, stage: str = "") -> None:
        self.live = sys.stderr.isatty()
        self.started = time.monotonic()
        self.stage, self.done, self.total, self.note = stage, 0.0, 0.0, ""
        self.since, self.base = self.started, 0.0
        self.shown: float | None = None

    def __call__(self, stage: str, done: float, total: float, note: str = "") -> None:
        # New work is timed from here. If the total is an estimate, progress may decrease slightly.
        if total != self.total or done < self.done / 2 or done < self.base:
            self.since, self.base = time.monotonic(), done
        self.stage, self.done, self.total, self.note = stage, done, total, note

    def text(self) -> str:
        """The line as plain text; control characters in names of files and models are escaped."""
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
        """ "about 3 s left", or "" if too little is done for an estimate."""
        gained = self.done - self.base
        if gained < 0.02 * (self.total - self.base) or gained <= 0:
            return ""
        spent = time.monotonic() - self.since
        left = max(0.0, spent * (self.total - self.done) / gained)
        return f"about {format_seconds(left)} left"

    def show(self) -> None:
        """Show the line if it is due."""
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
    """A `Progress` to pass to a verb; quick work shows nothing."""
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
    """Print one JSON document; characters that UTF-8 cannot encode are escaped."""
    from wordsway.core.result import json_text

    text = json_text(document)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json_text(document, ensure_ascii=True)
    print(text)


def print_result(result: Result, as_json: bool, **options: Any) -> None:
    """Print a result as text, or as JSON with the options of its ``to_dict``."""
    if as_json:
        echo_json(result.to_dict(**options))
    else:
        result.show()


def echo_usage(models: Sequence[Any]) -> None:
    """Print on standard error how many vectors of endpoints were sent and how many were stored."""
    for usage in (getattr(one, "usage", None) for one in models):
        if usage is not None:
            typer.echo(usage, err=True)


def command_line(fallback: Sequence[str]) -> str:
    """The command line of this process, or ``fallback`` if Python called the command."""
    ours = Path(sys.argv[0]).name.startswith(("wordsway", "__main__"))
    given = [word for word in sys.argv[1:] if word != "--retry-failed"] if ours else fallback
    return shlex.join(["wordsway", *given])


def finish(result: Any, as_json: bool, fallback: Sequence[str]) -> None:
    """Print the result of a long run; exit with 1 if jobs failed or are left."""
    print_result(result, as_json)
    if not as_json:
        report_failures(result.tally, fallback)
    if not result.tally.complete:
        raise typer.Exit(1)


def report_failures(tally: Tally, fallback: Sequence[str]) -> None:
    """Print failures and unfinished jobs on standard error, with the command that resumes."""
    reasons: dict[str, int] = {}
    for error in tally.failures.values():
        reasons[error] = reasons.get(error, 0) + 1
    for error, count in sorted(reasons.items(), key=lambda item: -item[1])[:5]:
        typer.echo(f"  {count} failed: {error}", err=True)
    if reasons:
        typer.echo(f"  run them again with: {command_line(fallback)} --retry-failed", err=True)
    if tally.interrupted:
        typer.echo(
            f"interrupted with {tally.left:,} {tally.what} left: run the same command again to "
            "resume",
            err=True,
        )
