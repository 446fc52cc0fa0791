"""`make bench`: the naive procedure against ours, how tight the certificates are, and how true
forecasts are.

Each part is a section of docs/performance.md; `python -m benchmarks tightness` (or `compare`,
`zoo`, `forecasts`, `learning`, `probing`, `embedding`) renews just that one. `python -m benchmarks
cost FOLDER` reads docs/cost.md off a finished `wordsway reproduce`; `python -m benchmarks effect`
measures the paper's effect on IMDb reviews, for docs/data.md; `python -m benchmarks attack` kills,
fuzzes and feeds hostile files, and fails where something was lost. `python -m benchmarks run CASE
WHO` runs one measurement in this process and prints it as JSON.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks import cost, effect, learning, page, probing, zoo
from benchmarks.attack.report import attack
from benchmarks.cases import CASES, run
from benchmarks.tightness import GRID, ratios
from wordsway.data import home

DOCS = Path(__file__).resolve().parent.parent / "docs"
REPEATS, DRAWS = 3, 10


def fresh(case: str, who: str, what: str = "run") -> dict[str, Any]:
    """One measurement in a process of its own, so that peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks", what, case, who]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=DOCS.parent)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare() -> list[dict[str, Any]]:
    rows = []
    for name, case in CASES.items():
        ours = [fresh(name, "ours") for _ in range(REPEATS)]
        certified = [fresh(name, "ours-certified") for _ in range(REPEATS)]
        plain = fresh(name, "naive") if case.rate is not None else None
        row = {
            "case": case,
            "naive": plain,
            "ours": min(ours, key=lambda r: r["seconds"]),
            "certified": min(certified, key=lambda r: r["seconds"]),
            "median": statistics.median(r["seconds"] for r in ours),
            "median_certified": statistics.median(r["seconds"] for r in certified),
        }
        rows.append(row)
        print(
            f"{case.title}: naive {plain}, ours {row['ours']}, certified {row['certified']}",
            file=sys.stderr,
            flush=True,
        )
    return rows


