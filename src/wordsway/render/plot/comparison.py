"""A language model on two prompts, as a picture: both answers, and the change of every layer
(Figure 1, right).
"""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wordsway.probing.compare import Comparison, Side
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import BLUE, INK, ORANGE, PALETTE
from wordsway.render.views.comparison import divergences

#: Lines of a prompt or an answer, and letters of a line.
LINES, LETTERS = 7, 56


@figures.register(Comparison)
def comparison_figure(result: Comparison, kind: str) -> Figure:
    """Prompts and answers on the left, layers on the right."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    left.axis("off")
    place = 1.0
    for colour, side in ((BLUE, result.a), (ORANGE, result.b)):
        for text, weight, ink in (
            (_wrapped(side.prompt, kind), "bold", colour),
            (_wrapped(_answer(side), kind), "normal", INK),
        ):
            left.text(
                0,
                place,
                text,
                va="top",
                fontsize=10,
                fontweight=weight,
                color=ink,
                transform=left.transAxes,
            )
            place -= 0.062 * (text.count("\n") + 1) + 0.025
        place -= 0.05
    layers = [layer.layer for layer in result.layers]
    series = (("rows from the word on", "behind"), ("last row", "last"))
    for index, (label, name) in enumerate(series):
        values = [getattr(layer, name) for layer in result.layers]
        shown = [np.nan if value is None else value for value in values]
        colour, marker = PALETTE[index + 2]
        right.plot(layers, shown, marker=marker, color=colour, markersize=4, label=label)
    right.grid(visible=True)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_xlabel("layer (0 is the input)")
    right.set_ylabel("relative change, ‖H(a) − H(b)‖/‖H(a)‖")
    right.set_ylim(bottom=0)
    right.set_title(
        ("next token: " if result.kl_ab is not None else "") + divergences(result), fontsize=10
    )
    right.legend(fontsize=9)
    return figure


def _answer(side: Side) -> str:
    return side.answer + (" …" if side.cut else "")


def _wrapped(text: str, kind: str) -> str:
    lines = [
        line
        for part in text.splitlines()
        if part.strip()
        for line in textwrap.wrap(spelled(part, kind), LETTERS)
    ]
    return "\n".join(lines[:LINES] + (["…"] if len(lines) > LINES else []))
