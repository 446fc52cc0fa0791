"""The driver of a grid: run what is left, store what is done, lose nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wordsway.experiments.budget import cell_bytes, units
from wordsway.experiments.jobs import Job
from wordsway.experiments.store import LOOSE, Record, Store
from wordsway.experiments.workers import Executor


class SweepProgress(Protocol):
    """Told what is left before the first cell, then of every cell as it is done or fails."""

    def begin(self, left: Sequence[Job]) -> None: ...

    def __call__(
        self, cell: Job | None, done: int, total: int, failed: int, seconds: float
    ) -> None: ...


@dataclass
class Swept:
    """What a run did: cells in all, done before, now, and meanwhile by other runs; failures with
    their errors.
    """

    total: int
    before: int
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    elsewhere: int = 0
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def left(self) -> int:
        return (
            self.total
            - self.before
            - self.done
            - self.elsewhere
            - len(self.failed)
            - len(self.skipped)
        )


def sweep(
    cells: Sequence[Job],
    store: Store,
    executor: Executor,
    *,
    retry_failed: bool = False,
    progress: SweepProgress | None = None,
) -> Swept:
    """Run the cells that the store does not have, largest first; each is stored as soon as it is
    done.

    Ctrl-C stops the workers and returns what was done; `kill -9` loses at most the cells that were
    running.
    """
    started = time.perf_counter()
    unique = {cell.key: cell for cell in cells}
    failures = store.failures()
    left = [cell for key, cell in unique.items() if key not in store]
    swept = Swept(len(unique), len(unique) - len(left))
    if not retry_failed:
        swept.skipped = {cell.key: failures[cell.key] for cell in left if cell.key in failures}
        left = [cell for cell in left if cell.key not in swept.skipped]
    left.sort(key=lambda cell: (-units(cell), cell.key))
    if progress is not None:
        progress.begin(left)
    try:
        for outcome in executor.run(left, cell_bytes, lambda cell: cell.key not in store):
            if outcome.outputs is None:
                swept.failed[outcome.cell.key] = outcome.error or "unknown"
                store.fail(outcome.cell.content, outcome.error or "unknown")
            else:
                store.add(Record(outcome.cell.content, outcome.outputs, outcome.facts))
                swept.done += 1
            if len(store.loose) >= 2 * LOOSE:
                store.pack()
            if progress is not None:
                progress(
                    outcome.cell,
                    swept.before + swept.done,
                    swept.total,
                    len(swept.failed),
                    time.perf_counter() - started,
                )
    except KeyboardInterrupt:
        swept.interrupted = True
    finally:
        executor.close()
    swept.elsewhere = sum(key in store for key in unique) - swept.before - swept.done
    if not swept.interrupted:
        store.pack(least=LOOSE)
    swept.seconds = time.perf_counter() - started
    return swept
