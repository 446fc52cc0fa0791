"""The place *Theory*: S of random maps against n; its cells are those of `wordsway sweep`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from wordsway.core.chart import Chart, Curve, Panel, ReferenceLine
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.laws import fit_slope
from wordsway.core.progress import part_of
from wordsway.engine.provenance import provenance_of
from wordsway.engine.store import Record, Store
from wordsway.engine.workers import work
from wordsway.maps.registry import MAPS
from wordsway.page.worker import WorkerState, file_event
from wordsway.paper.figure import OPEN
from wordsway.paper.sensitivity_curves import CLAIMS, judge_slope, theorem_3, theory_curves
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from wordsway.studies.sweep import LENGTHS
from wordsway.studies.tables import text_of

#: Limits of one cell: features times rows, and bytes; larger ones need the command line.
MOST_SIZE, MOST_BYTES = 3e6, 3 * 2**30
#: The maps that are shown first: by the theory S of one falls, and S of the other does not.
OPENING = ["rf", "raf"]
#: Okabe and Ito's colours first: colour-blind readers can distinguish them.
MAP_COLOURS = {
    "rf": "#0072B2",
    "drf": "#009E73",
    "raf": "#D55E00",
    "relu-raf": "#CC79A7",
    "sigmoid": "#56B4E9",
    "gpt-block": "#E69F00",
    "bert-block": "#4D4D4D",
    "attention": "#000000",
    "sink": "#B8860B",
    "multi-head": "#882255",
    "linear-attention": "#999933",
}
#: Of further sets of options of a map.
OTHER_COLOURS = ("#7570B3", "#66A61E", "#E7298A")
#: Of a map without its own colour.
GREY = "#999999"


def maps_steps(asked: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The maps of the registry, and their options."""
    yield {
        "kind": "maps",
        "opening": OPENING,
        "maps": [
            {
                "name": kind.name,
                "title": kind.title,
                "about": kind.about,
                "colour": MAP_COLOURS.get(kind.name, GREY),
                "options": [
                    {"name": one.name, "default": one.default, "help": one.help}
                    for one in kind.options
                ],
            }
            for kind in MAPS.values()
        ],
    }


