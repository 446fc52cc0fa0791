"""A sweep as a picture: means over trials against n, one curve per setting that differs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from wordsway.chart import Chart, Curve, Panel
from wordsway.experiments.sweep import Sweep
from wordsway.experiments.tables import setting_columns
from wordsway.render.plot import figures
from wordsway.render.plot.chart import chart_figure
from wordsway.render.plot.fallback import plain_figure

if TYPE_CHECKING:
    import pandas

#: Curves that can be told apart in one panel.
MOST = 12
#: Columns of the means that are not part of a curve's name.
LEFT_OUT = ("n", "measured", "trials", "mean", "sd", "upper")
LABELS = {"S": "word sensitivity S", "error": "error after the change"}


@figures.register(Sweep)
def sweep_figure(result: Sweep, kind: str) -> Figure:
    table = result.means()
    if table.empty:
        return plain_figure(result, kind)
    name = result.study.name
    panels = [_panel(name, str(what), rows) for what, rows in table.groupby("measured")]
    most = max(len(panel.curves) for panel in panels)
    return chart_figure(Chart(panels, shared_key=most > 4), kind)


def _panel(name: str, measured: str, table: pandas.DataFrame) -> Panel:
    """Means of S, or of errors, against n."""
    settings = [column for column in setting_columns(table) if column not in LEFT_OUT]
    curves = []
    for colour, (setting, rows) in enumerate(table.groupby(settings, dropna=False, sort=False)):
        values = setting if isinstance(setting, tuple) else (setting,)
        curves.append(
            Curve(
                _label(dict(zip(settings, values, strict=True))),
                rows["n"].tolist(),
                rows["mean"].tolist(),
                rows["sd"].fillna(0.0).tolist(),
                [None if math.isnan(end) else end for end in rows["upper"]],
                colour,
                dashed=colour >= 6,
            )
        )
    more = "" if len(curves) <= MOST else f", the first {MOST} of {len(curves)} settings"
    title = f"{name}: mean ± sd over trials{more}"
    return Panel(title, curves[:MOST], y_label=LABELS[measured])


def _label(setting: dict[str, Any]) -> str:
    """The map, and what it differs in from others; options that it does not have are left out.

    >>> _label({"map": "raf", "heads": 8, "mask": float("nan")})
    'raf, heads 8'
    """
    return ", ".join(
        str(value) if name in ("map", "data") else f"{name} {value}"
        for name, value in setting.items()
        if value is not None and value == value and value != ""
    )
