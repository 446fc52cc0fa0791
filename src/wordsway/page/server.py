"""The application: pages and files, and questions that lanes answer piece by piece.

The server's own process loads no model and no torch: it answers while they compute.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from wordsway.data.fetch import catalogue
from wordsway.page.asks import (
    AttentionAsk,
    AuditAsk,
    FileAsk,
    FolderAsk,
    NothingAsk,
    TheoryAsk,
    WordAsk,
    WordsAsk,
)
from wordsway.page.guard import Guard
from wordsway.page.lane import Lane, Refused
from wordsway.page.settings import Settings
from wordsway.version import __version__

#: Seconds in which a question is refused by its status; later, the stream says why it ends.
SOON = 3.0
PLACES = ("words", "attention", "theory", "audit")
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
#: What the page takes over from the other media.
SHARED = ("page.css",)


def asset(name: str) -> bytes | None:
    """A file of the page; None where there is none of this name."""
    room = files("wordsway") / ("render/html" if name in SHARED else "page")
    folder = room / "assets"
    known = {entry.name for entry in folder.iterdir()}
    return (folder / name).read_bytes() if name in known else None


def make_app(settings: Settings, port: int, lanes: Mapping[str, Lane]) -> Guard:
    """The whole page, behind its guard; lanes start and end with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        for lane in lanes.values():
            if not lane.lazy:
                lane.launch()
        try:
            yield
        finally:
            for lane in lanes.values():
                lane.close()

    app = FastAPI(
        title="wordsway",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    _errors(app)
    _pages(app, settings)
    _questions(app, lanes)
    names = settings.names(port)
    return Guard(app, names=lambda: names, token=settings.token, body=settings.limits.body)


def _pages(app: FastAPI, settings: Settings) -> None:
    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ready", "version": __version__}

    @app.get("/")
    async def front() -> RedirectResponse:
        return RedirectResponse("/words", status_code=307)

    @app.get("/{place}")
    async def page(place: str) -> Response:
        if place not in PLACES:
            raise HTTPException(404)
        return Response(asset("page.html"), media_type=TYPES["html"])

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


def _questions(app: FastAPI, lanes: Mapping[str, Lane]) -> None:
    @app.post("/api/words")
    async def words(ask: WordsAsk) -> Response:
        return await answer(lanes["models"], "words", ask.model_dump())

    @app.post("/api/word")
    async def word(ask: WordAsk) -> Response:
        return await answer(lanes["models"], "word", ask.model_dump())

    @app.post("/api/attention")
    async def attention(ask: AttentionAsk) -> Response:
        return await answer(lanes["models"], "attention", ask.model_dump())

    @app.post("/api/maps")
    async def maps(ask: NothingAsk) -> Response:
        return await answer(lanes["cells"], "maps", {})

    @app.post("/api/theory")
    async def theory(ask: TheoryAsk) -> Response:
        return await answer(lanes["cells"], "theory", ask.model_dump())

    @app.post("/api/audits")
    async def audits(ask: NothingAsk) -> Response:
        return await answer(lanes["cells"], "audits", {})

    @app.post("/api/audit")
    async def audit(ask: FolderAsk) -> Response:
        return await answer(lanes["cells"], "audit", ask.model_dump())

    @app.post("/api/audit/start")
    async def start_audit(ask: AuditAsk) -> Response:
        return await answer(lanes["audits"], "start", ask.model_dump())

    @app.post("/api/file")
    async def file(ask: FileAsk) -> Response:
        place = ask.place
        if place in ("words", "attention"):
            return await answer(lanes["models"], "file", ask.model_dump())
        return await answer(lanes["cells"], f"{place}-file", ask.model_dump())


async def answer(lane: Lane, name: str, ask: Mapping[str, Any]) -> Response:
    """A task's events, one JSON document per line; a refusal that comes soon is a status."""
    events = lane.ask(name, ask)
    early: list[Mapping[str, Any]] = []
    until = time.monotonic() + SOON
    try:
        while not early or (early[-1]["kind"] == "progress" and time.monotonic() < until):
            early.append(await anext(events))
    except Refused as refused:
        return _refused(refused.reason)
    except StopAsyncIteration:
        pass

    async def lines() -> AsyncIterator[bytes]:
        try:
            for event in early:
                yield line_of(event)
            async for event in events:
                yield line_of(event)
        except Refused as refused:
            yield line_of({"kind": "error"} | refused.reason)
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    return StreamingResponse(lines(), media_type="application/x-ndjson")


def line_of(event: Mapping[str, Any]) -> bytes:
    """An event as a line: pure ASCII, so that nothing in a text can break it."""
    return json.dumps(event, ensure_ascii=True, allow_nan=False, default=list).encode() + b"\n"


def _refused(reason: Mapping[str, Any]) -> JSONResponse:
    more = {"retry-after": "2"} if reason["status"] == 503 else None
    return JSONResponse({"error": dict(reason)}, reason["status"], headers=more)


def _errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def wrong(request: Request, error: RequestValidationError) -> JSONResponse:
        """Which field, and what is expected of it; nothing of what was sent comes back."""
        found = error.errors()
        place = ".".join(str(part) for part in found[0]["loc"][1:]) if found else ""
        message = f"{place or 'the request'}: {found[0]['msg'] if found else 'not understood'}"
        return _refused({"message": message, "where": place, "status": 422})

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        known = {404: "there is no such page", 405: "this page is not asked that way"}
        message = known.get(error.status_code, "the request was not understood")
        return _refused({"message": message, "status": error.status_code})
