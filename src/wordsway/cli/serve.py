"""`wordsway serve`: the page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.core.errors import needs


def serve_command(
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="8421, or the next free one, by default."),
    ] = None,
    host: Annotated[
        str,
        typer.Option("--host", help="Who may ask: this machine alone, or 0.0.0.0 with a token."),
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Open no browser.")] = False,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="A hub id or folder to offer beside the catalogue's models."),
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", help="Where measured cells are kept.")
    ] = None,
    audits: Annotated[
        Path, typer.Option("--audits", help="Folder whose audits are shown and written to.")
    ] = Path("out"),
) -> None:
    """The page: words of a text, attention, theory and audits, in a browser. Ctrl-C ends it.

    Example: wordsway serve --port 8421 --no-open
    """
    needs("page", "fastapi", "uvicorn")
    from wordsway.page.server import serve
    from wordsway.page.settings import Settings

    kept = None if store is None else store.absolute()
    settings = Settings(host, tuple(model or ()), kept, audits.absolute())
    try:
        serve(settings, port, start=start_worker, browse=not no_open, say=typer.echo)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)


def start_worker(pipe: Any, state: dict[str, Any], threads: int | None) -> None:
    """Run a worker process of the page; torch and the models are loaded here, not by the server."""
    from wordsway.page import attention, audit, theory, words
    from wordsway.page.worker import serve

    tasks = words.TASKS | attention.TASKS | theory.TASKS | audit.TASKS
    serve(pipe, tasks, state, threads)
