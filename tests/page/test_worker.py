"""The worker's side of a request: events, errors, cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from multiprocessing import Pipe
from typing import Any

import pytest

from wordsway.core.errors import InputError
from wordsway.page.worker import Worker, WorkerState


def steps(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    for step in range(request["steps"]):
        yield {"kind": "step", "step": step}


def endless(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    yield {"kind": "step"}
    while True:
        time.sleep(0.01)
        state.progress("computing", 0, 0)


def wrong(request: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    yield {"kind": "step"}
    raise InputError("a number", "none", "pass one")


@pytest.fixture
def pipe() -> Iterator[Any]:
    """The server's end; closing it ends the worker."""
    ours, theirs = Pipe()
    worker = Worker(theirs, {"steps": steps, "endless": endless, "wrong": wrong}, WorkerState())
    running = threading.Thread(target=worker.run)
    running.start()
    yield ours
    ours.close()
    running.join(30)
    assert not running.is_alive()


def answer(pipe: Any) -> list[str]:
    """The kinds of messages up to the last one, without progress."""
    found = [pipe.recv()]
    while found[-1][0] == "event":
        found.append(pipe.recv())
    return [kind for kind, body in found if body.get("kind") != "progress"]


def test_requests_are_answered_in_their_order_and_whole(pipe):
    for count in (3, 0, 2):
        pipe.send(("ask", "steps", {"steps": count}))
    assert [len(answer(pipe)) for _ in range(3)] == [4, 1, 3]


@pytest.mark.slow
def test_a_cancelled_task_stops_inside_a_step(pipe):
    pipe.send(("ask", "endless", {}))
    assert pipe.recv()[0] == "event"
    pipe.send(("cancel",))
    assert answer(pipe)[-1] == "end"
    pipe.send(("ask", "steps", {"steps": 2}))
    assert answer(pipe) == ["event", "event", "end"], "the cancellation was that of one request"


def test_a_wrong_request_is_reported_and_the_next_one_answered(pipe):
    pipe.send(("ask", "wrong", {}))
    assert answer(pipe) == ["event", "error"]
    pipe.send(("ask", "steps", {"steps": 1}))
    assert answer(pipe) == ["event", "end"]


@pytest.mark.slow
def test_a_worker_ends_with_its_pipe_inside_a_step(pipe):
    pipe.send(("ask", "endless", {}))
    assert pipe.recv()[0] == "event"
