"""The tables of docs/notes/ingredients.md, read off a finished `wordsway reproduce studies`:
`python -m benchmarks studies out/studies`.
"""

from __future__ import annotations

import math
from pathlib import Path

import pandas

from wordsway.engine.store import Store
from wordsway.paper.ingredients import Ingredient, IngredientStudy
from wordsway.paper.phase import TRIALS
from wordsway.paper.reproduce import FIGURES
from wordsway.paper.sensitivity_curves import series_slope
from wordsway.studies.tables import cells_frame

#: The pictures of the page, and what they show.
PICTURES = {
    "ingredients": "S against n, one choice changed at a time",
    "readout": "S against n for what is read off the rows",
    "phase": "S of random attention over n/d and d, attained and certified",
}


def tables(folder: Path) -> dict[str, str]:
    """The sections' headings and bodies."""
    frame = cells_frame(Store(folder / "store"), facts=True)
    found = {}
    for heading, name in (("Ingredients", "ingredients"), ("Read-out", "readout")):
        figure = FIGURES[name]
        assert isinstance(figure, IngredientStudy)
        found[heading] = f"{_picture(name)}\n\n{comparison(figure, frame)}"
    found["More rows than dimensions"] = f"{_picture('phase')}\n\n{phase(frame)}"
    return found


def _picture(name: str) -> str:
    return f"![{PICTURES[name]}](../explanation/{name}.svg)"


def comparison(figure: IngredientStudy, frame: pandas.DataFrame) -> str:
    """One row per ingredient and kind of text."""
    lines = [
        "| map | texts | draws | S at the shortest and the longest n | certified there | "
        "slope, 95 % interval |",
        "|---|---|---|---|---|---|",
    ]
    labels = [
        (question, one) for question, compared in figure.questions.items() for one in compared
    ]
    checked = violated = 0
    seen: set[Ingredient] = set()
    for title, one in labels:
        if one in seen:
            continue
        seen.add(one)
        for data, d in figure.widths:
            rows = frame[(frame["data"] == data) & (frame["d"] == d) & frame["n"].isin(figure.n)]
            rows = figure.rows_of(rows, one)
            slope = None if rows.empty else series_slope(rows)
            if slope is None:
                continue
            both = rows.dropna(subset=["upper"])
            checked += len(both)
            violated += int((both["lower"] > both["upper"]).sum())
            name = one.label if not title.startswith("…") else f"{one.label}, of X + RAF"
            lines.append(f"| {name} | {data} | {_draws(rows)} | {_ends(rows)} | {slope:.2f} |")
    total = f"{checked:,} certified cells, {violated} of them attained more than their certificate."
    return "\n".join([*lines, "", total])


def _draws(rows: pandas.DataFrame) -> str:
    counts = rows.groupby("n")["trial"].nunique()
    least, most = int(counts.min()), int(counts.max())
    return str(least) if least == most else f"{least}–{most}"


def _ends(rows: pandas.DataFrame) -> str:
    """What is attained and certified at the first and the last n, as two cells of a table."""
    means = rows.groupby("n")[["lower", "upper"]].mean().sort_index()
    first, last = means.iloc[0], means.iloc[-1]
    attained = (
        f"{first['lower']:.3g} (n = {means.index[0]}), {last['lower']:.3g} (n = {means.index[-1]})"
    )
    if math.isnan(first["upper"]) or math.isnan(last["upper"]):
        return f"{attained} | –"
    return f"{attained} | ≤ {first['upper']:.3g}, ≤ {last['upper']:.3g}"


def phase(frame: pandas.DataFrame) -> str:
    """Attained and certified S by n/d and d, and how far the certificate is above."""
    rows = frame[(frame["map"] == "raf") & (frame["data"] == "gaussian")]
    rows = rows[rows["trial"] < TRIALS]  # the ingredients have more draws at one width
    for option in ("residual", "norm", "read_out"):
        rows = rows[rows[option].isna()] if option in rows else rows
    ratio = rows["n"] / rows["d"]
    widths = sorted(int(d) for d in rows["d"].unique())
    lines = [
        f"| n/d | {' | '.join(f'd = {d}' for d in widths)} | certified ÷ attained, median |",
        f"|---|{'---|' * (len(widths) + 1)}",
    ]
    for value in sorted(ratio.unique()):
        some = rows[ratio == value]
        if not math.log2(value).is_integer():
            continue
        cells = []
        for d in widths:
            here = some[some["d"] == d][["lower", "upper"]].mean()
            empty = math.isnan(here["lower"])
            cells.append("" if empty else f"{here['lower']:.2f}, ≤ {here['upper']:.2f}")
        loose = float((some["upper"] / some["lower"]).median())
        name = f"{value:g}" if value >= 1 else f"1/{round(1 / value)}"
        lines.append(f"| {name} | {' | '.join(cells)} | {loose:.2f} |")
    violated = int((rows["lower"] > rows["upper"]).sum())
    total = f"{len(rows):,} cells, {violated} of them attained more than their certificate."
    return "\n".join([*lines, "", total])
