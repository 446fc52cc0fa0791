"""`wordsway serve` and `wordsway playground`: pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.options import flag, option
from wordsway.core.errors import needs


def serve_command(
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="Default: 8421, or the next free port."),
    ] = None,
    host: str = option(
        "127.0.0.1",
        "Address to listen on: 127.0.0.1 for this machine only; 0.0.0.0 also for other machines, "
        "which need the printed token.",
    ),
    no_open: bool = flag("--no-open", "Do not open a browser."),
    model: list[str] | None = option(
        None, "An additional model: a Hugging Face id or folder; may be repeated."
    ),
    store: Path | None = option(None, "Folder for the results of the Theory and Length tabs."),
    audits: Path = option(Path("out"), "Folder of audits, to read and to write."),
) -> None:
    """Explore words, attention, theory, audits and lengths in a browser; Ctrl-C stops the server.

    Example: wordsway serve --port 8421 --no-open
    """
    needs("page", "fastapi", "uvicorn")
    from wordsway.page.server import serve
    from wordsway.page.settings import Settings

    kept = None if store is None else store.absolute()
    settings = Settings(host, tuple(model or ()), kept, audits.absolute())
    try:
        serve(settings, port, browse=not no_open, say=typer.echo)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)


def playground_command(
    out: Path = option(Path("playground.html"), "File to write; its name ends in .html."),
) -> None:
    """Write an interactive page about random attention as one self-contained file."""
    from wordsway.core.format import format_bytes
    from wordsway.page.playground import playground

    page = playground(out)
    typer.echo(f"{out}: {format_bytes(page.bytes)}; open it in any browser")
