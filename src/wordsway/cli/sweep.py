"""`wordsway sweep`: a user-defined grid; an interrupted run resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import finish, print_result, progress_line


@opt.grouped
def sweep_command(
    file: Annotated[Path, typer.Argument(help="Description of the grid.", metavar="FILE.toml")],
    out: opt.Folder,
    running: opt.RunningOptions,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            help="Part of the grid to run, as INDEX/COUNT: 3/64.",
            rich_help_panel=opt.RUNNING,
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            "--merge",
            help="Results folder of another run whose cells to add first; may be repeated.",
            rich_help_panel=opt.RUNNING,
        ),
    ] = None,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Measure a grid of random maps that a TOML file describes.

    An interrupted sweep resumes with the same command.

    Example: wordsway sweep grid.toml --out out/grid
    """
    from wordsway.studies.sweep import forecast_sweep, sweep

    if forecast:
        print_result(forecast_sweep(file, out, workers=running.workers), as_json)
        return
    with progress_line() as progress:
        result = sweep(
            file, out, **running.options, shard=shard, merge=merge or [], progress=progress
        )
    again = [] if shard is None else ["--shard", shard]
    finish(result, as_json, ["sweep", str(file), "--out", str(out), *again])
