"""A worker process of the page: it answers one request at a time, as a stream of events.

Every place on the page is a module of this package with a table ``TASKS``: names of tasks and the
generators that answer them. A task is cancelled between two events, or where it reports progress.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import queue
import signal
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from wordsway.core.errors import InputError, WordswayError, first_line
from wordsway.core.escape import one_line
from wordsway.core.progress import Progress, silent
from wordsway.core.result import Result
from wordsway.core.runtime import end_with_parent, hide_panics, release_memory
from wordsway.data.catalogue import CATALOGUE
from wordsway.models.probe import Probe
from wordsway.page.requests import PLACES
from wordsway.render.files import save

Value = TypeVar("Value")
Event = dict[str, Any]
Task = Callable[[dict[str, Any], "WorkerState"], Iterator[Event]]
#: Answers that are kept for a repeated request.
ANSWERS = 64
#: Seconds between two progress events.
TICK = 0.1


class Cancelled(BaseException):
    """The client has gone. Not an `Exception`, so that no job records it as its failure."""


class Recent(Generic[Value]):
    """The most recently used values, at most ``most`` of them.

    >>> kept = Recent[int](2)
    >>> [kept.get(name, lambda: len(name)) for name in ("a", "bb", "a", "ccc")], list(kept.values)
    ([1, 2, 1, 3], ['a', 'ccc'])
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.values: OrderedDict[str, Value] = OrderedDict()

    def get(self, name: str, make: Callable[[], Value]) -> Value:
        """The value of this name; a missing one is made after the oldest ones are dropped."""
        if name not in self.values:
            while len(self.values) >= self.most:
                self.values.popitem(last=False)
            self.values[name] = make()
        self.values.move_to_end(name)
        return self.values[name]

    def keep(self, name: str, value: Value) -> None:
        self.values.pop(name, None)
        self.get(name, lambda: value)


class WorkerState:
    """What the tasks of one worker share: models (those ``models`` and the catalogue's), recent
    answers, folders, progress.
    """

    def __init__(
        self,
        models: tuple[str, ...] = (),
        most_models: int = 3,
        store: Path = Path("out/page"),
        audits: Path = Path("out"),
    ) -> None:
        self.allowed = models
        self.store, self.audits = store, audits
        self.progress: Progress = silent
        self.probes = Recent[Probe](most_models)
        self.eager = Recent[Probe](most_models)
        self.answers = Recent[Any](ANSWERS)

    def probe(self, name: str, *, eager: bool = False) -> Probe:
        """The model of this name, loaded once; ``eager``: with readable attention."""
        self.checked(name)
        if name not in self.probes.values:
            self.progress("loading the model", 0, 0)
        loaded = self.probes.get(name, lambda: Probe(name, progress=self.progress))
        self.eager.values = OrderedDict(
            (key, one) for key, one in self.eager.values.items() if key in self.probes.values
        )
        return self.eager.get(name, lambda: _sharing(loaded)) if eager else loaded

    def checked(self, name: str) -> str:
        """The name of a model that this server offers."""
        known = [entry.name for entry in CATALOGUE.values() if entry.kind == "model"]
        if name not in (*known, *self.allowed):
            raise InputError(
                f"a model among {', '.join((*known, *self.allowed))}",
                repr(name),
                f"start the page with it: wordsway serve --model {name}",
            )
        return name


def _sharing(loaded: Probe) -> Probe:
    """The same model with readable attention, on the same parameters in memory."""
    readable = loaded.with_eager_attention()
    readable.layers.model.load_state_dict(loaded.layers.model.state_dict(), assign=True)
    return readable


def key_of(what: str, request: Mapping[str, Any]) -> str:
    return what + json.dumps(request, sort_keys=True, ensure_ascii=False)


def file_event(result: Result, ending: str, name: str) -> Event:
    """A result as the text of a file, written as `Result.save` does."""
    with tempfile.TemporaryDirectory() as folder:
        path = save(result, Path(folder) / f"{name}.{ending}")
        return {"kind": "file", "name": path.name, "text": path.read_text("utf-8")}


class Worker:
    """Answers requests in the order of their arrival until the pipe is closed.

    Messages in: ``("ask", task, request)``, ``("cancel",)``. Messages out: ``(kind, body)`` with
    the kinds event, and last error or end.
    """

    def __init__(self, pipe: Connection, tasks: Mapping[str, Task], state: WorkerState) -> None:
        self.pipe, self.tasks, self.state = pipe, tasks, state
        self.requests: queue.SimpleQueue[tuple[str, dict[str, Any]] | None] = queue.SimpleQueue()
        self.cancelled = threading.Event()

    def run(self) -> None:
        threading.Thread(target=self._receive, daemon=True).start()
        while (request := self.requests.get()) is not None:
            self._answer(*request)

    def _receive(self) -> None:
        """Receive messages while a task is running."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                kind, *request = self.pipe.recv()
                if kind == "cancel":
                    self.cancelled.set()
                else:
                    self.cancelled.clear()
                    self.requests.put(tuple(request))
        self.cancelled.set()
        self.requests.put(None)

    def _progress(self) -> Progress:
        """Progress events of one task, a few per second; a cancelled task stops in it."""
        sent = 0.0

        def progress(stage: str, done: float, total: float, note: str = "") -> None:
            nonlocal sent
            self._check()
            if time.monotonic() - sent >= TICK:
                sent = time.monotonic()
                event = {"kind": "progress", "stage": stage, "done": done, "total": total}
                self._send("event", event | {"note": note})

        return progress

    def _answer(self, name: str, request: dict[str, Any]) -> None:
        self.state.progress = self._progress()
        try:
            for event in self.tasks[name](request, self.state):
                self._send("event", event)
                self._check()
            self._send("end", {})
        except Cancelled:
            release_memory()
            self._send("end", {})
        except Exception as error:
            self._send("error", _reason(error))

    def _check(self) -> None:
        if self.cancelled.is_set():
            raise Cancelled

    def _send(self, kind: str, body: Event) -> None:
        with contextlib.suppress(OSError):  # the server has gone: `_receive` ends the worker
            self.pipe.send((kind, body))


def _reason(error: Exception) -> Event:
    """An error for the client; status 400 for an invalid request, 500 for an internal error."""
    if isinstance(error, InputError):
        parts = {"expected": error.expected, "got": error.got, "remedy": error.remedy}
        plain = {name: one_line(part) for name, part in parts.items()}
        return plain | {"message": one_line(error), "status": 400}
    if isinstance(error, WordswayError | MemoryError):
        return {"message": one_line(first_line(error)), "status": 409}
    what = f"{type(error).__name__}: {first_line(error)}"
    return {"message": one_line(what), "status": 500}


def serve(pipe: Connection, state: dict[str, Any], threads: int | None) -> None:
    """Run a worker process with the tasks of all places; it ends with the server."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    hide_panics()
    if threads is not None:
        torch.set_num_threads(threads)
    tasks: dict[str, Task] = {}
    for place in PLACES:
        tasks |= import_module(f"{__package__}.{place}").TASKS
    Worker(pipe, tasks, WorkerState(**state)).run()
