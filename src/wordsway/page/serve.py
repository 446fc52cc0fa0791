"""The verb `serve`: listen, say where, answer until Ctrl-C."""

from __future__ import annotations

import logging
import os
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn

from wordsway.page.connections import LimitedProtocol
from wordsway.page.lanes import lanes_of
from wordsway.page.server import make_app
from wordsway.page.settings import Settings, listening

#: Seconds that open streams may take to end after Ctrl-C.
GRACE = 1


class _Server(uvicorn.Server):
    """Says when it is ready, and ends what is being answered before it waits for the rest."""

    ready: Callable[[], None] = staticmethod(lambda: None)
    ending: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ending()
        # What is cut off from here on is cut off by Ctrl-C: no traceback of it.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def serve(
    settings: Settings,
    port: int | None,
    *,
    start: Callable[..., None],
    browse: bool,
    say: Callable[[str], None],
) -> None:
    """Serve the page until it is interrupted; no process is left behind. ``start`` is what the
    processes of the lanes run.

    Their OpenMP threads sleep while they wait for each other. By default they spin, and beside
    other work on two cores mean local of eight words then took 9 s instead of 0.7 s.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    bound = listening(settings.host, port)
    number = int(bound.getsockname()[1])
    address = settings.address(number)
    lanes = lanes_of(settings, start)
    config = uvicorn.Config(
        make_app(settings, number, lanes),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=128 * 1024,
        limit_concurrency=512,
        http=LimitedProtocol,
        ws="none",
    )
    server = _Server(config)

    def ready() -> None:
        say(address)
        if browse:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    def ending() -> None:
        for lane in lanes.values():
            lane.close()

    server.ready, server.ending = ready, ending
    server.run(sockets=[bound])
