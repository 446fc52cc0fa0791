"""The server's side of a worker: a process that answers one request at a time, oldest first.

The number of waiting requests is limited, and so is the time of each. A request whose client has
gone is cancelled, and the next one starts once the process has stopped working on it. A process
that sends nothing after a cancellation for ``Limits.grace`` seconds of its own processor time, or
for ``Limits.hang`` seconds of wall-clock time, is replaced. On a busy machine a process may wait
long for a processor, so the wall clock alone says little.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing as mp
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

import psutil

from wordsway.core.errors import exit_reason
from wordsway.page.settings import Limits, Settings

log = logging.getLogger("wordsway")
Event = dict[str, Any]
#: Seconds that a process gets to end after it closed its pipe, so that its exit code is known.
ENDING = 5.0
#: Seconds between two checks of a process that has to stop a task.
LOOK = 5.0
#: The time limit of an audit; finished texts are stored.
AUDIT_SECONDS = 3600.0


class Refused(Exception):
    """A request that ended with a reason instead of an answer."""

    def __init__(self, reason: Event) -> None:
        super().__init__(reason["message"])
        self.reason = reason


BUSY = {"message": "busy: too many requests are waiting; try again in a moment", "status": 503}
#: ``gone``: the page waits until the server is back, and repeats the request.
STOPPED = {"message": "The server was stopped. Retrying…", "status": 503, "gone": True}


class WorkerProcess:
    """One process and its queue. ``start`` runs in the process with a pipe and ``arguments``; a
    ``lazy`` worker has no process before its first request.
    """

    def __init__(
        self,
        name: str,
        start: Callable[..., None],
        arguments: tuple[Any, ...],
        limits: Limits,
        *,
        lazy: bool = False,
    ) -> None:
        self.name, self.start, self.arguments = name, start, arguments
        self.limits, self.lazy = limits, lazy
        self.requests = 0
        #: Held by the request that the process works on; others acquire it in their order.
        self.turn = asyncio.Lock()
        #: Messages of the current process; "gone" is the last one.
        self.messages: asyncio.Queue[tuple[str, Event]] = asyncio.Queue()
        self.stopping: set[asyncio.Task[None]] = set()
        self.closed = False
        self.process: Any = None
        self.pipe: Connection | None = None

    def launch(self) -> None:
        """Start the process; called inside the server's event loop."""
        loop, messages = asyncio.get_running_loop(), asyncio.Queue[tuple[str, Event]]()
        context = mp.get_context("spawn")
        pipe, theirs = context.Pipe()
        process = context.Process(target=self.start, args=(theirs, *self.arguments))
        process.start()
        theirs.close()
        self.process, self.pipe, self.messages = process, pipe, messages

        def receive() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                with contextlib.suppress(EOFError, OSError):
                    while True:
                        loop.call_soon_threadsafe(messages.put_nowait, pipe.recv())
                process.join(ENDING)
                loop.call_soon_threadsafe(messages.put_nowait, ("gone", {}))

        threading.Thread(target=receive, daemon=True).start()

    async def ask(self, name: str, request: Mapping[str, Any]) -> AsyncIterator[Event]:
        """The events of a task; leaving the loop cancels it."""
        if self.closed or self.requests >= self.limits.queue:
            raise Refused(BUSY)
        until = time.monotonic() + self.limits.seconds
        self.requests += 1
        try:
            await self._within(until, self.turn.acquire())
            running = False
            try:
                for attempt in (1, 2):
                    if self.closed:
                        raise Refused(STOPPED)
                    if self.pipe is None:
                        self.launch()
                    self._send("ask", name, dict(request))
                    running = True
                    kind, body = await self._within(until, self.messages.get())
                    if kind != "gone" or attempt == 2:
                        break
                    running = False
                    self._end(f"ended ({exit_reason(self.process.exitcode)})")  # try again
                while kind == "event":
                    yield body
                    kind, body = await self._within(until, self.messages.get())
                running = False
                if kind == "gone":
                    how = exit_reason(self.process.exitcode)
                    self._end(f"ended ({how})")
                    message = f"the worker process ended ({how}): try again"
                    raise Refused({"message": message, "status": 503})
                if kind == "error":
                    raise Refused(body)
            finally:
                if running:
                    self._send("cancel")
                    task = asyncio.get_running_loop().create_task(self._stop())
                    self.stopping.add(task)
                    task.add_done_callback(self.stopping.discard)
                else:
                    self.turn.release()
        finally:
            self.requests -= 1

    async def _within(self, until: float, step: Any) -> Any:
        try:
            async with asyncio.timeout(until - time.monotonic()):
                return await step
        except TimeoutError:
            message = (
                f"this took longer than {self.limits.seconds:g} seconds: use a shorter text, or "
                "the command line"
            )
            raise Refused({"message": message, "status": 503}) from None

    async def _stop(self) -> None:
        """Wait until the task has stopped, or replace the process; then free the turn."""
        last_message, spent = time.monotonic(), None
        kind = "event"
        while kind == "event":
            try:
                async with asyncio.timeout(min(LOOK, self.limits.grace)):
                    kind, _ = await self.messages.get()
                last_message, spent = time.monotonic(), None
            except TimeoutError:
                silent, used = time.monotonic() - last_message, self._processor_time()
                spent = used if spent is None else spent
                if silent > self.limits.hang or used - spent > self.limits.grace:
                    self._end(
                        f"sent nothing for {silent:.0f} s ({used - spent:.0f} s of processor time) "
                        "after a cancellation: replaced"
                    )
                    break
        if kind == "gone":
            self._end(f"ended ({exit_reason(self.process.exitcode)})")
        self.turn.release()

    def _processor_time(self) -> float:
        """Seconds of processor time of the process; 0 if it has ended."""
        try:
            times = psutil.Process(self.process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def _send(self, *message: Any) -> None:
        assert self.pipe is not None
        with contextlib.suppress(OSError):  # "gone" follows
            self.pipe.send(message)

    def _end(self, why: str) -> None:
        """End the process; the next request starts another one."""
        log.warning("page worker %s, pid %s, %s", self.name, self.process.pid, why)
        self._kill()
        self.pipe = None

    def _kill(self) -> None:
        if self.pipe is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()

    def close(self) -> None:
        """End the process and refuse everything that waits; a second call does nothing."""
        if not self.closed:
            self.closed = True
            self.messages.put_nowait(("error", STOPPED))
            self._kill()


def start_worker(pipe: Connection, state: dict[str, Any], threads: int | None) -> None:
    """Run a worker process; torch and the models are loaded here, not by the server."""
    import_module(f"{__package__}.worker").serve(pipe, state, threads)


def workers_of(settings: Settings) -> dict[str, WorkerProcess]:
    """The workers of a server: pretrained models, random maps and stored audits, new audits."""
    state: dict[str, Any] = {
        "models": settings.models,
        "most_models": settings.limits.models,
        "store": settings.store,
        "audits": settings.audits,
    }
    limits = settings.limits
    patient = replace(limits, seconds=AUDIT_SECONDS, queue=2)
    return {
        "models": WorkerProcess("models", start_worker, (state, None), limits),
        "maps": WorkerProcess("maps", start_worker, (state, 1), limits),
        "audits": WorkerProcess("audits", start_worker, (state, 1), patient, lazy=True),
    }
