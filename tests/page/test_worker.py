"""The order in which a lane's process does its tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from typing import Any

from wordsway.page.desk import Desk
from wordsway.page.worker import Worker


def steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    for step in range(ask["steps"]):
        yield {"kind": "step", "step": step}


def ends_of(tasks: list[tuple[str, int]]) -> list[tuple[int, str]]:
    """Every message of the tasks (name, steps) in the order in which they are sent."""
    ours, theirs = Pipe()
    worker = Worker(theirs, {"words": steps, "attention": steps}, Desk())
    for number, (name, count) in enumerate(tasks, 1):
        worker.inbox.put(("ask", number, name, {"steps": count}))
    total = sum(count + 1 for _, count in tasks)
    found: list[tuple[int, str]] = []
    running = threading.Thread(target=worker.run)
    running.start()
    while len(found) < total:
        number, kind, _ = ours.recv()
        found.append((number, kind))
    ours.close()
    running.join(30)
    return found


def test_the_oldest_task_is_done_first():
    """Of two dozen tasks that wait, those that came first are done while the others wait: with a
    step of each in turn, all of them would be done at the very end.
    """
    found = ends_of([("attention", 10)] * 24)
    done = [at for at, (_, kind) in enumerate(found) if kind == "end"]
    assert [found[at][0] for at in done] == list(range(1, 25))
    assert done == [11 * number - 1 for number in range(1, 25)]


def test_first_colours_come_before_older_tasks_are_done():
    found = ends_of([("attention", 50), ("words", 5)])
    assert found[:3] == [(2, "event"), (1, "event"), (1, "event")]
    assert [number for number, kind in found if kind == "end"] == [1, 2]
