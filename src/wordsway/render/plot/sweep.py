"""A sweep as a picture: means over trials against n, one curve per setting that differs."""

from __future__ import annotations

import math

from matplotlib.figure import Figure

from wordsway.chart import Chart, Curve, Panel
from wordsway.experiments.sweep import Sweep
from wordsway.render.plot import figures
from wordsway.render.plot.chart import chart_figure
from wordsway.render.plot.fallback import plain_figure

#: Curves that can be told apart in one picture.
MOST = 12


@figures.register(Sweep)
def sweep_figure(result: Sweep, kind: str) -> Figure:
    table = result.means()
    if table.empty:
        return plain_figure(result, kind)
    left_out = ("n", "measured", "trials", "mean", "sd", "upper")
    names = [name for name in table.columns if name not in left_out]
    curves = []
    for colour, (setting, rows) in enumerate(table.groupby(names, dropna=False, sort=False)):
        values = setting if isinstance(setting, tuple) else (setting,)
        label = ", ".join(str(value) for value in values)
        curves.append(
            Curve(
                label,
                rows["n"].tolist(),
                rows["mean"].tolist(),
                rows["sd"].fillna(0.0).tolist(),
                [None if math.isnan(end) else end for end in rows["upper"]],
                colour,
                dashed=colour >= 6,
            )
        )
    more = "" if len(curves) <= MOST else f", the first {MOST} of {len(curves)} settings"
    title = f"{result.study.name}: mean ± sd over trials{more}"
    labels = {"S": "word sensitivity S", "error": "error after the change"}
    return chart_figure(
        Chart(
            [Panel(title, curves[:MOST], y_label=labels[table["measured"].iloc[0]])],
            shared_key=len(curves) > 4,
        ),
        kind,
    )
