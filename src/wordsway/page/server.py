"""The server of the page: files, and requests that workers answer; it loads no torch itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from wordsway.core.checks import required
from wordsway.core.result import json_text
from wordsway.data.fetch import catalogue
from wordsway.page.guard import Guard, LimitedProtocol
from wordsway.page.requests import PATTERNS, PLACES, REQUESTS, FileRequest, PageRequest
from wordsway.page.settings import Settings, listening
from wordsway.page.worker_process import Refused, WorkerProcess, workers_of
from wordsway.version import __version__

#: Seconds in which a request is refused by its status; later, an event of the stream says why.
SOON = 3.0
#: Seconds between two checks whether the client of a waiting request is still connected.
LOOK = 0.5
#: Seconds that open streams may take to end after Ctrl-C.
GRACE = 1
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def asset(name: str) -> bytes | None:
    """A file of the page or of the results in it, or None."""
    for package in ("page", "render/html"):
        folder = files("wordsway") / package / "assets"
        if name in {entry.name for entry in folder.iterdir()}:
            return (folder / name).read_bytes()
    return None


def make_app(settings: Settings, port: int, workers: Mapping[str, WorkerProcess]) -> Guard:
    """The whole application behind its guard; workers start and end with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for worker in workers.values():
            if not worker.lazy:
                worker.launch()
        try:
            yield
        finally:
            for worker in workers.values():
                worker.close()

    app = FastAPI(
        title="wordsway",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    _add_errors(app)
    _add_files(app, settings)
    for path, (kind, worker) in REQUESTS.items():
        app.post(f"/api/{path}", response_model=None)(_route(workers[worker], path, kind))

    @app.post("/api/file")
    async def file(http: Request, request: FileRequest) -> Response:
        shown: PageRequest = getattr(request, request.place)
        worker = workers[REQUESTS[request.place][1]]
        asked = shown.model_dump() | {"ending": request.ending}
        return await answer(http, worker, f"{request.place}/file", asked)

    names = settings.names(port)
    return Guard(app, names=lambda: names, token=settings.token, body=settings.limits.body)


def _add_files(app: FastAPI, settings: Settings) -> None:
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ready", "version": __version__}

    @app.get("/")
    async def front() -> RedirectResponse:
        return RedirectResponse(f"/{PLACES[0]}", status_code=307)

    @app.get("/{place}")
    async def page(place: str) -> Response:
        if place not in PLACES:
            raise HTTPException(404)
        links = "".join(f'<a href="/{name}">{name.capitalize()}</a>' for name in PLACES)
        text = (asset("page.html") or b"").replace(b"<!-- places -->", links.encode())
        return Response(text, media_type=TYPES["html"])

    @app.get("/assets/{name}")
    async def one_asset(name: str) -> Response:
        found = asset(name)
        if found is None or name == "page.html":
            raise HTTPException(404)
        return Response(found, media_type=TYPES[name.rpartition(".")[2]])

    @app.get("/api/models")
    async def models() -> dict[str, Any]:
        known = [
            {name: entry[name] for name in ("name", "about", "bytes", "here")}
            for entry in catalogue().entries
            if entry["kind"] == "model"
        ]
        own = [
            {"name": name, "about": "yours", "bytes": 0, "here": True} for name in settings.models
        ]
        return {"models": known + own, "text": settings.limits.text}


def _route(worker: WorkerProcess, name: str, kind: type[PageRequest]) -> Callable[..., Any]:
    async def route(http: Request, request: PageRequest) -> Response:
        return await answer(http, worker, name, request.model_dump())

    route.__annotations__["request"] = kind
    return route


async def answer(
    http: Request, worker: WorkerProcess, name: str, request: Mapping[str, Any]
) -> Response:
    """The events of a task, one JSON document per line; an early refusal is a status."""
    events = worker.ask(name, request)
    early: list[Mapping[str, Any]] = []
    following = asyncio.ensure_future(anext(events))
    until = time.monotonic() + SOON
    try:
        while not early or (early[-1]["kind"] == "progress" and time.monotonic() < until):
            done, _ = await asyncio.wait([following], timeout=LOOK)
            if done:
                early.append(following.result())
                following = asyncio.ensure_future(anext(events))
            elif await http.is_disconnected():
                following.cancel()
                return Response()
    except Refused as refused:
        return _refused(refused.reason)
    except StopAsyncIteration:
        pass

    async def lines() -> AsyncIterator[bytes]:
        nonlocal following
        try:
            for event in early:
                yield line_of(event)
            with contextlib.suppress(StopAsyncIteration):
                while True:
                    yield line_of(await following)
                    following = asyncio.ensure_future(anext(events))
        except Refused as refused:
            yield line_of({"kind": "error"} | refused.reason)
        finally:
            if not following.cancel():
                await events.aclose()  # type: ignore[attr-defined]

    return StreamingResponse(lines(), media_type="application/x-ndjson")


def line_of(event: Mapping[str, Any]) -> bytes:
    """An event as a line of pure ASCII, so that no text can break it."""
    return json_text(event, ensure_ascii=True, default=list).encode() + b"\n"


def _refused(reason: Mapping[str, Any]) -> JSONResponse:
    more = {"retry-after": "2"} if reason["status"] == 503 else None
    return JSONResponse({"error": dict(reason)}, reason["status"], headers=more)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> JSONResponse:
        """The field and what it expects; nothing that was sent is repeated."""
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        field = next((one for one in reversed(first["loc"][1:]) if isinstance(one, str)), "")
        wanted = PATTERNS.get(first.get("ctx", {}).get("pattern"), required(first))
        message = f"expected {wanted} for {field}" if field else required(first)
        return _refused({"message": message, "where": place, "status": 422})

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        known = {404: "there is no such page", 405: "this page does not support that method"}
        message = known.get(error.status_code, "invalid request")
        return _refused({"message": message, "status": error.status_code})


class _Server(uvicorn.Server):
    """Calls ``ready`` after its start, and ``ending`` before it waits for open streams."""

    ready: Callable[[], None] = staticmethod(lambda: None)
    ending: Callable[[], None] = staticmethod(lambda: None)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ending()
        # Streams that Ctrl-C interrupts leave no traceback.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        await super().shutdown(sockets)


def serve(
    settings: Settings, port: int | None, *, browse: bool, say: Callable[[str], None]
) -> None:
    """Serve the page until it is interrupted; no process is left behind."""
    bound = listening(settings.host, port)
    number = int(bound.getsockname()[1])
    address = settings.address(number)
    workers = workers_of(settings)
    config = uvicorn.Config(
        make_app(settings, number, workers),
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
        for worker in workers.values():
            worker.close()

    server.ready, server.ending = ready, ending
    server.run(sockets=[bound])
