"""`wordsway reproduce`: the paper's figures from one command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wordsway.cli.progress import fetching
from wordsway.cli.running import folder, run_cells, tell, tell_forecast
from wordsway.cli.waiting import waiting

if TYPE_CHECKING:
    from wordsway.experiments.cells import Cell
    from wordsway.experiments.store import Store
    from wordsway.experiments.sweep import Swept
    from wordsway.paper.figures import Figure
    from wordsway.paper.model_figures import ModelFigure
    from wordsway.paper.sources import Sources

LEAD = (
    "The figures of “Towards Understanding the Word Sensitivity of Attention Layers” (Bombari and Mondelli, ICML 2024), "
    "measured anew: S is the largest relative change of a layer’s features when one word moves by at most its own norm. "
    "Figures 4 and 5 ask what follows: can a linear readout of the layer learn that this word flips the label? "
    "Figures 1, 3.3 and 3.4 show the same inside pretrained models."
)


def reproduce_command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            help="1-left, 2-right, 3.3, 4-minilm, 5-gaussian …; 1, 2, 3, 4, 5 or all.",
            metavar="[FIGURE...|all]",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Some of the same cells: d = 192 (768 for depth), 3 trials."),
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", help="Folder for the figures, the page and the store.")
    ] = Path("out/reproduce"),
    seed: Annotated[int, typer.Option("--seed", help="Of the whole study.")] = 0,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Processes on this machine; one per core by default."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="A Dask scheduler, tcp://host:port, or local:COUNT."),
    ] = None,
    memory: Annotated[
        float | None, typer.Option("--memory", help="Limit for all workers together, in GiB.")
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run cells again that failed before.")
    ] = False,
    forecast: Annotated[
        bool, typer.Option("--forecast", help="Say what it would cost, without running it.")
    ] = False,
) -> None:
    """The paper's figures with error bars, theory curves, certificates and provenance; kill it and
    it resumes.

    Example: wordsway reproduce --quick
    """
    from wordsway.experiments.store import Store
    from wordsway.paper.figures import Sources, choose, sources
    from wordsway.paper.model_figures import ModelFigure

    chosen = choose(figures or [])
    store = Store(folder(out) / "store")
    grids = any(not isinstance(figure, ModelFigure) for figure in chosen)
    with fetching() as progress:
        available = (
            Sources({})
            if not grids
            else sources(
                not forecast, lambda done, total: progress("reviews and model", done, total)
            )
        )
    cells = {figure.name: figure.cells(available, quick=quick, seed=seed) for figure in chosen}
    every = [cell for some in cells.values() for cell in some]
    if forecast:
        tell_forecast(every, store, workers)
        return
    models = [figure for figure in chosen if isinstance(figure, ModelFigure)]
    shown = _model_figures(models, out, seed, available)
    swept = run_cells(
        every, store, workers=workers, cluster=cluster, memory=memory, retry_failed=retry_failed
    )
    ours = Path(sys.argv[0]).name.startswith(("wordsway", "__main__"))
    command = shlex.join(["wordsway", *(sys.argv[1:] if ours else ["reproduce"])])
    page = _render(chosen, cells, shown, store, available, swept, out, command, seed, quick)
    tell(swept, store, command)
    typer.echo(f"The page: {page}")
    if swept.interrupted or swept.failed or swept.skipped:
        raise typer.Exit(1)


def _model_figures(
    figures: list[ModelFigure], out: Path, seed: int, available: Sources
) -> dict[str, dict[str, Any]]:
    """Figures about pretrained models, with the models that are here; the others are told as
    missing.
    """
    shown: dict[str, dict[str, Any]] = {}
    with waiting("pretrained models") as say:
        for figure in figures:
            model = figure.model()
            if model is None:
                available.missing.append(figure.missing())
                continue
            from wordsway.paper.model_drawing import make

            say(f"Figure {figure.name} with {model}", 0, 0)
            shown[figure.name] = make(figure, out, model, seed)
    return shown


def _render(
    chosen: list[Figure],
    cells: dict[str, list[Cell]],
    shown: dict[str, dict[str, Any]],
    store: Store,
    available: Sources,
    swept: Swept,
    out: Path,
    command: str,
    seed: int,
    quick: bool,
) -> Path:
    """Figures, tables and the page from what is stored."""
    from rich.console import Console

    from wordsway.experiments.store import export, without_facts
    from wordsway.format import format_seconds
    from wordsway.paper.claims import findings
    from wordsway.paper.drawing import caption, draw_figure
    from wordsway.paper.model_drawing import told
    from wordsway.paper.model_figures import ModelFigure, model_finding
    from wordsway.paper.page import Page, Plate, write_page
    from wordsway.render.terminal.findings import findings_table
    from wordsway.result import versions

    plates, spent = [], {}
    about_models = []
    for figure in chosen:
        if isinstance(figure, ModelFigure):
            if figure.name in shown:
                files = [f"{figure.name}.{kind}" for kind in ("png", "svg", "pdf", "csv", "json")]
                plates.append(
                    Plate(
                        figure.title,
                        out / f"{figure.name}.svg",
                        told(figure, shown[figure.name]),
                        files,
                    )
                )
                about_models.append(model_finding(figure, shown[figure.name]))
            continue
        keys = [cell.key for cell in cells[figure.name] if cell.key in store]
        facts = store.frame(keys, facts=True)
        frame = without_facts(facts)
        written = draw_figure(figure, frame, out / figure.name)
        if not written:
            continue
        tables = export(frame, facts, out, figure.name)
        spent[figure.name] = float(facts["seconds"].sum())
        below = f"{caption(figure, frame)} {len(frame):,} cells, {format_seconds(spent[figure.name])} of one core."
        files = [path.name for path in [*written, *tables]]
        plates.append(Plate(figure.title, out / f"{figure.name}.svg", below, files))
    everything = store.frame(
        [cell.key for some in cells.values() for cell in some if cell.key in store], facts=True
    )
    found = [one for one in about_models if one is not None] + findings(
        everything, available.missing
    )
    Console().print(findings_table(found))
    provenance = {
        "seed": str(seed),
        "cells": f"{len(everything):,} of {swept.total:,}; {len(swept.failed | swept.skipped)} failed",
        "computing time": "; ".join(
            f"Figure {name}: {format_seconds(seconds)}" for name, seconds in spent.items()
        )
        + " (of one core)",
        "this run": format_seconds(swept.seconds),
        "largest worker": f"{everything['peak_mb'].max():.0f} MB" if len(everything) else "–",
        "machines": ", ".join(sorted(set(everything["host"]))) if len(everything) else "–",
        "versions": ", ".join(f"{name} {value}" for name, value in versions().items()),
        "stored in": str(store.folder),
    }
    page = Page(
        "How far can one word sway a layer?",
        LEAD + (" A quick subset of the full run." if quick else ""),
        plates,
        found,
        provenance,
        command,
    )
    return write_page(page, out / "index.html")
