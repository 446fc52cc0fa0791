"""The paper's figures from a table of cells, and what stands below them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from wordsway.chart import Chart, Curve, Panel, Reference
from wordsway.paper.claims import series_slope
from wordsway.paper.figures import TRIALS_EVERYWHERE, Curves, Figure, Scatter
from wordsway.paper.scatter import scatter_chart
from wordsway.theory import infinite_width, wide_relu_rf

if TYPE_CHECKING:
    import pandas

MAPS = {"rf": "RF", "drf": "DRF, d = 768", "raf": "RAF (softmax)", "relu-raf": "ReLU-RAF"}
MODELS = {"imdb:minilm": "MiniLM", "imdb:mpnet": "MPNet", "imdb:bert-base": "BERT-Base"}


def draw_figure(figure: Figure, frame: pandas.DataFrame, path: Path) -> list[Path]:
    """PNG, SVG and PDF beside each other; nothing where nothing was measured."""
    if frame.empty:
        return []
    if isinstance(figure, Scatter):
        chart = scatter_chart(figure, frame)
    else:
        assert isinstance(figure, Curves)
        chart = Chart(figure_panels(figure, frame))
    if not chart.panels:
        return []
    return [chart.save(path.with_name(f"{path.name}.{kind}")) for kind in ("png", "svg", "pdf")]


def caption(figure: Figure, frame: pandas.DataFrame) -> str:
    """How to read the figure."""
    trials = int(frame["trial"].max()) + 1
    if isinstance(figure, Scatter):
        return (
            f"Each point is one of {trials} new texts under new weights: the error of the updated model on the changed text, for which the "
            "opposite label is right, against γ = |f(X^i(Δ), θ*) − f(X, θ*)|, how far the old model already moved. A layer that does not "
            "see the word stays on the dashed curve (2 − γ)². Points beyond the axes stand on their edge."
        )
    assert isinstance(figure, Curves)
    rows = (
        f"Dashed: the sup over all rows ({min(trials, TRIALS_EVERYWHERE)} trials)."
        if figure.everywhere
        else "All rows have the same law under Gaussian weights."
    )
    return (
        f"Mean ± 1 sd over {trials} trials, log axes where a rate is claimed. Solid: the first row may change, as in the paper; "
        f"shaded up to the certified end, which may lie beyond the axes. {rows}"
    )


def figure_panels(figure: Curves, frame: pandas.DataFrame) -> list[Panel]:
    """Gaussian texts left, IMDb reviews right."""
    if frame.empty:
        return []
    panels = []
    for title, inside in (("Gaussian texts", False), ("IMDb reviews", True)):
        rows = frame[
            (frame["map"] == figure.map) & (frame["data"].str.startswith("imdb") == inside)
        ]
        if not rows.empty:
            panels.append(_panel(figure, title, rows))
    return panels


def _panel(figure: Curves, title: str, rows: pandas.DataFrame) -> Panel:
    curves: list[Curve] = []
    deep = figure.map == "drf"
    looks = {value: at for at, value in enumerate(figure.depths if deep else figure.widths)}
    for pair, some in rows.groupby(["data", "depth" if deep else "d"]):
        data, value = str(pair[0]), int(pair[1])  # type: ignore[call-overload]
        name = f"L = {value}" if deep else f"d = {value}"
        name += f", {MODELS[data]}" if data in MODELS else ""
        look = looks[value] + (3 if data == "imdb:bert-base" else 0)
        for positions, part in some.groupby("positions"):
            slope = series_slope(part)
            told = "" if slope is None or positions == "all" else f": slope {slope:.2f}"
            curves.append(
                _curve(
                    part,
                    f"{name}, any row" if positions == "all" else f"{name}{told}",
                    look,
                    dashed=positions == "all",
                )
            )
    curves.sort(key=lambda curve: (curve.dashed, curve.colour))
    return Panel(
        f"{MAPS[figure.map]} · {title}", curves, _references(figure, rows), logarithmic=figure.rate
    )


def _curve(rows: pandas.DataFrame, label: str, look: int, *, dashed: bool) -> Curve:
    points = rows.groupby("n")["lower"].agg(["mean", "std"]).sort_index()
    upper = rows.groupby("n")["upper"].mean().sort_index()
    ends = [] if dashed else [None if math.isnan(value) else float(value) for value in upper]
    spread = [0.0 if math.isnan(value) else float(value) for value in points["std"]]
    return Curve(
        label,
        [int(n) for n in points.index],
        [float(v) for v in points["mean"]],
        spread,
        ends,
        look,
        dashed,
    )


def _references(figure: Curves, rows: pandas.DataFrame) -> list[Reference]:
    low, high = int(rows["n"].min()), int(rows["n"].max())
    if low == high:
        return []
    fine = [low * (high / low) ** (step / 60) for step in range(61)]
    grid = sorted({int(n) for n in rows["n"]})
    if figure.map == "rf":
        theory = Reference(
            "theory, (1 + √(2/n))/√n", fine, [wide_relu_rf(n, int(rows["d"].max())) for n in fine]
        )
        return [
            theory,
            Reference(
                "infinite width, typical Δ", grid, [infinite_width(n) for n in grid], style="-."
            ),
        ]
    if figure.map == "drf":
        return [
            Reference(
                f"L = {depth}, infinite width",
                grid,
                [infinite_width(n, depth=depth) for n in grid],
                colour=at,
            )
            for at, depth in enumerate(figure.depths)
            if depth is not None and depth in set(rows["depth"])
        ]
    first = rows[rows["positions"] == "0"]
    if figure.map == "raf" and not first.empty:
        return [Reference("constant, Ω(1)", [low, high], [first["lower"].mean()] * 2)]
    if not first.empty:
        start = float(first[first["n"] == low]["lower"].mean())
        return [Reference("∝ 1/√n", fine, [start * math.sqrt(low / n) for n in fine])]
    return []
