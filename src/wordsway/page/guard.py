"""What stands between the network and the page: who may ask, how much, and what a browser may do
with the answer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

COOKIE = "wordsway"
#: Nothing but our own files runs, and nothing is sent elsewhere.
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
    """More bytes than a request may have."""


class Guard:
    """Around the application: hosts, origins, the token, the size of bodies, headers."""

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
        if self.token is not None and not self._known(headers):
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

        async def dressed(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                if taken > self.body:  # whoever read the body told of it in another way
                    message["status"] = 413
                own = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"]] + [
                    (name.encode(), value.encode())
                    for name, value in HEADERS.items()
                    if name.encode() not in own
                ]
            await send(message)

        try:
            await self.app(scope, limited, dressed)
        except TooLarge:
            if not answered:
                await _answer(send, 413, f"a request has at most {self.body:,} bytes")

    def _refusal(self, headers: list[tuple[str, str]]) -> tuple[int, str] | None:
        """Why a request is not heard."""
        names = self.names()
        hosts = [value.strip().lower() for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0] not in names:
            return 403, "this page is asked for by another name than its own"
        origins = [value.strip().lower() for name, value in headers if name == "origin"]
        if any(origin not in {f"http://{name}" for name in names} for origin in origins):
            return 403, "another site may not ask this page"
        lengths = [value for name, value in headers if name == "content-length"]
        if any(not value.isdigit() or int(value) > self.body for value in lengths):
            return 413, f"a request has at most {self.body:,} bytes"
        return None

    def _known(self, headers: list[tuple[str, str]]) -> bool:
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
        """The address with the token becomes a cookie; anything else is turned away."""
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
                send, 401, "open the address that wordsway serve printed: it has the token"
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
