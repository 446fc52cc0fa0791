"""Pairs of texts as a picture: a row per pair, a mark per model at the cosine."""

from __future__ import annotations

from matplotlib.figure import Figure

from wordsway.auditing.pairs import Pair, Pairs
from wordsway.core.escape import shortened
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import PALETTE
from wordsway.render.views.pairs import in_place

#: Pairs that are drawn.
SHOWN = 40


@figures.register(Pairs)
def pairs_figure(pairs: Pairs, kind: str) -> Figure:
    shown = pairs.pairs[:SHOWN]
    figure = Figure(figsize=(8.2, 1.4 + 0.34 * len(shown)), layout="constrained")
    axes = figure.subplots()
    for number, name in enumerate(pairs.names):
        colour, marker = PALETTE[number % len(PALETTE)]
        cosines = [pair.models[number].cosine for pair in shown]
        label = spelled(shortened(name, 40), kind)
        axes.scatter(cosines, range(len(shown)), 36, color=colour, marker=marker, label=label)
    axes.set_yticks(range(len(shown)), [spelled(_label(pair), kind) for pair in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(right=1.0)
    axes.grid(visible=True, axis="both")
    axes.set_xlabel("cosine of the two texts (1: the same to the model)")
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    axes.tick_params(axis="y", length=0)
    if len(pairs.pairs) > SHOWN:
        axes.set_title(f"the first {SHOWN} of {len(pairs.pairs):,} pairs", fontsize=9, loc="right")
    return figure


def _label(pair: Pair) -> str:
    before, gone, come, behind = in_place(pair)
    change = f"[{shortened(gone or '+', 16)} → {shortened(come or '−', 16)}]"
    return f"{shortened(before[-22:], 22)} {change} {shortened(behind[:14], 14)}".strip()
