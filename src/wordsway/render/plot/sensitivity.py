"""A measured interval as a picture: a bar per row, attained in full colour, certified in a lighter
one.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.escape import runs_right_to_left, shortened
from wordsway.render.numbers import largest, number
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import BLUE
from wordsway.render.wording.sensitivity import interval, ranked, source_line, upper_end
from wordsway.sensitivity import Sensitivity, WordSensitivity

#: Rows drawn: those that sway most, in the order of the text.
SHOWN = 40


@figures.register(Sensitivity)
def sensitivity_figure(result: Sensitivity, kind: str) -> Figure:
    shown = sorted(ranked(result)[:SHOWN], key=lambda row: row.position)
    places = range(len(shown))
    figure = Figure(figsize=(7.2, 1.5 + 0.25 * len(shown)), layout="constrained")
    axes = figure.subplots()
    ends = [row.upper for row in shown if row.upper is not None]
    if ends:
        axes.barh(
            places,
            [upper_end(row) for row in shown],
            height=0.7,
            color=BLUE,
            alpha=0.25,
            label="certified: S is not above",
        )
    axes.barh(places, [row.lower for row in shown], height=0.7, color=BLUE, label="attained by Δ")
    axes.set_yticks(places, [_label(row, kind) for row in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    for place, row in enumerate(shown):
        ends_at = "" if row.upper is None else f" – {number(row.upper)}"
        text = f" {number(row.lower)}{ends_at}"
        axes.text(upper_end(row), place, text, va="center", fontsize=8)
    axes.set_xlim(0, 1.28 * (largest(upper_end(row) for row in shown) or 1.0))
    axes.set_xlabel(f"relative change S of the map by one row, ‖Δ‖ ≤ {number(result.radius)}")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
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
