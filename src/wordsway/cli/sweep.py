"""`wordsway sweep`: a grid of your own; resumes per cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import echo_json, progress_line, report_failures


def sweep_command(
    file: Annotated[Path, typer.Argument(help="A study in TOML.", metavar="FILE.toml")],
    out: opt.Folder,
    workers: opt.Workers = None,
    cluster: opt.Cluster = None,
    memory: opt.WorkersMemory = None,
    retry_failed: opt.RetryFailed = False,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Measure a grid of random maps that a TOML file describes.

    An interrupted sweep resumes with the same command.

    Example: wordsway sweep grid.toml --out out/grid
    """
    from wordsway.studies.sweep import forecast_sweep, sweep

    if forecast:
        cost = forecast_sweep(file, out, workers=workers)
        echo_json(cost.to_dict()) if as_json else cost.show()
        return
    limit = None if memory is None else opt.bytes_of(memory)
    with progress_line() as progress:
        result = sweep(
            file,
            out,
            workers=workers,
            cluster=cluster,
            memory=limit,
            retry_failed=retry_failed,
            progress=progress,
        )
    echo_json(result.to_dict()) if as_json else result.show()
    if not as_json:
        report_failures(result.tally, ["sweep", str(file), "--out", str(out)])
    if not result.tally.complete:
        raise typer.Exit(1)
