"""`wordsway reproduce`: the paper's figures from one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import command_line, finish, print_result, progress_line


@opt.grouped
def reproduce_command(
    running: opt.RunningOptions,
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to reproduce: a number (1 to 5), a panel (1-left, 2-right, 3.3, "
            "4-minilm, …), all, or a study beyond the paper.",
            metavar="[FIGURE...|all]",
        ),
    ] = None,
    quick: Annotated[
        bool, opt.flag("--quick", help="A subset: d = 192 (768 for depth), 3 trials.")
    ] = False,
    out: opt.Folder = Path("out/reproduce"),
    seed: opt.Seed = 0,
    forecast: opt.Forecast = False,
    as_json: opt.AsJson = False,
) -> None:
    """Reproduce the paper's figures, with error bars, theory curves and certificates.

    An interrupted run resumes with the same command.

    Example: wordsway reproduce --quick
    """
    from wordsway.paper.reproduce import forecast_reproduction, reproduce

    names = figures or []
    if forecast:
        workers = running.workers
        cost = forecast_reproduction(names, quick=quick, out=out, seed=seed, workers=workers)
        print_result(cost, as_json)
        return
    command = ["reproduce", *names, *(["--quick"] if quick else []), "--out", str(out)]
    with progress_line() as progress:
        result = reproduce(
            names,
            quick=quick,
            out=out,
            seed=seed,
            **running.options,
            command=command_line(command),
            progress=progress,
        )
    finish(result, as_json, command)
