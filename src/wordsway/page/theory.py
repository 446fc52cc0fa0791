"""The place *Theory*: S of random maps against n, with certified bands, theory and claims.

Cells are those of `wordsway sweep`, kept in a store: what was measured once is there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wordsway.core.chart import Chart, Curve, Panel, Reference
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.engine.agreement import Agreement
from wordsway.engine.job import Job
from wordsway.engine.run import Machines, run_jobs
from wordsway.engine.store import Store
from wordsway.engine.workers import Executor, Outcome, work
from wordsway.maps.registry import MAPS
from wordsway.page.commands import theory_command, theory_python
from wordsway.page.desk import Desk
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from wordsway.studies.slopes import fit_slope

#: Work of one cell, in floating-point operations, and its bytes: more is for the command line.
MOST_WORK, MOST_BYTES = 2e13, 3 * 2**30
#: Points of a smooth curve.
FINE = 40
#: What the name of a curve of the theory says where S does not fall.
STAYS = "Ω(1)"
#: A slope (± its error) is called flat or falling by these.
FLAT, FALLING = -0.1, -0.3


@dataclass(frozen=True)
class Here(Machines):
    """Jobs one after the other in this process, which is a worker already."""

    def executor(self, progress: Progress = silent) -> Executor:
        return _Here(progress)


@dataclass(frozen=True)
class _Here:
    """``progress`` is called inside a cell, too, where a cancelled task stops."""

    progress: Progress

    def run(
        self, jobs: Iterable[Job], agreement: Agreement, wanted: Callable[[Job], bool]
    ) -> Iterator[Outcome]:
        for job in jobs:
            if wanted(job):
                run = partial(job.run, self.progress) if isinstance(job, Cell) else None
                yield work(job, agreement.for_job(job), run=run)

    def close(self) -> None:
        """Nothing runs beside this process."""


def maps_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """The maps of the registry, and their options."""
    yield {
        "kind": "maps",
        "opening": opening(),
        "maps": [
            {
                "name": kind.name,
                "title": kind.title,
                "about": kind.about,
                "colour": kind.style.colour,
                "options": [
                    {"name": one.name, "default": one.default, "help": one.help}
                    for one in kind.options
                ],
            }
            for kind in MAPS.values()
        ],
    }


def opening() -> list[str]:
    """Two maps to begin with: the first whose S falls by the theory, the first whose S stays.

    >>> opening()
    ['rf', 'raf']
    """
    found: dict[bool, str] = {}
    for name in MAPS:
        request = Request(name, 4, 4)
        labels = [one.label for one in request.kind.references(request.d, **request.settings)]
        if labels:
            found.setdefault(any(STAYS in label for label in labels), name)
    return list(found.values())


def theory_steps(ask: dict[str, Any], desk: Desk) -> Iterator[dict[str, Any]]:
    """Events: what is asked, the series after every cell, the claims at the end."""
    requests = requests_of(ask)
    store = _store(desk.store)
    cells = [Cell(one, trial) for one in requests for trial in range(ask["trials"])]
    left = [cell for cell in cells if cell.key not in store]
    yield {
        "kind": "plan",
        "total": len(cells),
        "kept": len(cells) - len(left),
        "command": theory_command(ask),
        "python": theory_python(ask),
        "series": series(requests, store, ask["trials"]),
    }
    failures: dict[str, str] = {}
    for done, cell in enumerate(left):
        stage = f"cell {done + 1} of {len(left)}"
        inside = partial(_of_cell, desk.progress, stage, done, len(left))
        inside("", 0, 1)
        tally = run_jobs([cell], store, Here(workers=1), retry_failed=True, progress=inside)
        failures |= tally.failures
        yield {
            "kind": "series",
            "done": done + 1,
            "left": len(left) - done - 1,
            "series": series(requests, store, ask["trials"]),
        }
    yield {
        "kind": "claims",
        "claims": claims(series(requests, store, ask["trials"])),
        "failures": sorted(set(failures.values())),
    }
    yield {"kind": "done"}


def _of_cell(
    progress: Progress,
    stage: str,
    before: int,
    cells: int,
    part: str,
    done: float,
    total: float,
    note: str = "",
) -> None:
    """Progress inside one cell as progress of them all."""
    progress(stage, before + (done / total if total else 0), cells, note)


def requests_of(ask: dict[str, Any]) -> list[Request]:
    """A request for each map and n, the smallest n first; what is too large is refused."""
    found = []
    for n in sorted(set(ask["n"])):
        for chosen in ask["maps"]:
            request = Request(
                chosen["map"], n, ask["d"], chosen["options"], seed=ask["seed"], data=ask["data"]
            )
            cost = Cell(request).cost()
            if cost.work > MOST_WORK or cost.bytes > MOST_BYTES:
                raise InputError(
                    "sizes that take seconds",
                    f"{request.kind.title} with n = {n}, d = {ask['d']}",
                    "take a smaller n or d, or measure it with wordsway sweep",
                )
            found.append(request)
    return found


def series(requests: list[Request], store: Store, trials: int) -> list[dict[str, Any]]:
    """What the store has: for each map the mean S (± sd) and certified end at every n, with the
    theory's curves.
    """
    found: dict[str, dict[str, Any]] = {}
    for request in requests:
        label = label_of(request)
        one = found.setdefault(
            label,
            {
                "name": label,
                "colour": request.kind.style.colour,
                "n": [],
                "mean": [],
                "sd": [],
                "upper": [],
                "trials": [],
                "request": request,
            },
        )
        keys = [Cell(request, trial).key for trial in range(trials)]
        done = [key for key in keys if key in store]
        outputs = [record.outputs for _, record in store.records(done)] if done else []
        if not outputs:
            continue
        lower = [float(output["lower"]) for output in outputs]
        upper = [output["upper"] for output in outputs]
        mean = sum(lower) / len(lower)
        spread = sum((value - mean) ** 2 for value in lower) / max(1, len(lower) - 1)
        one["n"].append(request.n)
        one["mean"].append(mean)
        one["sd"].append(spread**0.5)
        sure = None if any(value is None for value in upper) else sum(upper) / len(upper)
        one["upper"].append(sure)
        one["trials"].append(len(lower))
    for one in found.values():
        one["references"] = references(one.pop("request"), one)
    return list(found.values())


def references(request: Request, one: dict[str, Any]) -> list[dict[str, Any]]:
    """The theory's curves through what was measured."""
    measured = dict(zip(one["n"], one["mean"], strict=True))
    if len(measured) < 2:
        return []
    low, high = min(measured), max(measured)
    fine = [low * (high / low) ** (step / FINE) for step in range(FINE + 1)]
    lines = []
    for curve in request.kind.references(request.d, **request.settings):
        x: list[float] = fine if curve.smooth else [float(n) for n in measured]
        lines.append({"name": curve.label, "x": x, "y": curve.values(x, measured)})
    return lines


