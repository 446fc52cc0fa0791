"""`wordsway tour`: every map over a few n, and a picture of S against n."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordsway.cli import options as opt
from wordsway.cli.progress import progress_line
from wordsway.errors import needs


def tour_command(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the picture and the table.")
    ] = Path("out/tour"),
    d: opt.Dimension = 192,
    trials: opt.Trials = 3,
    seed: opt.Seed = 0,
) -> None:
    """A short tour: measure every map over a few n and draw S against n with the theory curves."""
    from wordsway.experiments.sweep import writable
    from wordsway.experiments.tour import tour
    from wordsway.format import format_bytes, format_seconds
    from wordsway.runtime import peak_bytes

    needs("figures", "matplotlib")
    folder = writable(out)
    typer.echo(
        f"How far can one word move a layer? d = {d}, {trials} draws per point, seed {seed}.\n"
    )
    with progress_line() as progress:
        result = tour(d=d, trials=trials, seed=seed, progress=progress)
    result.show()
    chart = result.chart()
    pictures = [chart.save(folder / f"tour.{kind}") for kind in ("png", "svg", "pdf")]
    table = result.save(folder / "tour.csv")
    spent = sum(measured.seconds for measured in result.measurements)
    memory = format_bytes(peak_bytes())
    typer.echo(f"\n{format_seconds(spent)} of measuring, peak memory {memory}.")
    typer.echo(f"The picture: {pictures[0]} (also .svg, .pdf); the numbers: {table}")
