"""`make bench`: the naive procedure against ours, and how tight the certificates are, into docs/performance.md.

`python -m benchmarks run CASE WHO` runs one measurement in this process and prints it as JSON.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.cases import CASES, run
from benchmarks.tightness import GRID, ratios

DOCS = Path(__file__).resolve().parent.parent / "docs"
MARK = "<!-- measured: everything below is written by `make bench` -->"
REPEATS, DRAWS = 3, 10


def fresh(case: str, who: str) -> dict[str, Any]:
    """One measurement in a process of its own, so that peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks", "run", case, who]
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
        print(f"{case.title}: naive {plain}, ours {row['ours']}, certified {row['certified']}", file=sys.stderr, flush=True)
    return rows


def comparison_table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| case | naive: S, time, peak | ours: S, time, peak | times faster | with certificate: S ≤, time, peak |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        case, plain, ours, both = row["case"], row["naive"], row["ours"], row["certified"]
        left = f"{plain['value']:.4g}, {plain['seconds']:.1f} s, {plain['peak_mb']:.0f} MB" if plain else case.naive_note
        left += f" ({case.naive_note})" if plain and case.naive_note else ""
        ratio = f"{plain['seconds'] / row['median']:,.0f}" if plain else "–"
        middle = f"{ours['value']:.4g}, {row['median']:.2f} s, {ours['peak_mb']:.0f} MB"
        right = f"{both['upper']:.4g}, {row['median_certified']:.2f} s, {both['peak_mb']:.0f} MB"
        lines.append(f"| {case.title} | {left} | {middle} | {ratio} | {right} |")
    return "\n".join(lines)


def tightness_table() -> str:
    lines = ["| map | n | d | L | certified ÷ attained: median | largest of the draws |", "|---|---|---|---|---|---|"]
    for name, grid in GRID.items():
        for n, d, depth in grid:
            found = ratios(name, n, d, depth, DRAWS)
            lines.append(f"| {name} | {n} | {d} | {depth if name == 'drf' else ''} | {statistics.median(found):.3f} | {max(found):.3f} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def picture(rows: list[dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    from wordsway.report.plot import STYLE

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
        both = [row for row in rows if row["naive"]]
        places = list(range(len(both)))[::-1]
        axes.barh([p + 0.2 for p in places], [row["naive"]["seconds"] for row in both], 0.38, color="#999999", label="naive")
        axes.barh([p - 0.2 for p in places], [row["median"] for row in both], 0.38, color="#0072B2", label="wordsway")
        for place, row in zip(places, both, strict=True):
            axes.text(row["median"] * 1.15, place - 0.2, f"{row['naive']['seconds'] / row['median']:,.0f}×", va="center", fontsize=9.5)
        axes.set_xscale("log")
        axes.set_yticks(places, [row["case"].title for row in both])
        axes.set_xlabel("seconds (log scale)")
        axes.set_title("The same weights and text, the naive procedure against ours", fontsize=11)
        axes.legend(loc="lower right")
        figure.savefig(DOCS / "performance.png", dpi=150)
        plt.close(figure)


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        print(json.dumps(run(CASES[sys.argv[2]], sys.argv[3])))
        return
    rows = compare()
    picture(rows)
    facts = f"torch {torch.__version__}, Python {platform.python_version()}, {torch.get_num_threads()} threads"
    page = DOCS / "performance.md"
    head = page.read_text().split(MARK)[0]
    page.write_text(
        f"{head}{MARK}\n\n## The naive procedure against ours\n\n`make bench`; {facts}. Times of ours are medians of {REPEATS} "
        f"runs, each in a fresh process; peak memory includes Python and torch (about 240 MB).\n\n{comparison_table(rows)}\n\n"
        f"![seconds of both procedures](performance.png)\n\n## How tight the certificates are\n\nOne word, Gaussian texts, {DRAWS} draws "
        f"each; all certificates held.\n\n{tightness_table()}\n"
    )


if __name__ == "__main__":
    main()
