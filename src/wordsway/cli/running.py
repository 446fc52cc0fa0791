"""What `sweep`, `reproduce` and batches of `words` share: executors, progress over cells, the
closing summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wordsway.cli.progress import EVERY, Line, time_left
from wordsway.errors import InputError
from wordsway.format import format_bytes, format_seconds

if TYPE_CHECKING:
    from wordsway.experiments.jobs import Job
    from wordsway.experiments.store import Store
    from wordsway.experiments.sweep import Swept


class CellProgress:
    """Cells done, failed, and the time left, weighed by what cells cost."""

    def __init__(self, cells: Sequence[Job], what: str = "cells") -> None:
        from wordsway.experiments.budget import typical_seconds

        self.weights = {cell.key: typical_seconds(cell) for cell in cells}
        self.line, self.what = Line(), what
        self.done_weight = self.left_weight = 0.0

    def begin(self, left: Sequence[Job]) -> None:
        self.left_weight = sum(self.weights[cell.key] for cell in left)
        if self.left_weight > EVERY:  # the first cell may take long
            self.line.quiet = 0.0
            self.line.show(lambda: f"{len(left):,} {self.what} to do")

    def __call__(
        self, cell: Job | None, done: int, total: int, failed: int, seconds: float
    ) -> None:
        if cell is not None:
            self.done_weight += self.weights[cell.key]
        left = time_left(seconds, self.done_weight / max(self.left_weight, 1e-9))
        self.line.show(
            lambda: (
                f"{done:,} of {total:,} {self.what}{left}"
                + (f", {failed} failed" if failed else "")
            )
        )

    def close(self) -> None:
        self.line.close()


def run_cells(
    cells: Sequence[Job],
    store: Store,
    *,
    workers: int | None,
    cluster: str | None,
    memory: float | None,
    retry_failed: bool,
    what: str = "cells",
) -> Swept:
    """Run what is left on this machine or a cluster, with progress."""
    from wordsway.experiments.sweep import sweep
    from wordsway.experiments.workers import LocalWorkers, cores
    from wordsway.runtime import available_memory

    if workers is not None and not 1 <= workers <= 1024:
        raise InputError("workers between 1 and 1024", workers, "leave it out for one per core")
    if memory is not None and not 0 < memory < 2**20:
        raise InputError(
            "a memory limit in GiB", memory, "leave it out for four fifths of what is free"
        )
    limit = int(memory * 2**30) if memory is not None else int(0.8 * available_memory())
    progress = CellProgress(cells, what)
    try:
        if cluster is not None:
            from wordsway.experiments.dask_cluster import DaskCluster

            return sweep(
                cells,
                store,
                DaskCluster(cluster, limit),
                retry_failed=retry_failed,
                progress=progress,
            )
        return sweep(
            cells,
            store,
            LocalWorkers(workers or cores(), limit),
            retry_failed=retry_failed,
            progress=progress,
        )
    finally:
        progress.close()


def tell(swept: Swept, store: Store, again: str, what: str = "cells") -> None:
    """What was done, what failed and how to run it again."""
    parts = [f"{swept.done:,} {what} done now", f"{swept.before:,} before"]
    parts += [f"{swept.elsewhere:,} by other runs"] if swept.elsewhere else []
    typer.echo(
        f"{', '.join(parts)}, of {swept.total:,}; {format_seconds(swept.seconds)}; kept in {store.folder}"
    )
    failed = swept.failed | swept.skipped
    if failed:
        reasons: dict[str, int] = {}
        for error in failed.values():
            reasons[error] = reasons.get(error, 0) + 1
        for error, count in sorted(reasons.items(), key=lambda item: -item[1])[:5]:
            typer.echo(f"  {count} failed: {error}", err=True)
        typer.echo(f"  run them again with: {again} --retry-failed", err=True)
    if swept.interrupted:
        typer.echo(
            f"interrupted with {swept.left:,} {what} left: run the same command again to go on",
            err=True,
        )


def tell_forecast(
    cells: Sequence[Job],
    store: Store | None,
    workers: int | None,
    *,
    as_json: bool = False,
    what: str = "cells",
) -> None:
    from wordsway.cli.progress import echo_json
    from wordsway.experiments.budget import forecast_cells
    from wordsway.experiments.workers import cores
    from wordsway.runtime import available_memory

    left = [cell for cell in cells if store is None or cell.key not in store]
    cost = forecast_cells(left, workers or cores(), int(0.8 * available_memory()))
    if as_json:
        fields = {what: len(cells), "left": len(left), "workers": cost.workers}
        echo_json(fields | {"forecast_seconds": cost.seconds, "forecast_peak_mb": cost.bytes / 1e6})
        return
    typer.echo(
        f"{len(left):,} of {len(cells):,} {what} left: about {format_seconds(cost.seconds)} with {cost.workers} workers, "
        f"peak memory {format_bytes(cost.bytes)} in all"
    )


def folder(out: Path) -> Path:
    """The output folder, checked before any work."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "a folder that can be written",
            f"{out} ({error.strerror})",
            "choose another one with --out",
        ) from None
    return out
