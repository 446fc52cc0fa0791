"""The naive procedure and wordsway: S, time and peak memory, each in fresh processes."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.fresh import fresh


def compare(names: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        case = CASES[name]
        ours = [fresh(name, "ours") for _ in range(repeats)]
        certified = [fresh(name, "ours-certified") for _ in range(repeats)]
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


def comparison(
    repeats: int = 3, names: Sequence[str] = tuple(CASES), picture: Path | None = None
) -> str:
    """The table of some cases, and where there is a place for it, the picture of all of them."""
    rows = compare(names, repeats)
    if picture is not None:
        draw(rows, picture)
    lines = [
        "| case | naive: S, time, peak | wordsway: S, time, peak | times faster | with "
        "certificate: S ≤, time, peak |",
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
        "The *naive procedure* is what a first script would do: a full forward pass of the whole "
        "text, autograd, float64, one random start, one word, plain gradient ascent projected on "
        "the ball: 50·n steps for attention, 300 for fully connected maps, with the best of five "
        "step sizes. Both procedures have the same weights and the same text. S is the largest "
        "relative change found (larger is better), S ≤ the certified upper bound. Times of "
        f"wordsway: the median of {repeats} runs, each in a fresh process; the naive procedure "
        "runs once. Peak memory includes Python and torch (about 240 MB)."
    )
    shown = ["", "![seconds of both procedures](performance.png)"] if picture is not None else []
    return "\n".join([note, "", *lines, *shown])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
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
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")  # no formulas in this style
        axes.set_yticks(places, [row["case"].title for row in both])
        axes.set_xlabel("seconds (log scale)")
        axes.set_title("The same weights and text, the naive procedure and wordsway", fontsize=11)
        axes.legend(loc="lower right")
        figure.savefig(path, dpi=150)
