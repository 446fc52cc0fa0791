"""How cost grows with n, d, k and L, from the cells of a finished run: `python -m benchmarks cost
out/full`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas

from wordsway.engine.store import Store
from wordsway.studies.tables import cells_frame


def cells(folder: Path) -> pandas.DataFrame:
    """The cells of a finished run, with their times."""
    return cells_frame(Store(folder / "store"), facts=True)


def page(frame: pandas.DataFrame) -> str:
    """Tables of docs/notes/cost.md: exponents of median times, times at the paper's sizes."""
    frame = frame[frame["seconds"] > 0]
    frame = frame[frame["train"].isna()] if "train" in frame else frame
    lines = [
        "| map | rows | seconds ≈ | fitted over | from … to (median of trials) |",
        "|---|---|---|---|---|",
    ]
    for series, rows in frame.groupby(["map", "positions"]):
        name, positions = (str(one) for one in series)
        points = rows.groupby(["n", "d", "depth"], dropna=False)["seconds"].median().reset_index()
        lines.append(
            f"| {name} | {'all' if positions == 'all' else 'first'} | {_law(points)} | "
            f"{_range(points)} | {_ends(points)} |"
        )
    sizes = [
        "| map | rows | n | d | L | k | seconds (median, one core) | certified |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for series, rows in frame.groupby(["map", "positions"]):
        name, positions = (str(one) for one in series)
        for n, d in sorted(
            {
                (int(rows["n"].min()), int(rows["d"].min())),
                (int(rows["n"].max()), int(rows["d"].max())),
            }
        ):
            some = rows[(rows["n"] == n) & (rows["d"] == d)]
            for depth in sorted(some["depth"].dropna().unique()) or [None]:
                part = some if depth is None else some[some["depth"] == depth]
                proved = "yes" if part["upper"].notna().all() else "no"
                cells = [
                    name,
                    "all" if positions == "all" else "first",
                    n,
                    d,
                    "" if depth is None else int(depth),
                    f"{n * d:,}",
                ]
                sizes.append(
                    f"| {' | '.join(map(str, cells))} | {part['seconds'].median():.2f} | {proved} |"
                )
    return "\n".join([*lines, "", *sizes])


#: Where the cells of a map that learns nothing are drawn.
FIGURES = {
    "rf": "2 left (RF)",
    "drf": "2 right (DRF)",
    "raf": "3.1 (RAF)",
    "relu-raf": "3.2 (ReLU-RAF)",
}


def by_figure(frame: pandas.DataFrame) -> str:
    """Computing time of a finished `wordsway reproduce` on one core, by figure, width and data."""
    learns = frame["train"].notna() if "train" in frame else pandas.Series(False, frame.index)
    penalised = learns & (frame["loss"] == "penalised") if learns.any() else learns
    figure = frame["map"].map(FIGURES).astype(object)
    figure[learns] = "4 (learning)"
    figure[penalised] = "5 (learning, γ costs)"
    frame = frame.assign(figure=figure)
    lines = ["| figure | d | data | cells | minutes of one core | largest cell |", "|" + "---|" * 6]
    for series, rows in frame.groupby(["figure", "d", "data"]):
        name, d, data = series
        lines.append(
            f"| {name} | {d} | {data} | {len(rows):,} | {rows['seconds'].sum() / 60:.1f} | "
            f"{rows['seconds'].max():.1f} s |"
        )
    total = frame["seconds"].sum() / 60
    return "\n".join([*lines, f"| all | | | {len(frame):,} | {total:.0f} | |"])


def _law(points: pandas.DataFrame) -> str:
    """Exponents by least squares on logarithms, of the sizes that vary."""
    columns, names = [np.ones(len(points))], []
    for column, letter in (("n", "n"), ("d", "d"), ("depth", "L")):
        values = points[column].astype(float)
        if values.notna().all() and values.nunique() > 1:
            columns.append(np.log(values.to_numpy()))
            names.append(letter)
    weights, *_ = np.linalg.lstsq(
        np.stack(columns, 1), np.log(points["seconds"].to_numpy()), rcond=None
    )
    return (
        " · ".join(
            f"{letter}^{power:.1f}" for letter, power in zip(names, weights[1:], strict=True)
        )
        + f" × {np.exp(weights[0]):.1e}"
    )


def _range(points: pandas.DataFrame) -> str:
    parts = [
        f"n = {points['n'].min()}…{points['n'].max()}",
        f"d = {', '.join(str(d) for d in sorted(points['d'].unique()))}",
    ]
    depths = sorted(int(depth) for depth in points["depth"].dropna().unique())
    return ", ".join(parts + ([f"L = {', '.join(map(str, depths))}"] if depths else []))


def _ends(points: pandas.DataFrame) -> str:
    return f"{points['seconds'].min():.2f} s … {points['seconds'].max():.1f} s"
