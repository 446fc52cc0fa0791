"""`wordsway tour`: the four maps over a few n, and a picture of S against n."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wordsway.atomic import atomic
from wordsway.cli.progress import reporting

if TYPE_CHECKING:
    from wordsway.experiments import Measurement

TOUR_N = (10, 20, 40, 80, 120)


def tour_command(
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the picture and the table.")
    ] = Path("out/tour"),
    d: Annotated[int, typer.Option("--d", help="Embedding dimension.")] = 192,
    trials: Annotated[int, typer.Option("--trials", help="Draws per point.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
) -> None:
    """A short tour: measure the four maps over a few n and draw S against n with the theory curves."""
    from rich.console import Console

    from wordsway.experiments import MAPS, Request, measure
    from wordsway.experiments.curves import sensitivity_against_n
    from wordsway.format import format_bytes, format_seconds
    from wordsway.render.terminal.measurement import tour_table
    from wordsway.runtime import peak_bytes

    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    console.print(
        f"How far can one word move a layer? d = {d}, {trials} draws per point, seed {seed}.\n",
        highlight=False,
    )
    requests = [
        Request(name, n, d, depth=4 if name == "drf" else None, trials=trials, seed=seed)
        for name in MAPS
        for n in TOUR_N
    ]
    results: list[Measurement] = []
    with reporting(len(requests), "measurement") as reporter:
        for index, request in enumerate(requests):
            report = reporter.trial(index)
            results.append(measure(request, progress=lambda _: report))
            if results[-1].interrupted:
                raise KeyboardInterrupt
    console.print(tour_table(results))
    _write_table(results, out / "tour.csv")
    chart = sensitivity_against_n(results)
    pictures = [chart.save(out / f"tour.{kind}") for kind in ("png", "svg", "pdf")]
    spent = sum(result.seconds for result in results)
    console.print(
        f"\n{format_seconds(spent)} of measuring, peak memory {format_bytes(peak_bytes())}.",
        highlight=False,
    )
    console.print(
        f"The picture: {pictures[0]} (also .svg, .pdf); the numbers: {out / 'tour.csv'}",
        highlight=False,
        soft_wrap=True,
    )


def _write_table(results: list[Measurement], path: Path) -> None:
    """One row per trial."""
    with atomic(path) as partial, partial.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            [
                "map",
                "n",
                "d",
                "k",
                "depth",
                "trial",
                "lower",
                "upper",
                "certificate",
                "position",
                "seconds",
                "sample_seed",
                "map_seed",
                "search_seed",
            ]
        )
        for result in results:
            r = result.request
            for index, t in enumerate(result.trials):
                sizes = [r.map, r.n, r.d, r.features, r.layers, index]
                writer.writerow(
                    [
                        *sizes,
                        t.lower,
                        t.upper,
                        t.certificate,
                        t.position,
                        f"{t.seconds:.3f}",
                        t.sample_seed,
                        t.map_seed,
                        t.search_seed,
                    ]
                )
