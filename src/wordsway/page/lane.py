"""The server's side of a lane: a process that is asked, answers in pieces, and can be left.

At most so many tasks wait; each has its time. A task that nobody waits for is cancelled. A process
that goes on after a cancellation and sends nothing for ``Limits.grace`` seconds of its own
processor time, or ``Limits.hang`` seconds by the clock, is replaced, and the other tasks start
again in the new one. Of a process that ends by itself the exit code or signal is reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import multiprocessing as mp
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import psutil

from wordsway.core.errors import exit_reason
from wordsway.page.settings import Limits

log = logging.getLogger("wordsway")
Event = dict[str, Any]
#: Seconds that a process gets to end after it closed its pipe, so that its exit code is known.
ENDING = 5.0
#: Seconds between two looks at a process that has to stop a task.
LOOK = 5.0


class Refused(Exception):
    """A task that ended with a reason instead of an answer."""

    def __init__(self, reason: Event) -> None:
        super().__init__(reason["message"])
        self.reason = reason


BUSY = {"message": "busy: too many questions are waiting; try again in a moment", "status": 503}
#: ``gone``: the page waits until the server is back, and asks again.
STOPPED = {
    "message": "the server was stopped; once it is back, this is asked again by itself",
    "status": 503,
    "gone": True,
}


@dataclass
class _Open:
    """A task that is waited for; ``heard``: something of it was passed on."""

    name: str
    ask: Mapping[str, Any]
    events: asyncio.Queue[tuple[str, Event]] = field(default_factory=asyncio.Queue)
    heard: bool = False


class Lane:
    """One process and those who wait for it. ``start`` runs in the process, with its pipe; a
    ``lazy`` lane has none before it is asked.
    """

    def __init__(
        self,
        start: Callable[..., None],
        arguments: tuple[Any, ...],
        limits: Limits,
        *,
        lazy: bool = False,
    ) -> None:
        self.lazy = lazy
        self.start, self.arguments, self.limits = start, arguments, limits
        self.numbers = itertools.count(1)
        self.open: dict[int, _Open] = {}
        self.leaving: set[int] = set()
        self.heard = 0.0
        #: Processor time at the first look since something was heard.
        self.spent: float | None = None
        self.looking: asyncio.TimerHandle | None = None
        self.closed = False
        self.process: Any = None
        self.pipe: Connection | None = None

    def launch(self) -> None:
        """Start the process; called inside the server's event loop."""
        loop = asyncio.get_running_loop()
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        self.process = context.Process(target=self.start, args=(theirs, *self.arguments))
        self.process.start()
        theirs.close()
        self.pipe = ours
        listening = threading.Thread(
            target=self._listen, args=(loop, ours, self.process), daemon=True
        )
        listening.start()

    def _listen(self, loop: asyncio.AbstractEventLoop, pipe: Connection, process: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            with contextlib.suppress(EOFError, OSError):
                while True:
                    loop.call_soon_threadsafe(self._hear, *pipe.recv())
            process.join(ENDING)
            loop.call_soon_threadsafe(self._ended, pipe)

    def _hear(self, number: int, kind: str, body: Event) -> None:
        self.heard, self.spent = time.monotonic(), None
        if kind != "event":
            self.leaving.discard(number)
        if number in self.open:
            self.open[number].events.put_nowait((kind, body))

    def _ended(self, pipe: Connection) -> None:
        """The process ended by itself: start another one. Tasks of which nothing was passed on are
        sent again, once; the others end with the exit code or signal.
        """
        if self.closed or pipe is not self.pipe:
            return
        how = exit_reason(self.process.exitcode)
        self._replace(f"ended ({how})")
        died = {"message": f"the process that was computing ended ({how}): try again"}
        for number, task in self.open.items():
            if task.heard:
                task.events.put_nowait(("error", died | {"status": 503}))
            else:
                task.heard = True  # once more, and no third time
                self._send(("ask", number, task.name, task.ask))

    def _replace(self, why: str) -> None:
        """End the process, if it has not ended, and start another one where it is needed."""
        log.warning("page worker %s, pid %s, %s", self.arguments[0], self.process.pid, why)
        self._reap()
        self.pipe = None
        if self.open or not self.lazy:
            self.launch()

    def _reap(self) -> None:
        self.leaving.clear()
        if self.pipe is not None:
            self.pipe.close()
        if self.process is not None:
            self.process.kill()
            self.process.join()

    def _send(self, message: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):  # `_ended` sees it
            if self.pipe is not None:
                self.pipe.send(message)

    async def ask(self, name: str, ask: Mapping[str, Any]) -> AsyncIterator[Event]:
        """What the task says, piece by piece; leaving the loop cancels it."""
        if self.closed or len(self.open) + len(self.leaving) >= self.limits.queue:
            raise Refused(BUSY)
        if self.pipe is None:
            self.launch()
        number, task = next(self.numbers), _Open(name, dict(ask))
        self.open[number] = task
        self._send(("ask", number, name, task.ask))
        ended = False
        try:
            until = time.monotonic() + self.limits.seconds
            while True:
                try:
                    async with asyncio.timeout(until - time.monotonic()):
                        kind, body = await task.events.get()
                except TimeoutError:
                    raise Refused(_late(self.limits.seconds)) from None
                ended = kind != "event"
                if kind == "error":
                    raise Refused(body)
                if ended:
                    return
                task.heard = True
                yield body
        finally:
            del self.open[number]
            if not ended:
                self._leave(number)

    def _leave(self, number: int) -> None:
        """Nobody waits for the task any more: let it stop, or end the process."""
        if not self.leaving:
            self.heard, self.spent = time.monotonic(), None
        self.leaving.add(number)
        self._send(("cancel", number))
        if self.looking is None:
            self._look()

    def _look(self) -> None:
        """Replace a process that does not stop what was cancelled. What others ask starts again:
        the parts of an answer may be sent twice.

        Seconds by the clock say little on a busy machine: a worker that waited for a processor for
        20 s was taken for one that does not stop.
        """
        self.looking = None
        if not self.leaving or self.closed or self.pipe is None:
            return
        silent, used = time.monotonic() - self.heard, self._processor_time()
        if self.spent is None:
            self.spent = used
        if silent > self.limits.hang or used - self.spent > self.limits.grace:
            used -= self.spent
            self._replace(
                f"sent nothing for {silent:.0f} s ({used:.0f} s of processor time) after a "
                "cancellation: replaced"
            )
            for number, task in self.open.items():
                self._send(("ask", number, task.name, task.ask))
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop = asyncio.get_running_loop()
            self.looking = loop.call_later(min(LOOK, self.limits.grace), self._look)

    def _processor_time(self) -> float:
        """Seconds of processor time that the process has used; no more once it has ended."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.Error:
            return self.spent or 0.0
        return times.user + times.system

    def close(self) -> None:
        """End the process and everything that waits; a second time changes nothing."""
        if self.closed:
            return
        self.closed = True
        for task in self.open.values():
            task.events.put_nowait(("error", STOPPED))
        self._reap()


def _late(seconds: float) -> Event:
    return {
        "message": f"this took longer than {seconds:g} seconds: ask about a shorter text, "
        "or use the command line",
        "status": 503,
    }