def comparison() -> str:
    rows = compare()
    picture(rows)
    lines = [
        "| case | naive: S, time, peak | ours: S, time, peak | times faster | with certificate: "
        "S ≤, time, peak |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        case, plain, ours, both = row["case"], row["naive"], row["ours"], row["certified"]
        left = (
            f"{plain['value']:.4g}, {plain['seconds']:.1f} s, {plain['peak_mb']:.0f} MB"
            if plain
            else case.naive_note
        )
        left += f" ({case.naive_note})" if plain and case.naive_note else ""
        ratio = f"{plain['seconds'] / row['median']:,.0f}" if plain else "–"
        middle = f"{ours['value']:.4g}, {row['median']:.2f} s, {ours['peak_mb']:.0f} MB"
        right = f"{both['upper']:.4g}, {row['median_certified']:.2f} s, {both['peak_mb']:.0f} MB"
        lines.append(f"| {case.title} | {left} | {middle} | {ratio} | {right} |")
    note = (
        f"Times of ours are medians of {REPEATS} runs, each in a fresh process; peak memory "
        "includes Python and torch (about 240 MB)."
    )
    return "\n".join([note, "", *lines, "", "![seconds of both procedures](performance.png)"])


def tightness() -> str:
    lines = [
        "| map | n | d | L | certified ÷ attained: median | largest of the draws |",
        "|---|---|---|---|---|---|",
    ]
    for name, grid in GRID.items():
        for n, d, depth in grid:
            found = ratios(name, n, d, depth, DRAWS)
            lines.append(
                f"| {name} | {n} | {d} | {depth if name == 'drf' else ''} | "
                f"{statistics.median(found):.3f} | {max(found):.3f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(
        [f"One word, Gaussian texts, {DRAWS} draws each; all certificates held.", "", *lines]
    )


def forecasts() -> str:
    lines = [
        "| request | forecast: time, peak | real: time, peak | ratio of time | of memory |",
        "|---|---|---|---|---|",
    ]
    for line in FORECASTS:
        command = [sys.executable, "-m", "wordsway.cli.app", *line.split(), "--json"]
        told, real = (
            json.loads(
                subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout
            )
            for more in (["--forecast"], [])
        )
        seconds, peak = told["forecast_seconds"], told["forecast_peak_mb"]
        lines.append(
            f"| `{line}` | {seconds:.2f} s, {peak:.0f} MB | {real['seconds']:.2f} s, "
            f"{real['peak_mb']:.0f} MB "
            f"| {seconds / real['seconds']:.2f} | {peak / real['peak_mb']:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(["`--forecast` against the real run, each in a fresh process.", "", *lines])


FORECASTS = (
    "measure --map raf --n 250 --d 768",
    "measure --map raf --n 120 --d 768 --positions all",
    "measure --map relu-raf --n 100 --d 384 --trials 5",
    "measure --map rf --n 150 --d 768",
    "measure --map rf --n 90 --d 192 --positions all",
    "measure --map rf --n 20 --d 32 --positions all",
    "measure --map drf --depth 2 --n 50 --d 768 --positions 0,1,2,3",
    "measure --map drf --depth 8 --n 80 --d 768",
    "learn --map raf --n 40 --d 384 --train 400 --trials 3",
    "learn --map rf --n 40 --d 384 --train 200 --update retrain",
    "learn --map relu-raf --n 20 --d 192 --train 100 --positions all",
)


def picture(rows: list[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure

    from wordsway.render.plot.style import house_style

    with house_style():
        figure = Figure(figsize=(9, 4), layout="constrained")
        axes = figure.subplots()
        both = [row for row in rows if row["naive"]]
        places = list(range(len(both)))[::-1]
        axes.barh(
            [p + 0.2 for p in places],
            [row["naive"]["seconds"] for row in both],
            0.38,
            color="#999999",
            label="naive",
        )
        axes.barh(
            [p - 0.2 for p in places],
            [row["median"] for row in both],
            0.38,
            color="#0072B2",
            label="wordsway",
        )
        for place, row in zip(places, both, strict=True):
            axes.text(
                row["median"] * 1.15,
                place - 0.2,
                f"{row['naive']['seconds'] / row['median']:,.0f}×",
                va="center",
                fontsize=9.5,
            )
        axes.set_xscale("log")
        axes.set_yticks(places, [row["case"].title for row in both])
        axes.set_xlabel("seconds (log scale)")
        axes.set_title("The same weights and text, the naive procedure against ours", fontsize=11)
        axes.legend(loc="lower right")
        figure.savefig(DOCS / "performance.png", dpi=150)


def embedding() -> str:
    """1,000 reviews through the input layer of each model that is here, in fresh processes and an
    empty cache.
    """
    lines = [
        "| model | 1,000 reviews × 256 tokens to layer 0 | reading them back, checksums verified |",
        "|---|---|---|",
    ]
    for model in ("minilm", "mpnet"):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "data").symlink_to(home() / "data", target_is_directory=True)
            environment = os.environ | {"WORDSWAY_HOME": folder}
            command = [sys.executable, "-m", "benchmarks", "embed", model]
            times = [
                float(
                    subprocess.run(
                        command,
                        capture_output=True,
                        text=True,
                        check=True,
                        cwd=DOCS.parent,
                        env=environment,
                    ).stdout
                )
                for _ in range(2)
            ]
        lines.append(f"| {model} | {times[0]:.1f} s | {times[1]:.2f} s |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(
        ["Loading the model is part of the first column; each cell is a fresh process.", "", *lines]
    )


def embed(model: str) -> float:
    import wordsway as ws

    texts = [text.text for text in ws.draw(ws.corpus("imdb"), 1000, seed=0)]
    embedder = ws.Embedder(model)
    started = time.perf_counter()
    embedder.rows(texts)
    return time.perf_counter() - started


def learned() -> str:
    """Learning, each measurement in a fresh process."""
    lines = [
        "| map, n = 40, N = 100 | naive: error, time, peak | ours: error, time, peak | times "
        "faster |",
        "|---|---|---|---|",
    ]
    for case, (name, d) in learning.CASES.items():
        plain, ours = (fresh(case, who, "lesson") for who in ("naive", "ours"))
        told = [
            f"{one['error']:.3g}, {one['seconds']:.2f} s, {one['peak_mb']:,.0f} MB"
            for one in (plain, ours)
        ]
        lines.append(
            f"| {name}, d = {d} | {told[0]} | {told[1]} | "
            f"{plain['seconds'] / ours['seconds']:,.0f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    lines += [
        "",
        "| one trial, N = 1,300, n = 120, d = 768, Gaussian texts, re-trained | time | peak |",
        "|---|---|---|",
    ]
    for name in ("raf", "rf"):
        big = fresh(name, "large", "lesson")
        lines.append(f"| {name} | {big['seconds']:.1f} s | {big['peak_mb'] / 1000:.2f} GB |")
        print(lines[-1], file=sys.stderr, flush=True)
    checked, telling, gap = learning.inequality()
    lines += [
        "",
        f"√Err ≥ 2 − γ − S·(‖φ‖/‖v‖)·|y − f| with the certified S: {checked:,} of {checked:,} "
        "trials (n = 20, d = 16, N = 12, all maps, ",
    ]
    lines[-1] += (
        f"updates and losses); the floor was above 0 in {telling:,} of them, the smallest √Err − "
        f"√floor was {gap:.2g}."
    )
    note = (
        "Re-trained, direct loss, the same texts and weights. Naive: `pinv`, the p×p projector, "
        "full forward passes, autograd, "
        "50·n steps with the best of four step lengths (choosing it is not counted). "
        "The error is (f + y)²: 0 is a text whose label was turned."
    )
    return "\n".join([note, "", *lines])


def probed() -> str:
    """Pretrained models, each measurement in a fresh process."""
    names = ("command", "long", "determined", "curve", "ceiling", "prefix", "swaps")
    return probing.page({name: fresh(name, "ours", "probe") for name in names})


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "compare": ("The naive procedure against ours", comparison),
    "tightness": ("How tight the certificates are", tightness),
    "zoo": ("The attention family", zoo.page),
    "forecasts": ("How true forecasts are", forecasts),
    "learning": ("Learning", learned),
    "probing": ("Pretrained models", probed),
    "embedding": ("Embedding and reading back", embedding),
    "page": ("The page", page.table),
}


def renew(page: Path, heading: str, body: str) -> None:
    """Replace the section under ``heading``, or append it."""
    head, _, rest = page.read_text().partition(f"## {heading}\n")
    after = rest[rest.index("\n## ") + 1 :] if "\n## " in rest else ""
    page.write_text(
        f"{head.rstrip()}\n\n## {heading}\n\n{body.rstrip()}\n" + (f"\n{after}" if after else "")
    )


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(run(CASES[sys.argv[2]], sys.argv[3])))
        return
    if sys.argv[1:2] == ["lesson"]:
        print(json.dumps(learning.run(sys.argv[2], sys.argv[3])))
        return
    if sys.argv[1:2] == ["probe"]:
        print(json.dumps(probing.run(sys.argv[2])))
        return
    if sys.argv[1:2] == ["embed"]:
        print(embed(sys.argv[2]))
        return
    if sys.argv[1:2] == ["cost"]:
        renew(
            DOCS / "cost.md",
            "Measured",
            f"{cost.page(Path(sys.argv[2]))}\n\n*torch {torch.__version__}, one thread per cell, "
            "two workers.*",
        )
        return
    if sys.argv[1:2] == ["attack"]:
        page, faults = attack(*map(int, sys.argv[2:3]))
        renew(DOCS / "performance.md", "Under attack", f"`python -m benchmarks attack`\n\n{page}")
        if faults:
            sys.exit("\n".join(faults))
        return
    if sys.argv[1:2] == ["effect"]:
        effect.run(DOCS)
        return
    facts = (
        f"*torch {torch.__version__}, Python {platform.python_version()}, "
        f"{torch.get_num_threads()} threads.*"
    )
    for part in sys.argv[1:] or PARTS:
        heading, measured = PARTS[part]
        renew(DOCS / "performance.md", heading, f"{measured()}\n\n{facts}")


if __name__ == "__main__":
    main()