def label_of(request: Request) -> str:
    """A map with the options that were chosen."""
    said = [f"{name} = {value}" for name, value in request.options.items()]
    return ", ".join([request.kind.title, *said])


def claims(found: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What the paper says of each map, beside the slope of log S against log n."""
    rows = []
    for one in found:
        slope = fit_slope(one["n"], one["mean"])
        measured = "three lengths n are needed" if slope is None else f"slope {slope}"
        verdict = "not measured"
        stays = any(STAYS in line["name"] for line in one["references"])
        claim = f"S stays, {STAYS}" if stays else "S falls with n"
        if not one["references"]:
            claim = "no claim of the paper's" if slope is not None else "–"
        if slope is not None and one["references"]:
            holds = slope.low >= FALLING and slope.value >= FLAT if stays else slope.high < FLAT
            fails = slope.high < FLAT if stays else slope.low >= FLAT
            verdict = "agrees" if holds else "disagrees" if fails else "not determined"
        sure = [
            (low, top)
            for low, top in zip(one["mean"], one["upper"], strict=True)
            if top is not None
        ]
        if sure:
            ratio = max(top / low for low, top in sure)
            measured += f"; certified at most {ratio:.2f} times what was attained"
        rows.append({"map": one["name"], "claim": claim, "measured": measured, "verdict": verdict})
    return rows


def chart_of(ask: dict[str, Any], desk: Desk) -> Chart:
    """What the file of a theory place holds: what is in the store."""
    requests = requests_of(ask)
    curves, lines = [], []
    for one in series(requests, _store(desk.store), ask["trials"]):
        if one["n"]:
            curves.append(
                Curve(one["name"], one["n"], one["mean"], one["sd"], one["upper"], one["colour"])
            )
            lines += [
                Reference(f"{one['name']}: {line['name']}", line["x"], line["y"], one["colour"])
                for line in one["references"]
            ]
    if not curves:
        raise WordswayError("nothing of this is measured yet: press Draw first")
    title = f"Word sensitivity of random maps, d = {ask['d']}, {ask['data']}"
    return Chart([Panel(title, curves, lines, logarithmic=True)])


def _store(folder: Path | None) -> Store:
    if folder is None:
        raise WordswayError("this server keeps no cells")
    return Store(folder)
