"""A measured interval as a picture: a bar per row, attained in full colour, certified in a lighter
one.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.escape import runs_right_to_left, shortened
from wordsway.render.numbers import number
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.interval_bars import interval_bars
from wordsway.render.wording.sensitivity import interval, ranked, source_line
from wordsway.sensitivity import Sensitivity, WordSensitivity

#: Rows drawn: those that sway most, in the order of the text.
SHOWN = 40


@figures.register(Sensitivity)
def sensitivity_figure(result: Sensitivity, kind: str) -> Figure:
    shown = sorted(ranked(result)[:SHOWN], key=lambda row: row.position)
    figure = Figure(figsize=(7.2, 1.5 + 0.25 * len(shown)), layout="constrained")
    axes = figure.subplots()
    names = [_label(row, kind) for row in shown]
    interval_bars(axes, names, [row.lower for row in shown], [row.upper for row in shown])
    axes.set_xlabel(f"relative change S of the map by one row, ‖Δ‖ ≤ {number(result.radius)}")
    some = "" if len(shown) == len(result.words) else f" · the {len(shown)} largest"
    found = interval(result.lower, result.upper, result.certificate)
    about = f"{source_line(result)} · n = {result.n}, d = {result.d}{some}"
    figure.suptitle(f"S {found}\n{spelled(about, kind)}", fontsize=10.5)
    return figure


def _label(row: WordSensitivity, kind: str) -> str:
    if not row.word:
        return f"({row.position})"
    name = spelled(shortened(row.word, 24), kind)
    mark = "\u200e" if runs_right_to_left(name) else ""  # the number stays on the right
    return f"{mark}{name}{mark} ({row.position})"
