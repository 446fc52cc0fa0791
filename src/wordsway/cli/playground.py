"""`wordsway playground`: random attention to play with, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def playground_command(
    out: Annotated[Path, typer.Option("--out", help="The page, a file that ends in .html.")] = Path(
        "playground.html"
    ),
) -> None:
    """Write the playground: one file that any browser opens, without a server or a network."""
    from wordsway.core.format import format_bytes
    from wordsway.page.playground import playground

    page = playground(out)
    typer.echo(f"{out}: {format_bytes(page.bytes)}; open it in any browser")
