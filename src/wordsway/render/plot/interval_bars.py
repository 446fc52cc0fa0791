"""Bars of intervals: attained in full colour, certified in a lighter one."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from wordsway.render.numbers import largest, number
from wordsway.render.plot.style import BLUE


def interval_bars(
    axes: Axes, names: Sequence[str], lower: Sequence[float], upper: Sequence[float | None]
) -> None:
    """A bar per name, with its numbers, and a key above."""
    places = range(len(names))
    ends = [low if end is None else end for low, end in zip(lower, upper, strict=True)]
    if any(end is not None for end in upper):
        label = "certified: S is not above"
        axes.barh(places, ends, height=0.7, color=BLUE, alpha=0.25, label=label)
    axes.barh(places, lower, height=0.7, color=BLUE, label="attained by Δ")
    axes.set_yticks(places, names)
    axes.set_ylim(max(1, len(names)) - 0.4, -0.6)
    for place, (low, end) in enumerate(zip(lower, upper, strict=True)):
        text = f" {number(low)}" + ("" if end is None else f" – {number(end)}")
        axes.text(ends[place], place, text, va="center", fontsize=8)
    axes.set_xlim(0, 1.28 * (largest(ends) or 1.0))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
