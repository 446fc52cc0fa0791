"""`wordsway data`: corpora and models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli.options import AS_JSON, option
from wordsway.cli.output import echo_json, print_result, progress_line
from wordsway.data import entry, get, present
from wordsway.data.fetch import catalogue

data_app = typer.Typer(
    help="List and download corpora and models.",
    no_args_is_help=True,
)


def list_command(
    as_json: bool = AS_JSON,
) -> None:
    """List corpora and models with their sources and licences."""
    print_result(catalogue(), as_json)


def get_command(
    names: Annotated[
        list[str],
        typer.Argument(help="Names from wordsway data list, such as imdb.", metavar="NAME..."),
    ],
    folder: Path | None = option(
        None, "Copy the files from this folder instead of downloading.", "--from"
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Download and verify corpora and models; skip those already present."""
    found = []
    for name in names:
        entry(name)
    for name in names:
        before = present(name)
        with progress_line() as progress:
            here = get(name, progress=progress, folder=folder)
        found.append(
            {
                "name": name,
                "folder": str(here.folder),
                "from": here.source,
                "sha256": here.digest,
                "files": dict(here.files),
            }
        )
        if not as_json:
            checked = "verified" if folder is None else "its hashes recorded or verified"
            already = "already " if before == here and folder is None else ""
            typer.echo(f"{name}: {already}in {here.folder} (from {here.source}), {checked}")
    if as_json:
        echo_json(found[0] if len(found) == 1 else found)


data_app.command("list")(list_command)
data_app.command("get")(get_command)
