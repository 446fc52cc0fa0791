"""A lane's process: tasks are generators, and are done step by step, the oldest task first.

New tasks whose first step is short come before it. While a step is long, others take turns inside
it, whenever it says how far it is: those new tasks at once, one step of the oldest other task now
and then. A task whose page is gone stops there.

Steps of all tasks in turn would be fair and useless: a worker that got an eighth of a processor
spent it on two dozen tasks at once, and none of them was done within its time.
"""

from __future__ import annotations

import contextlib
import faulthandler
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.escape import one_line
from wordsway.core.runtime import end_with_parent, hide_panics, release_memory
from wordsway.page.desk import Desk

Event = dict[str, Any]
Steps = Iterator[Event]
Tasks = Mapping[str, Callable[[dict[str, Any], Desk], Steps]]
#: Seconds between two messages about progress.
TICK = 0.1
#: Tasks whose first step is short: first colours wait for nobody.
QUICK = ("words",)
#: Seconds that a step has for itself before one of another task, and how deep steps may be nested.
TURN, DEPTH = 1.0, 3


class Cancelled(BaseException):
    """Nobody waits for this task any more. Not an `Exception`: no job takes it for its failure."""


@dataclass
class _Task:
    number: int
    steps: Steps
    quick: bool
    fresh: bool = True


class Worker:
    """Runs tasks for as long as the pipe is open."""

    def __init__(self, pipe: Connection, tasks: Tasks, desk: Desk) -> None:
        self.pipe, self.tasks, self.desk = pipe, tasks, desk
        self.inbox: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.waiting: deque[_Task] = deque()
        self.gone: set[int] = set()
        self.over = False
        self.depth = 0
        self.turned = 0.0

    def listen(self) -> None:
        """Take messages in while a step is running; a closed pipe is the end."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                message = self.pipe.recv()
                if message[0] == "cancel":
                    self.gone.add(message[1])
                self.inbox.put(message)
        self.inbox.put(("stop",))

    def run(self) -> None:
        threading.Thread(target=self.listen, daemon=True).start()
        while not self.over:
            self._take(wait=not self.waiting)
            if self.waiting:
                self.turned = time.monotonic()
                self._step(self.waiting.popleft())

    def _take(self, *, wait: bool) -> None:
        """New tasks with a short first step come first, then all others as they came."""
        new: list[_Task] = []
        with contextlib.suppress(queue.Empty):
            while True:
                message = self.inbox.get(block=wait and not new and not self.over)
                wait = False
                if message[0] == "stop":
                    self.over = True
                elif message[0] == "cancel":
                    self._drop(message[1])
                elif message[0] == "ask":
                    _, number, name, ask = message
                    new.append(_Task(number, self.tasks[name](ask, self.desk), name in QUICK))
        tasks = [*self.waiting, *new]
        self.waiting = deque(
            sorted(tasks, key=lambda task: (not (task.fresh and task.quick), task.number))
        )

    def _drop(self, number: int) -> None:
        """A task that was not begun, or is between two steps, ends at once."""
        left = [task for task in self.waiting if task.number == number]
        for task in left:
            self.waiting.remove(task)
            self._end(task)

    def _end(self, task: _Task) -> None:
        task.steps.close()  # type: ignore[attr-defined]
        self.gone.discard(task.number)
        self._send(task.number, "end", {})

    def _step(self, task: _Task) -> None:
        """One step of a task; what it says, or why it ends."""
        before = self.desk.progress
        self.desk.progress = self._progress(task)
        task.fresh = False
        try:
            self._check(task)
            event = next(task.steps)
        except StopIteration:
            self._send(task.number, "end", {})
        except Cancelled:
            self._end(task)
            release_memory()
        except Exception as error:
            self._send(task.number, "error", _reason(error))
        else:
            self._send(task.number, "event", event)
            self.waiting.append(task)
        finally:
            self.desk.progress = before

    def _check(self, task: _Task) -> None:
        if task.number in self.gone or self.over:
            raise Cancelled

    def _progress(self, task: _Task) -> Callable[..., None]:
        said = 0.0

        def progress(stage: str, done: float, total: float, note: str = "") -> None:
            nonlocal said
            self._check(task)
            now = time.monotonic()
            if now - said >= TICK:
                said = now
                event = {"kind": "progress", "stage": stage, "done": done, "total": total}
                self._send(task.number, "event", event | {"note": note})
            self._squeeze_in()

        return progress

    def _squeeze_in(self) -> None:
        """Steps of other tasks, while one is long."""
        if self.depth >= DEPTH or (self.inbox.empty() and not self.waiting):
            return
        self.depth += 1
        try:
            self._take(wait=False)
            with torch.enable_grad():
                while self.waiting and self.waiting[0].fresh and self.waiting[0].quick:
                    self._step(self.waiting.popleft())
                turn = self.depth == 1 and time.monotonic() - self.turned > TURN
                if turn and self.waiting:
                    self._step(self.waiting.popleft())
                    self.turned = time.monotonic()
        finally:
            self.depth -= 1

    def _send(self, number: int, kind: str, body: Event) -> None:
        try:
            self.pipe.send((number, kind, body))
        except OSError:
            self.over = True


def _reason(error: Exception) -> Event:
    """What went wrong, in plain words; 400 where the request is wrong, 500 where we are."""
    if isinstance(error, InputError):
        parts = {"expected": error.expected, "got": error.got, "remedy": error.remedy}
        plain = {name: one_line(part) for name, part in parts.items()}
        return plain | {"message": one_line(error), "status": 400}
    if isinstance(error, WordswayError | MemoryError):
        return {"message": one_line(first_line(error)), "status": 409}
    what = f"{type(error).__name__}: {first_line(error)}"
    return {"message": one_line(what), "status": 500}


def serve(pipe: Connection, tasks: Tasks, desk: dict[str, Any], threads: int | None) -> None:
    """The process of a lane; Ctrl-C is the server's business, and without it this ends, too."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    hide_panics()
    if threads is not None:
        torch.set_num_threads(threads)
    Worker(pipe, tasks, Desk(**desk)).run()
