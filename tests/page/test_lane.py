"""The process of a lane: when it is replaced, and what those who wait are told."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from lane_processes import obey
from wordsway.engine.run import run_jobs
from wordsway.engine.store import Store
from wordsway.page.lane import Lane, Refused
from wordsway.page.settings import Limits
from wordsway.page.theory import Here
from wordsway.page.worker import Cancelled
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request


def with_lane(limits: Limits, use: Callable[[Lane], Awaitable[None]]) -> None:
    async def whole() -> None:
        lane = Lane(obey, ("TEST",), limits)
        lane.launch()
        try:
            await asyncio.wait_for(use(lane), 120)
        finally:
            lane.close()

    asyncio.run(whole())


async def events_of(lane: Lane, name: str, **ask: Any) -> list[dict[str, Any]]:
    return [event async for event in lane.ask(name, ask)]


async def leave(lane: Lane, name: str, **ask: Any) -> int:
    """Ask, wait for the first event, and go; the process that answered."""
    async with aclosing(lane.ask(name, ask)) as events:  # type: ignore[type-var]
        first = await anext(events)
    return int(first["pid"])


def test_a_worker_that_waits_for_a_processor_is_not_replaced(caplog):
    """Silent for three times its grace by the clock, without any processor time."""

    async def use(lane: Lane) -> None:
        pid = await leave(lane, "sleep", seconds=3)
        found = await events_of(lane, "sleep", seconds=0)
        assert [event["pid"] for event in found] == [pid, pid]

    with_lane(Limits(grace=1.0), use)
    assert caplog.messages == []


def test_a_worker_that_does_not_stop_is_replaced_and_others_are_answered(caplog):
    """One task is left inside a step that does not end; the other one, of which an event was passed
    on, starts again in the new process.
    """

    async def use(lane: Lane) -> None:
        async with aclosing(lane.ask("rest", {})) as other:  # type: ignore[type-var]
            old = (await anext(other))["pid"]
            assert await leave(lane, "spin", seconds=300) == old
            again = [event async for event in other]
        assert [event["kind"] for event in again] == ["begun", "done"]
        assert again[-1]["pid"] != old

    with_lane(Limits(grace=1.0), use)
    (said,) = caplog.messages
    assert "after a cancellation: replaced" in said


@pytest.mark.parametrize(
    ("task", "ask", "how"),
    [
        ("exit", {"code": 3}, "exit code 3"),
        ("signal", {"number": int(signal.SIGKILL)}, "signal 9, SIGKILL"),
        ("signal", {"number": int(signal.SIGSEGV)}, "signal 11, SIGSEGV"),
    ],
)
def test_the_end_of_a_worker_is_reported_as_observed(task, ask, how, caplog):
    async def use(lane: Lane) -> None:
        with pytest.raises(Refused) as refused:
            await events_of(lane, task, **ask)
        assert how in refused.value.reason["message"]
        assert "memory" not in refused.value.reason["message"]
        found = await events_of(lane, "sleep", seconds=0)
        assert found[-1]["kind"] == "done"

    with_lane(Limits(), use)
    assert caplog.messages and all(how in said for said in caplog.messages)


def test_a_cancelled_cell_stops_inside_and_is_no_failure(tmp_path):
    """A cell takes up to minutes: its search says how far it is, and can be left there."""
    store, cell = Store(tmp_path), Cell(Request("raf", 24, 16))
    calls: list[float] = []

    def leave_after_three(stage: str, done: float, total: float, note: str = "") -> None:
        calls.append(done)
        if len(calls) > 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        run_jobs([cell], store, Here(workers=1), progress=leave_after_three)
    assert cell.key not in store and store.failures() == {}
