"""The paper's effect on real text: S against n for IMDb reviews through MiniLM and MPNet, into
docs/imdb.*.
"""

from __future__ import annotations

import time
from pathlib import Path

from wordsway.core.chart import Chart, Curve, Panel, ReferenceLine
from wordsway.core.laws import fit_slope
from wordsway.studies.measure import Measurement, measure
from wordsway.studies.texts import TextOptions
from wordsway.theory import wide_relu_rf

GRIDS = {
    "rf": tuple(range(90, 151, 10)),
    "raf": (10, 20, 50, 100, 150, 200, 250),
    "relu-raf": (10, 20, 50, 100, 150, 200, 250),
}
TITLES = {"rf": "RF", "raf": "RAF (softmax)", "relu-raf": "ReLU-RAF"}
WIDTHS = ((192, "minilm"), (384, "minilm"), (768, "mpnet"))


def run(folder: Path, trials: int = 10) -> list[Measurement]:
    """Measure, draw, and print the table of docs/notes/imdb.md."""
    started = time.perf_counter()
    results = []
    for name, grid in GRIDS.items():
        for d, model in WIDTHS:
            for n in grid:
                texts = TextOptions(padding="paper")
                data = f"imdb:{model}"
                results.append(measure(name, n, d, trials=trials, data=data, texts=texts))
                print(f"{name} d={d} n={n}: {results[-1].mean:.4f}", flush=True)
    chart = Chart([_panel(name, results) for name in GRIDS])
    for kind in ("png", "svg"):
        chart.save(folder / f"imdb.{kind}")
    print(_table(results))
    print(f"{time.perf_counter() - started:.0f} s")
    return results


def _panel(name: str, results: list[Measurement]) -> Panel:
    curves = []
    for colour, (d, model) in enumerate(WIDTHS):
        rows = [r for r in results if r.request.map == name and r.request.d == d]
        slope = _slope(rows)
        label = f"d = {d}, {'MiniLM' if model == 'minilm' else 'MPNet'}" + (
            f", slope {slope:.2f}" if name == "rf" else ""
        )
        curves.append(
            Curve(
                label,
                [r.request.n for r in rows],
                [r.mean or 0 for r in rows],
                [r.sd or 0 for r in rows],
                [r.mean_upper for r in rows],
                colour,
            )
        )
    references = []
    if name == "rf":
        first = curves[0]
        references.append(ReferenceLine("1/√n", first.x, [n**-0.5 for n in first.x]))
        references.append(
            ReferenceLine(
                "theory, (1 + √(2/n))/√n", first.x, [wide_relu_rf(n, 768) for n in first.x], 5
            )
        )
    return Panel(TITLES[name], curves, references, logarithmic=name == "rf")


def _slope(rows: list[Measurement]) -> float:
    slope = fit_slope(
        [r.request.n for r in rows for _ in r.trials], [t.lower for r in rows for t in r.trials]
    )
    assert slope is not None
    return slope.value


def _table(results: list[Measurement]) -> str:
    lines = [
        "| map | d, model | S at the smallest … largest n | fitted slope | largest ÷ smallest |",
        "|---|---|---|---|---|",
    ]
    for name in GRIDS:
        for d, model in WIDTHS:
            rows = [r for r in results if r.request.map == name and r.request.d == d]
            means = [r.mean or 0 for r in rows]
            slope = fit_slope(
                [r.request.n for r in rows for _ in r.trials],
                [t.lower for r in rows for t in r.trials],
            )
            lines.append(
                f"| {name} | {d}, {model} | {means[0]:.3g} … {means[-1]:.3g} | {slope} | "
                f"{max(means) / min(means):.2f} |"
            )
    return "\n".join(lines)
