"""Protection of the server: limits of connections, hosts, origins, the token, sizes and headers."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ClassVar
from urllib.parse import urlencode

import h11  # which uvicorn installs
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

COOKIE = "wordsway"
#: Only our own files run, and nothing is sent elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class TooLarge(Exception):
    """The body of a request is over the limit."""


class Guard:
    """ASGI middleware: checks hosts, origins, the token and sizes, and adds security headers."""

    def __init__(
        self, app: App, *, names: Callable[[], frozenset[str]], token: str | None, body: int
    ) -> None:
        self.app, self.names, self.token, self.body = app, names, token, body

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        refused = self._refusal(asked) or self._without_token(asked)
        if refused is not None:
            await refused(scope, receive, send)
            return
        answered = False
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.body:
                raise TooLarge
            return message

        async def with_headers(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                if taken > self.body:  # the application reported it differently
                    message["status"] = 413
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self.app(scope, limited, with_headers)
        except TooLarge:
            if not answered:
                await self._too_large()(scope, receive, send)

    def _too_large(self) -> JSONResponse:
        return _answer(413, f"a request may have at most {self.body:,} bytes")

    def _refusal(self, asked: HTTPConnection) -> JSONResponse | None:
        """Why a request is refused, or None."""
        names, headers = self.names(), asked.headers
        hosts = [value.strip().lower() for value in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in names:
            return _answer(403, "wrong Host header: open the address that wordsway serve printed")
        origins = {value.strip().lower() for value in headers.getlist("origin")}
        if not origins <= {f"http://{name}" for name in names}:
            return _answer(403, "requests from other sites are refused")
        lengths = headers.getlist("content-length")
        if any(not value.isdigit() or int(value) > self.body for value in lengths):
            return self._too_large()
        return None

    def _without_token(self, asked: HTTPConnection) -> JSONResponse | None:
        """Exchange the token in the address for a cookie, and refuse requests without a token."""
        shown = asked.headers.getlist("authorization")
        shown.append(f"Bearer {asked.cookies.get(COOKIE, '')}")
        if self.token is None or any(_same(one, f"Bearer {self.token}") for one in shown):
            return None
        given = asked.query_params.getlist("token")
        if asked.scope["method"] != "GET" or not any(_same(one, self.token) for one in given):
            remedy = "open the address that wordsway serve printed: it contains the token"
            return _answer(401, remedy)
        items = asked.query_params.multi_items()
        left = urlencode([(name, value) for name, value in items if name != "token"])
        path = "/" + asked.scope["raw_path"].decode("latin-1").lstrip("/").split("?")[0]
        cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        where = {"location": path + (f"?{left}" if left else ""), "set-cookie": cookie}
        return _answer(303, "welcome", where)


def _same(given: str, wanted: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _answer(status: int, message: str, more: dict[str, str] | None = None) -> JSONResponse:
    error = {"message": message, "status": status}
    return JSONResponse({"error": error}, status, headers=HEADERS | (more or {}))


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for every request and a limit of connections per client.

    These limits hold before a request is parsed or its token is checked. A request, headers and
    body, has to arrive within ``request_seconds``; a response that the client does not read is
    aborted after ``unread_seconds``. If a client has more than ``per_client`` connections, or the
    server more than ``total``, the oldest one whose request has not arrived is closed; connections
    with a response in progress stay open. A client that sends its request at once is therefore
    served while others hold slow connections open, even from the same address.
    """

    request_seconds: ClassVar[float] = 10.0
    unread_seconds: ClassVar[float] = 60.0
    per_client: ClassVar[int] = 128
    total: ClassVar[int] = 480

    opened = 0.0
    request_timer: asyncio.TimerHandle | None = None
    unread_timer: asyncio.TimerHandle | None = None

    @property
    def arriving(self) -> bool:
        """Whether the server waits for a request or the rest of one."""
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.opened = self.loop.time()
        self._limit_time()
        live = [
            one
            for one in self.connections
            if isinstance(one, LimitedProtocol) and not one.transport.is_closing()
        ]
        host = self.client and self.client[0]
        own = [one for one in live if (one.client and one.client[0]) == host]
        if len(own) > self.per_client:
            _close_oldest(own)
        elif len(live) > self.total:
            _close_oldest(live)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_time()

    def _limit_time(self) -> None:
        """Time a request from its first byte to its last one."""
        if not self.arriving:
            _cancel(self.request_timer)
            self.request_timer = None
        elif self.request_timer is None:
            self.request_timer = self.loop.call_later(self.request_seconds, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread_timer = self.loop.call_later(self.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self.unread_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        _cancel(self.request_timer)
        _cancel(self.unread_timer)
        super().connection_lost(exc)


def _close_oldest(connections: list[LimitedProtocol]) -> None:
    waiting = [one for one in connections if one.arriving]
    min(waiting, key=lambda one: one.opened).transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
