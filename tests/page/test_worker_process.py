"""Worker processes: the order of requests, cancellation, and when a process is replaced."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from typing import Any

import pytest

from wordsway.engine.provenance import Provenance
from wordsway.engine.workers import work
from wordsway.page.settings import Limits
from wordsway.page.worker import Cancelled
from wordsway.page.worker_process import Refused, WorkerProcess
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from worker_processes import obey


def with_worker(limits: Limits, use: Callable[[WorkerProcess], Awaitable[None]]) -> None:
    async def whole() -> None:
        worker = WorkerProcess("TEST", obey, (), limits)
        worker.launch()
        try:
            await asyncio.wait_for(use(worker), 120)
        finally:
            worker.close()

    # In a thread of its own: the browser of other tests keeps an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, whole()).result()


async def events_of(worker: WorkerProcess, name: str, **request: Any) -> list[dict[str, Any]]:
    return [event async for event in worker.ask(name, request)]


async def leave(worker: WorkerProcess, name: str, **request: Any) -> int:
    """Send a request and leave after its first event; return the process that answered."""
    async with aclosing(worker.ask(name, request)) as events:  # type: ignore[type-var]
        first = await anext(events)
    return int(first["pid"])


def test_requests_are_answered_oldest_first():
    """Two dozen at once: each is answered whole before the next one begins."""
    order: list[int] = []

    async def use(worker: WorkerProcess) -> None:
        async def one(number: int) -> None:
            order.extend([number async for _ in worker.ask("sleep", {"seconds": 0.01})])

        await asyncio.gather(*(one(number) for number in range(24)))

    with_worker(Limits(), use)
    assert order == [number for number in range(24) for _ in ("begun", "done")]


def test_one_request_too_many_is_refused():
    async def use(worker: WorkerProcess) -> None:
        asked = [asyncio.create_task(events_of(worker, "sleep", seconds=0.1)) for _ in range(3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in found] == [list, list, Refused]

    with_worker(Limits(queue=2), use)


@pytest.mark.slow
def test_a_waiting_request_that_is_left_never_runs():
    """The process works on another request meanwhile, and is not replaced for it."""

    async def use(worker: WorkerProcess) -> None:
        first = asyncio.create_task(events_of(worker, "spin", seconds=3))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(events_of(worker, "exit", code=3))
        await asyncio.sleep(0.1)
        second.cancel()
        pids = {event["pid"] for event in await first}
        assert {event["pid"] for event in await events_of(worker, "sleep", seconds=0)} == pids

    with_worker(Limits(grace=1.0), use)


def test_a_request_that_takes_too_long_is_refused_and_the_next_one_answered():
    async def use(worker: WorkerProcess) -> None:
        with pytest.raises(Refused, match="longer than 1 seconds"):
            await events_of(worker, "sleep", seconds=1.5)
        found: list[dict[str, Any]] = []
        while not found:  # on a busy machine this may take a second, too
            with suppress(Refused):
                found = await events_of(worker, "sleep", seconds=0)
        assert len(found) == 2

    with_worker(Limits(seconds=1.0), use)


def test_closing_refuses_everything_that_waits():
    async def use(worker: WorkerProcess) -> None:
        asked = [asyncio.create_task(events_of(worker, "sleep", seconds=60)) for _ in range(3)]
        await asyncio.sleep(1)
        worker.close()
        for one in asked:
            with pytest.raises(Refused, match="server was stopped"):
                await one

    with_worker(Limits(), use)


def test_a_worker_that_waits_for_a_processor_is_not_replaced(caplog):
    """Silent for three times its grace by the clock, without any processor time."""

    async def use(worker: WorkerProcess) -> None:
        pid = await leave(worker, "sleep", seconds=3)
        found = await events_of(worker, "sleep", seconds=0)
        assert [event["pid"] for event in found] == [pid, pid]

    with_worker(Limits(grace=1.0), use)
    assert caplog.messages == []


@pytest.mark.slow
def test_a_worker_that_does_not_stop_is_replaced_and_others_are_answered(caplog):
    async def use(worker: WorkerProcess) -> None:
        old = await leave(worker, "spin", seconds=300)
        found = await events_of(worker, "sleep", seconds=0)
        assert [event["kind"] for event in found] == ["begun", "done"]
        assert found[-1]["pid"] != old

    with_worker(Limits(grace=1.0), use)
    (said,) = caplog.messages
    assert "after a cancellation: replaced" in said


@pytest.mark.parametrize(
    ("task", "request_", "how"),
    [
        ("exit", {"code": 3}, "exit code 3"),
        ("signal", {"number": int(signal.SIGKILL)}, "signal 9, SIGKILL"),
        ("signal", {"number": int(signal.SIGSEGV)}, "signal 11, SIGSEGV"),
    ],
)
def test_the_end_of_a_worker_is_reported_as_observed(task, request_, how, caplog):
    async def use(worker: WorkerProcess) -> None:
        with pytest.raises(Refused) as refused:
            await events_of(worker, task, **request_)
        assert how in refused.value.reason["message"]
        assert "memory" not in refused.value.reason["message"]
        found = await events_of(worker, "sleep", seconds=0)
        assert found[-1]["kind"] == "done"

    with_worker(Limits(), use)
    assert caplog.messages and all(how in said for said in caplog.messages)


def test_an_idle_worker_that_dies_is_replaced_by_the_next_request():
    async def use(worker: WorkerProcess) -> None:
        pid = (await events_of(worker, "sleep", seconds=0))[0]["pid"]
        worker.process.kill()
        worker.process.join()
        assert (await events_of(worker, "sleep", seconds=0))[0]["pid"] != pid

    with_worker(Limits(), use)


def test_a_cancelled_cell_stops_inside_and_is_no_failure():
    """A cell takes up to minutes: its search reports progress, and can be left there."""
    cell, calls = Cell(Request("raf", 24, 16)), list[float]()

    def leave_after_three(stage: str, done: float, total: float, note: str = "") -> None:
        calls.append(done)
        if len(calls) > 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        work(cell, Provenance(), run=lambda: cell.run(leave_after_three))
