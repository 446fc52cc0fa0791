"""What cells cost: bytes counted for admission, time told before a grid is run."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from wordsway.experiments.cells import Cell
from wordsway.experiments.forecast import Forecast, forecast
from wordsway.experiments.jobs import Job
from wordsway.experiments.lessons import lesson_bytes
from wordsway.experiments.text_cells import RATE, TextCell, model_bytes, text_seconds, text_units
from wordsway.experiments.texts import TextOptions

#: A process with torch, before it measures anything; and with a pretrained model's tools.
BASE, BASE_TEXT = 300_000_000, 550_000_000
#: Looks per word of a search on weights drawn on demand: of one word, and of each of many.
LOOKS, LOOKS_OF_MANY = 17, 7


@lru_cache(maxsize=100_000)
def cell_bytes(job: Job) -> int:
    """Bytes that a worker takes at most while it runs this cell, counted from the sizes."""
    if isinstance(job, TextCell):
        return BASE_TEXT + model_bytes(job.model, job.model_sha256, job.tokens, job.layer)
    cell = _of_a_grid(job)
    request, words = cell.request, cell.request.searched
    k, n, d = request.features, cell.n, cell.d
    if cell.train is not None:
        return int(BASE_TEXT + lesson_bytes(request, cell.train))
    base = BASE if cell.data == "gaussian" else BASE_TEXT
    if cell.map in ("rf", "drf"):
        layers = request.layers or 1
        look = 16 * (k + d) + 48 * k * (layers - 1)
        looks = LOOKS * words if words <= 8 else LOOKS_OF_MANY * words + 8 * LOOKS
        return int(base + min(1.2 * look * looks, 1.5 * request.memory) + 240 * k * layers)
    rows = min(64, 24 if words > 8 else 64) * words
    return int(
        base
        + min(rows * (48 * n + 32 * d), request.memory)
        + 36 * d * d
        + 60 * n * 56 * 96 / 12
        + 96 * n * n
    )


@lru_cache(maxsize=100_000)
def units(job: Job) -> float:
    """Relative cost within one kind of cells (`kind`), for ordering and for interpolating."""
    if isinstance(job, TextCell):
        return text_units(job)
    cell = _of_a_grid(job)
    request, words = cell.request, cell.request.searched
    steps = LOOKS if words <= 8 else LOOKS_OF_MANY
    if cell.train is not None:
        return (
            (cell.train + 1) ** 2 * request.features / 50
            + (cell.train + 1) * cell.n * cell.d**2 / 50
            + 1e6
        )
    if cell.map in ("rf", "drf"):
        return (
            words * steps * request.features * (1 + 8 * ((request.layers or 1) - 1)) * cell.effort
        )
    return words * (cell.n * cell.d + cell.d**2) * cell.effort + 1e5


def typical_seconds(job: Job) -> float:
    """About what a cell takes on a two-core machine, to weigh progress; `forecast_cells` asks the
    machine itself.
    """
    if isinstance(job, TextCell):
        return 0.03 + RATE * units(job)
    cell = _of_a_grid(job)
    many = cell.request.searched > 8
    if cell.train is not None:
        return 0.3 + 3e-9 * units(cell)
    rate = {"rf": 7e-8 if many else 1.3e-7, "drf": 5e-8}.get(cell.map, 3e-8 if many else 2e-7)
    return 0.03 + rate * units(cell)


def kind(job: Job) -> tuple[object, ...]:
    """Cells whose costs follow one curve of `units`."""
    if isinstance(job, TextCell):
        return (job.model, job.model_sha256, job.layer, job.at)
    cell = _of_a_grid(job)
    return (
        cell.map,
        cell.request.layers,
        cell.request.searched > 8,
        cell.certificate,
        cell.effort,
        cell.train is None,
    )


def _of_a_grid(job: Job) -> Cell:
    """The cell itself: costs are known for cells of a grid and for texts."""
    if not isinstance(job, Cell):
        raise TypeError(f"no costs are known for {type(job).__name__}")
    return job


@dataclass(frozen=True)
class GridForecast:
    """Cells, seconds with so many workers, and the peak of all workers together."""

    cells: int
    seconds: float
    bytes: float
    workers: int


def forecast_cells(cells: Sequence[Job], workers: int, memory: int) -> GridForecast:
    """Time of the cells on this machine: three sizes of every kind are tried for a moment, the
    others lie between them.
    """
    kinds: dict[tuple[object, ...], list[Job]] = {}
    for cell in cells:
        kinds.setdefault(kind(cell), []).append(cell)
    total = 0.0
    for jobs in kinds.values():
        texts = [job for job in jobs if isinstance(job, TextCell)]
        if texts:
            total += text_seconds(texts)
            continue
        some = [_of_a_grid(job) for job in jobs]
        if some[0].train is not None:
            total += sum(typical_seconds(cell) for cell in some)
            continue
        points = sorted({cell.group: cell for cell in some}.values(), key=units)
        tried = {at: _tried(points[at]) for at in {0, len(points) // 2, len(points) - 1}}
        curve = sorted(
            (math.log(units(points[at])), math.log(max(cost.seconds, 1e-3)))
            for at, cost in tried.items()
        )
        count = Counter(cell.group for cell in some)
        total += sum(
            count[cell.group] * math.exp(_between(curve, math.log(units(cell)))) for cell in points
        )
    needs = sorted((cell_bytes(cell) for cell in cells), reverse=True)[:workers]
    peak = needs[0] if needs and sum(needs) > memory else sum(needs)
    return GridForecast(len(cells), total / max(1, min(workers, len(cells))), peak, workers)


def _tried(cell: Cell) -> Forecast:
    """The forecast of one cell; Gaussian rows stand in for a corpus, which costs the search the
    same.
    """
    positions = (
        cell.positions if cell.positions == "all" or not isinstance(cell.positions, str) else "all"
    )
    if not isinstance(positions, str) and any(isinstance(one, str) for one in positions):
        positions = tuple(range(min(cell.n, len(positions))))
    return forecast(
        replace(cell.request, data="gaussian", texts=TextOptions(), positions=positions)
    )


def _between(curve: list[tuple[float, float]], x: float) -> float:
    """Linear between the points, their ends' values outside."""
    if x <= curve[0][0]:
        return curve[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(curve):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / max(x1 - x0, 1e-12)
    return curve[-1][1]
