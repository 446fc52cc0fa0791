"""Limits of a connection, before anything that it sends is understood or its token is checked."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import h11  # which uvicorn installs
from uvicorn.protocols.http.h11_impl import H11Protocol


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for every request and a limit of connections per client.

    A request, headers and body, has to arrive within ``request_seconds``; an answer that the client
    does not read is given up after ``unread_seconds``. A client with more than ``per_client``
    connections, or a server with more than ``total``, loses the oldest one whose request has not
    arrived. Connections that are being answered are kept: where there are no others, the new
    one is closed. A client that sends its request at once is therefore answered while others hold
    slow connections open, also from the same address.
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
        """Whether the server waits for a request, or for the rest of one."""
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
        """Start the time of a request with its first byte, and stop it with the last one."""
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
