"""Where cells run: a Dask cluster, on this machine or on many. The only file that imports Dask.

Any scheduler that is already running will do, whatever started its workers (dask-jobqueue,
dask-kubernetes, a list of machines); the workers need wordsway installed. Dask runs cells of a dead
worker again elsewhere.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from wordsway.errors import InputError, WordswayError
from wordsway.experiments.jobs import Job
from wordsway.experiments.workers import DEATHS, Outcome, work

#: Seconds that a scheduler gets to answer.
PATIENCE = 10
#: Cells submitted per worker ahead of their turn.
AHEAD = 2


class DaskCluster:
    """Cells as tasks of a Dask cluster: ``tcp://host:port``, or ``local:4`` for a scheduler and
    four workers here.
    """

    def __init__(self, address: str, memory: int) -> None:
        from distributed import Client, LocalCluster

        self.local: Any = None
        for noisy in (
            "distributed",
            "distributed.worker",
            "distributed.nanny",
            "distributed.scheduler",
            "distributed.comm",
            "tornado",
        ):
            logging.getLogger(noisy).setLevel(logging.CRITICAL)
        here = address.removeprefix("local:") if address.startswith("local:") else None
        if here is not None and (not here.isdecimal() or int(here) < 1):
            raise InputError(
                "a cluster as tcp://host:port or local:COUNT",
                repr(address),
                "local:4 starts four workers here",
            )
        try:
            if here is not None:
                self.local = LocalCluster(
                    n_workers=int(here),
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    memory_limit=max(memory // int(here), 2**30),
                )
                self.client = Client(self.local, timeout=PATIENCE)
            else:
                self.client = Client(address, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            self.close()
            raise WordswayError(
                f"no Dask scheduler answered at {address} within {PATIENCE} s ({str(error).splitlines()[0][:120]}): "
                "start one with `dask scheduler`, or use --cluster local:4"
            ) from None

    def run(
        self, cells: Iterable[Job], needs: Callable[[Job], int], wanted: Callable[[Job], bool]
    ) -> Iterator[Outcome]:
        from distributed import as_completed

        waiting = (cell for cell in cells if wanted(cell))
        ahead = AHEAD * max(1, len(self.client.scheduler_info(n_workers=-1)["workers"]))
        queue = as_completed(with_results=False)
        running: dict[Any, tuple[Any, Job]] = {}

        def submit() -> None:
            cell = next(waiting, None)
            if cell is not None:
                future = self.client.submit(
                    work, cell, key=f"cell-{cell.key}", pure=False, retries=DEATHS
                )
                running[future.key] = (future, cell)
                queue.add(future)

        for _ in range(ahead):
            submit()
        for future in queue:
            _, cell = running.pop(future.key)
            error = future.exception()
            outcome = (
                future.result()
                if error is None
                else Outcome(cell, None, {}, f"{type(error).__name__}: {error}".splitlines()[0])
            )
            future.release()
            submit()
            yield outcome

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close()
        with contextlib.suppress(Exception):
            if self.local is not None:
                self.local.close()