def theory_steps(asked: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """Events: the plan, the series after every cell, the claims at the end."""
    requests, store = requests_of(asked), Store(state.store)
    cells = [Cell(one, trial) for one in requests for trial in range(asked["trials"])]
    left = [cell for cell in cells if cell.key not in store]
    yield {
        "kind": "plan",
        "total": len(cells),
        "kept": len(cells) - len(left),
        **_commands(asked),
        "series": series(requests, store, asked["trials"]),
    }
    failures: set[str] = set()
    provenance = provenance_of(cells, store)
    for done, cell in enumerate(left):
        # In this process, which is a worker already: a cancelled task stops inside a cell.
        inside = part_of(state.progress, f"cell {done + 1} of {len(left)}", done, len(left))
        inside("", 0, 1)
        outcome = work(cell, provenance, run=partial(cell.run, inside))
        if outcome.outputs is None:
            failures.add(outcome.error or "unknown")
        else:
            store.add(Record(cell.content, outcome.outputs, outcome.facts))
        yield {
            "kind": "series",
            "done": done + 1,
            "left": len(left) - done - 1,
            "series": series(requests, store, asked["trials"]),
        }
    yield {
        "kind": "claims",
        "claims": claims(requests, store, asked["trials"]),
        "failures": sorted(failures),
    }
    yield {"kind": "done"}


def requests_of(asked: dict[str, Any]) -> list[Request]:
    """A request for each map and n, the smallest n first; too large ones are refused."""
    found = []
    for n in sorted(set(asked["n"])):
        for chosen in asked["maps"]:
            how = {"seed": asked["seed"], "data": asked["data"]}
            request = Request(chosen["map"], n, asked["d"], chosen["options"], **how)
            if Cell(request).size > MOST_SIZE or Cell(request).peak_bytes() > MOST_BYTES:
                raise InputError(
                    "sizes that take seconds to compute",
                    f"{request.kind.title} with n = {n}, d = {asked['d']}",
                    "use a smaller n or d, or wordsway sweep",
                )
            found.append(request)
    return found


def series(requests: list[Request], store: Store, trials: int) -> list[dict[str, Any]]:
    """Mean S (± sd), certified bound and theory of each map, of the stored cells at every n."""
    found = []
    drawn: set[str] = set()
    spare = iter(OTHER_COLOURS)
    for label, some in by_label(requests).items():
        name = some[0].map
        colour = next(spare, GREY) if name in drawn else MAP_COLOURS.get(name, GREY)
        drawn.add(name)
        one: dict[str, Any] = {"name": label, "colour": colour}
        one |= {name: [] for name in ("n", "mean", "sd", "upper", "trials")}
        for request in some:
            outputs = _outputs(request, store, trials)
            if outputs:
                lower = [float(output["lower"]) for output in outputs]
                upper = [output["upper"] for output in outputs]
                mean = sum(lower) / len(lower)
                spread = sum((value - mean) ** 2 for value in lower) / max(1, len(lower) - 1)
                one["n"].append(request.n)
                one["mean"].append(mean)
                one["sd"].append(spread**0.5)
                one["upper"].append(None if None in upper else sum(upper) / len(upper))
                one["trials"].append(len(lower))
        means = dict(zip(one["n"], one["mean"], strict=True))
        lines = theory_curves(some[-1].map, some[-1].d, means, **some[-1].settings)
        one["references"] = [
            {"name": line.label, "x": line.x, "y": line.y, "style": line.style} for line in lines
        ]
        found.append(one)
    return found


def by_label(requests: list[Request]) -> dict[str, list[Request]]:
    """The requests of each map with its options."""
    found: dict[str, list[Request]] = {}
    for request in requests:
        options = [f"{name} = {value}" for name, value in request.options.items()]
        found.setdefault(", ".join([request.kind.title, *options]), []).append(request)
    return found


def _outputs(request: Request, store: Store, trials: int) -> list[dict[str, Any]]:
    keys = [Cell(request, trial).key for trial in range(trials)]
    done = [key for key in keys if key in store]
    return [record.outputs for _, record in store.records(done)] if done else []


def claims(requests: list[Request], store: Store, trials: int) -> list[dict[str, str]]:
    """The paper's claim about each map and the slope of log S on log n, judged as in figures."""
    rows = []
    for label, some in by_label(requests).items():
        cells = [(one.n, found) for one in some for found in _outputs(one, store, trials)]
        n, lower = [length for length, _ in cells], [found["lower"] for _, found in cells]
        texts = [text_of(found) for _, found in cells]
        slope = fit_slope(n, lower, texts) if len(set(n)) >= LENGTHS else None
        measured = "a slope needs three values of n" if slope is None else f"slope {slope}"
        request, claim, rule, verdict = some[0], "none in the paper", "–", "–"
        if request.map in CLAIMS and request.options.keys() <= {"depth"}:
            claim, verdict = CLAIMS[request.map], OPEN
            depth = request.settings.get("depth")
            if slope is not None:
                verdict, rule = judge_slope(request.map, slope, n, request.d, depth)
                rule += f". {theorem_3([request.d])}" if request.map == "raf" else ""
        ratios = [found["upper"] / found["lower"] for _, found in cells if found["upper"]]
        if ratios:
            measured += f"; certified at most {max(ratios):.2f} times the attained value"
        row = {"map": label, "claim": claim, "measured": measured}
        rows.append(row | {"rule": rule, "verdict": verdict})
    return rows


def theory_file(asked: dict[str, Any], state: WorkerState) -> Iterator[dict[str, Any]]:
    """The stored curves as a file."""
    curves, lines = [], []
    for one in series(requests_of(asked), Store(state.store), asked["trials"]):
        if one["n"]:
            curves.append(
                Curve(one["name"], one["n"], one["mean"], one["sd"], one["upper"], one["colour"])
            )
            lines += [
                ReferenceLine(
                    f"{one['name']}: {line['name']}",
                    line["x"],
                    line["y"],
                    one["colour"],
                    line["style"],
                )
                for line in one["references"]
            ]
    if not curves:
        raise WordswayError("none of these maps has been measured: press Draw first")
    title = f"Word sensitivity of random maps, d = {asked['d']}, {asked['data']}"
    chart = Chart([Panel(title, curves, lines, logarithmic=True)])
    yield file_event(chart, asked["ending"], "theory")


TASKS = {"maps": maps_steps, "theory": theory_steps, "theory/file": theory_file}


def _commands(asked: dict[str, Any]) -> dict[str, str]:
    """The same cells as a file of `wordsway sweep` with its command, and in Python."""
    lines = [f"seed = {asked['seed']}", f"trials = {asked['trials']}"]
    for chosen in asked["maps"]:
        lines += ["", "[[grid]]", f"map = {json.dumps(chosen['map'])}"]
        lines += [f"n = {json.dumps(sorted(set(asked['n'])))}", f"d = {asked['d']}"]
        lines += [f"data = {json.dumps(asked['data'])}"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in chosen["options"].items()]
    grid = "\n".join(lines)
    command = f"cat > grid.toml <<'END'\n{grid}\nEND\nwordsway sweep grid.toml --out out/grid"
    python = (
        "import wordsway as ws\nfrom wordsway.studies.spec import parse_study\n\n"
        f"study = parse_study({grid!r})\nprint(ws.sweep(study, 'out/grid').means())"
    )
    return {"command": command, "python": python}
