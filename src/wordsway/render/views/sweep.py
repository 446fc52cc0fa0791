"""A sweep: means over trials, what was done, and where the tables are."""

from __future__ import annotations

import math

from wordsway.chart import Chart, Curve, Panel
from wordsway.experiments.run import Tally
from wordsway.experiments.sweep import Sweep
from wordsway.format import format_seconds
from wordsway.render.blocks import View, headline, soft, source
from wordsway.render.views.plain import frame_table
from wordsway.render.views.provenance import provenance

#: Curves that can be told apart in one picture.
MOST = 12


def view(result: Sweep) -> View:
    tables = ", ".join(str(path) for path in result.tables)
    return View(
        "Sweep",
        [
            headline(f"{result.study.name}, means over trials"),
            frame_table(result.means(), shown=30),
            soft(tally_line(result.tally, result.folder / "store")),
            source(f"tables: {tables}"),
        ],
        provenance(result),
        lambda: _chart(result),
    )


def tally_line(tally: Tally, store: object) -> str:
    """How much was done, now and before, and where it is stored."""
    parts = [f"{tally.done:,} {tally.what} done now", f"{tally.before:,} before"]
    parts += [f"{tally.elsewhere:,} by other runs"] if tally.elsewhere else []
    spent = format_seconds(tally.seconds)
    return f"{', '.join(parts)}, of {tally.total:,}; {spent}; stored in {store}"


def _chart(result: Sweep) -> Chart | None:
    """Means over trials against n, one curve per setting."""
    table = result.means()
    if table.empty:
        return None
    left_out = ("n", "measured", "trials", "mean", "sd", "upper")
    names = [name for name in table.columns if name not in left_out]
    curves = []
    for colour, (setting, rows) in enumerate(table.groupby(names, dropna=False, sort=False)):
        values = setting if isinstance(setting, tuple) else (setting,)
        curves.append(
            Curve(
                ", ".join(str(value) for value in values),
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
    panel = Panel(title, curves[:MOST], y_label=labels[table["measured"].iloc[0]])
    return Chart([panel], shared_key=len(curves) > 4)
