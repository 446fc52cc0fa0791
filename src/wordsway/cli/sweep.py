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
    run: opt.RunOptions,
    shard: str | None = opt.option(
        None, "Part of the grid to run, as INDEX/COUNT: 3/64.", group=opt.RUNNING
    ),
    merge: list[Path] | None = opt.option(
        None,
        "Results folder of another run whose cells to add first; may be repeated.",
        group=opt.RUNNING,
    ),
) -> None:
    """Measure a grid of random maps that a TOML file describes.

    An interrupted sweep resumes with the same command.

    Example: wordsway sweep grid.toml --out out/grid
    """
    from wordsway.studies.sweep import forecast_sweep, sweep

    if run.forecast:
        print_result(forecast_sweep(file, run.out, workers=run.workers), run.as_json)
        return
    with progress_line() as progress:
        result = sweep(file, **run.options, shard=shard, merge=merge or [], progress=progress)
    again = [] if shard is None else ["--shard", shard]
    finish(result, run.as_json, ["sweep", str(file), "--out", str(run.out), *again])
