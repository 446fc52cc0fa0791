"""Protection of the server: limits of connections, hosts, origins, the token, sizes and headers."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlencode

import h11  # which uvicorn installs
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
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        reason = self._refusal(headers)
        if reason is not None:
            await _answer(send, *reason)
            return
        if self.token is not None and not self._has_token(headers):
            await self._welcome(scope, send)
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
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"]] + [
                    (name.encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.encode() not in own
                ]
            await send(message)

        try:
            await self.app(scope, limited, with_headers)
        except TooLarge:
            if not answered:
                await _answer(send, 413, f"a request may have at most {self.body:,} bytes")

    def _refusal(self, headers: list[tuple[str, str]]) -> tuple[int, str] | None:
        """Why a request is refused, or None."""
        names = self.names()
        hosts = [value.strip().lower() for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0] not in names:
            return 403, "wrong Host header: open the address that wordsway serve printed"
        origins = [value.strip().lower() for name, value in headers if name == "origin"]
        if any(origin not in {f"http://{name}" for name in names} for origin in origins):
            return 403, "requests from other sites are refused"
        lengths = [value for name, value in headers if name == "content-length"]
        if any(not value.isdigit() or int(value) > self.body for value in lengths):
            return 413, f"a request may have at most {self.body:,} bytes"
        return None

    def _has_token(self, headers: list[tuple[str, str]]) -> bool:
        assert self.token is not None
        shown = [value for name, value in headers if name == "authorization"]
        for name, value in headers:
            if name == "cookie":
                try:
                    found = SimpleCookie(value).get(COOKIE)
                except CookieError:
                    continue
                shown += [f"Bearer {found.value}"] if found is not None else []
        wanted = f"Bearer {self.token}".encode()
        return any(
            secrets.compare_digest(value.encode("latin-1", "replace"), wanted) for value in shown
        )

    async def _welcome(self, scope: Message, send: Send) -> None:
        """Exchange the token in the address for a cookie; refuse anything else."""
        try:
            asked = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        except ValueError:
            asked = []
        given = [value for name, value in asked if name == "token"]
        good = any(
            secrets.compare_digest(value.encode("utf-8", "replace"), str(self.token).encode())
            for value in given
        )
        if not good or scope["method"] != "GET":
            await _answer(
                send, 401, "open the address that wordsway serve printed: it contains the token"
            )
            return
        left = urlencode([(name, value) for name, value in asked if name != "token"])
        cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
        path = "/" + scope["raw_path"].decode("latin-1").lstrip("/").split("?")[0]
        await _answer(
            send,
            303,
            "welcome",
            {"location": path + (f"?{left}" if left else ""), "set-cookie": cookie},
        )


async def _answer(
    send: Send, status: int, message: str, more: dict[str, str] | None = None
) -> None:
    body = json.dumps({"error": {"message": message, "status": status}}).encode()
    headers = HEADERS | {"content-type": "application/json"} | (more or {})
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})


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
