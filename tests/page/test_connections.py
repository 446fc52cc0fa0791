"""Connections before the token check: slow requests, unread answers, too many of one client."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn

from wordsway.page.guard import LimitedProtocol

HEAD = b"GET /words HTTP/1.1\r\nhost: 127.0.0.1\r\n"


class Hasty(LimitedProtocol):
    """Short limits, so that a test is short."""

    request_seconds = 0.5
    unread_seconds = 0.5
    per_client = 8


async def app(scope, receive, send) -> None:
    """A short answer, one of 50 MB (/large), or one after two seconds (/late)."""
    assert scope["type"] == "http"
    if scope["path"] == "/late":
        await asyncio.sleep(2)
    count = 800 if scope["path"] == "/large" else 1
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for left in reversed(range(count)):
        body = b"x" * 65536 if count > 1 else b"ok"
        await send({"type": "http.response.body", "body": body, "more_body": left > 0})


@contextlib.contextmanager
def running(protocol: type[asyncio.Protocol]) -> Iterator[int]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(512)
        config = uvicorn.Config(app, http=protocol, lifespan="off", log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        try:
            yield bound.getsockname()[1]
        finally:
            server.should_exit = server.force_exit = True
            thread.join(30)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with running(Hasty) as number:
        yield number


def connect(port: int) -> socket.socket:
    """A connection; whatever waits longer than its time fails the test."""
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def closed(raw: socket.socket) -> bool:
    """Whether the server closes the connection without an answer."""
    try:
        return raw.recv(100) == b""
    except ConnectionError:
        return True


def answered(port: int, path: str = "/") -> bool:
    with connect(port) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nhost: a\r\n\r\n".encode())
        return b"200" in raw.recv(100)


#: Nothing, one byte, half the headers, half the body, half a second request.
UNFINISHED = (
    b"",
    b"G",
    HEAD,
    b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 99\r\n\r\nhalf",
    b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost",
)


def test_requests_that_do_not_arrive_are_given_up(port):
    """Each on a connection of its own; one that is not given up runs into `connect`'s time."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in UNFINISHED]
        for raw, sent in zip(held, UNFINISHED, strict=True):
            raw.sendall(sent)
        for _ in range(12):  # a byte now and then does not buy more time
            time.sleep(0.1)
            for raw in held:
                with contextlib.suppress(OSError):
                    raw.sendall(b"a")
        for raw in held:
            with contextlib.suppress(ConnectionError):
                while raw.recv(65536):
                    pass


def test_an_answer_that_is_not_read_is_given_up(port):
    with connect(port) as raw:
        raw.sendall(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n")
        time.sleep(2)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while part := raw.recv(2**20):
                taken += len(part)
        assert taken < 40e6


def test_the_oldest_unused_connection_makes_place(port):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(8)]
        time.sleep(0.1)
        started = time.monotonic()
        assert answered(port)
        assert closed(held[0]) and time.monotonic() - started < 0.4, "not by its time"


def test_connections_that_are_being_answered_are_kept(port):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(8)]
        for raw in held:
            raw.sendall(b"GET /late HTTP/1.1\r\nhost: a\r\n\r\n")
        time.sleep(0.2)
        extra = stack.enter_context(connect(port))
        assert closed(extra)
        assert all(b"200" in raw.recv(100) for raw in held)


@pytest.mark.slow
def test_slow_headers_do_not_block_anybody(served):
    """540 connections whose headers never end, and somebody who wants the page."""
    with contextlib.ExitStack() as stack:
        held = []
        for _ in range(540):
            raw = stack.enter_context(connect(served.port))
            raw.sendall(HEAD)
            held.append(raw)
        for _ in range(5):
            assert served.client.get("/healthz").status == 200
        last = held[-1]
        started = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - started < 15:
                last.sendall(b"x")
                time.sleep(0.5)
        assert closed(last)
    assert served.client.get("/words").status == 200
