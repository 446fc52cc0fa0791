"""Real words in one place of a text, as a picture: a bar for each, and the worst Δ beyond them."""

from __future__ import annotations

import textwrap

from matplotlib.figure import Figure

from wordsway.escape import shortened
from wordsway.probing.results import Swaps
from wordsway.render.numbers import largest, number
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import INK, ORANGE
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.swaps import in_place
from wordsway.render.wording.targets import named, sized

#: Words drawn, and letters of a line.
SHOWN, LINE = 30, 78


@figures.register(Swaps)
def swaps_figure(swaps: Swaps, kind: str) -> Figure:
    shown = swaps.swaps[:SHOWN]
    changes = [swap.change for swap in shown]
    top = max(largest(changes), swaps.worst or 0.0) or 1.0
    rows = max(1, len(shown))
    figure = Figure(figsize=(7.2, 1.6 + 0.27 * rows), layout="constrained")
    axes = figure.subplots()
    axes.barh(range(len(shown)), changes, height=0.7, color=ORANGE)
    axes.set_yticks(range(len(shown)), [spelled(swap.word, kind) for swap in shown])
    axes.set_ylim(rows - 0.4, -0.6)
    for row, change in enumerate(changes):
        axes.text(change, row, f" {number(change)}", va="center", fontsize=8)
    if swaps.worst is not None:
        label = f"worst Δ found, {number(swaps.worst)}"
        axes.axvline(swaps.worst, color=INK, linestyle="--", linewidth=1.2, label=label)
        axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2)
    axes.set_xlim(0, 1.14 * top)
    axes.set_xlabel(spelled(f"change of {named(swaps.target)}, {sized(swaps.target)}", kind))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    before, word, after = in_place(swaps)
    sentence = f"{shortened(before, 70)} [{shortened(word, 30)}] {shortened(after, 70)}".strip()
    title = textwrap.fill(spelled(sentence, kind), LINE)
    name = spelled(model_name(swaps.model), kind)
    figure.suptitle(f"{title}\n{name}, {swaps.candidates:,} candidates", fontsize=10.5)
    return figure
