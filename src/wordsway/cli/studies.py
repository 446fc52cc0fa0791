"""`wordsway sweep` and `reproduce`: a grid of your own, and the paper's figures; both resume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli import options as opt
from wordsway.cli.output import command_line, finish, print_result, progress_line


@dataclass(frozen=True)
class ReproduceRun(opt.RunOptions):
    out: Path = opt.folder(Path("out/reproduce"))


@opt.grouped
def reproduce_command(
    run: ReproduceRun,
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help="Figures to reproduce: a number (1 to 5), a panel (1-left, 2-right, 3.3, "
            "4-minilm, …), all, or a study beyond the paper: ingredients, phase, readout, length, "
            "training.",
            metavar="[FIGURE...|all]",
        ),
    ] = None,
    quick: bool = opt.flag("--quick", "A subset: d = 192 (768 for depth), 3 trials."),
    seed: int = opt.SEED,
    text: Path | None = opt.option(None, "File with the text of Figure 3.3, such as an abstract."),
    style: str = opt.option(
        "screen", '"screen", or "icml": PNG and PDF in column or text width, serif.'
    ),
) -> None:
    """Reproduce the paper's figures, with bands of ± 1 sd, theory curves and certificates.

    An interrupted run resumes with the same command.

    Example: wordsway reproduce --quick
    """
    from wordsway.paper.reproduce import forecast_reproduction, reproduce

    names = figures or []
    how: dict[str, Any] = {"quick": quick, "seed": seed}
    if run.forecast:
        cost = forecast_reproduction(names, **how, out=run.out, workers=run.workers)
        print_result(cost, run.as_json)
        return
    command = ["reproduce", *names, *(["--quick"] if quick else []), "--out", str(run.out)]
    command += ["--text", str(text)] if text else []
    command += ["--style", style] if style != "screen" else []
    how |= {"text": text, "style": style, "command": command_line(command)}
    with progress_line() as progress:
        result = reproduce(names, **how, **run.options, progress=progress)
    finish(result, run.as_json, command)


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
