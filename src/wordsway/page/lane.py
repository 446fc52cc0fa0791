"""The server's side of a lane: a process that is asked, answers in pieces, and can be left.

At most so many tasks wait; each has its time. A task that nobody waits for is cancelled, and the
process is ended if it does not stop in time; another one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing as mp
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from wordsway.page.settings import Limits

Event = dict[str, Any]


class Refused(Exception):
    """A task that ended with a reason instead of an answer."""

    def __init__(self, reason: Event) -> None:
        super().__init__(reason["message"])
        self.reason = reason


BUSY = {"message": "busy: too many questions are waiting; try again in a moment", "status": 503}
DIED = {
    "message": "the process that was computing ended (too little memory?): try again",
    "status": 503,
}
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
        threading.Thread(target=self._listen, args=(loop, ours), daemon=True).start()

    def _listen(self, loop: asyncio.AbstractEventLoop, pipe: Connection) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            with contextlib.suppress(EOFError, OSError):
                while True:
                    loop.call_soon_threadsafe(self._hear, *pipe.recv())
            loop.call_soon_threadsafe(self._ended, pipe)

    def _hear(self, number: int, kind: str, body: Event) -> None:
        self.heard = time.monotonic()
        if kind != "event":
            self.leaving.discard(number)
        if number in self.open:
            self.open[number].events.put_nowait((kind, body))

    def _ended(self, pipe: Connection) -> None:
        """The process is gone: start another one; whoever heard nothing yet is asked for again."""
        if self.closed or pipe is not self.pipe:
            return
        self._reap()
        self.pipe = None
        if self.lazy and not self.open:
            return
        self.launch()
        for number, task in self.open.items():
            if task.heard:
                task.events.put_nowait(("error", DIED))
            else:
                task.heard = True  # once more, and no third time
                self._send(("ask", number, task.name, task.ask))

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
        self.leaving.add(number)
        self.heard = time.monotonic()
        self._send(("cancel", number))
        self._insist(number)

    def _insist(self, number: int) -> None:
        """End a process that has not said a word for too long since it was told to stop."""
        if number not in self.leaving or self.closed:
            return
        left = self.heard + self.limits.grace - time.monotonic()
        if left > 0:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                asyncio.get_running_loop().call_later(left + 0.1, self._insist, number)
        elif self.pipe is not None:
            self.process.kill()
            self._ended(self.pipe)

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
