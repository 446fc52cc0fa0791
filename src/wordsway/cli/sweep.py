"""`wordsway sweep`: a grid of your own; resumes per cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wordsway.cli.running import folder, run_cells, tell, tell_forecast


def sweep_command(
    file: Annotated[Path, typer.Argument(help="A study in TOML.", metavar="FILE.toml")],
    out: Annotated[
        Path,
        typer.Option(
            "--out", help="Folder for the store and the tables; several runs may share it."
        ),
    ],
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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document and nothing else.")
    ] = False,
) -> None:
    """Run a grid of your own. Kill it at any time: the same command goes on where it was.

    Example: wordsway sweep grid.toml --out out/grid
    """
    from wordsway.cli.progress import echo_json
    from wordsway.experiments.spec import load_study
    from wordsway.experiments.store import Store, export, without_facts

    study = load_study(file)
    store = Store(folder(out) / "store")
    if forecast:
        tell_forecast(study.cells, store, workers, as_json=as_json)
        return
    swept = run_cells(
        study.cells,
        store,
        workers=workers,
        cluster=cluster,
        memory=memory,
        retry_failed=retry_failed,
    )
    done = [cell.key for cell in study.cells if cell.key in store]
    facts = store.frame(done, facts=True)
    tables = export(without_facts(facts), facts, out)
    if as_json:
        fields: dict[str, Any] = {
            "study": study.name,
            "key": study.key,
            "total": swept.total,
            "done": swept.done,
            "before": swept.before,
        }
        fields |= {
            "failed": swept.failed | swept.skipped,
            "interrupted": swept.interrupted,
            "tables": [str(path) for path in tables],
        }
        echo_json(fields)
    else:
        tell(swept, store, f"wordsway sweep {file} --out {out}")
        typer.echo(f"tables: {', '.join(str(path) for path in tables)}")
    if swept.interrupted or swept.failed or swept.skipped:
        raise typer.Exit(1)
