"""A language model on two prompts, as a picture: both answers, and the change of every layer
(Figure 1, right).
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from wordsway.probing.compare import Comparison, Side
from wordsway.render.compare_parts import divergences
from wordsway.render.plot.curves import write
from wordsway.render.plot.fonts import look, spelled
from wordsway.render.plot.panels import LOOK

#: Lines of a prompt or an answer, and letters of a line.
LINES, LONG = 7, 56


def draw_comparison(result: Comparison, path: Path, kind: str) -> None:
    """One picture, png, svg or pdf."""
    with plt.rc_context(look() | {"axes.grid": True, "font.size": 11}):
        drawn, (left, right) = plt.subplots(
            1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=(1.1, 1)
        )
        left.axis("off")
        place = 1.0
        for colour, side in ((LOOK[0][0], result.a), (LOOK[1][0], result.b)):
            for text, weight, ink in (
                (_wrapped(side.prompt, kind), "bold", colour),
                (_wrapped(_answer(side), kind), "normal", "#222222"),
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
        layers = [one.layer for one in result.layers]
        for at, (label, name) in enumerate(
            (("rows from the word on", "behind"), ("last row", "last"))
        ):
            values = [getattr(one, name) for one in result.layers]
            shown = [np.nan if value is None else value for value in values]
            right.plot(
                layers, shown, marker=LOOK[at][1], color=LOOK[at + 2][0], markersize=4, label=label
            )
        right.set_xlabel("layer")
        right.set_ylabel("relative change")
        right.set_ylim(bottom=0)
        right.set_title(f"next token: {divergences(result)}", fontsize=10)
        right.legend(fontsize=9)
        write(drawn, path, kind)
        plt.close(drawn)


def _answer(side: Side) -> str:
    return side.answer + (" …" if side.cut else "")


def _wrapped(text: str, kind: str) -> str:
    lines = [
        line
        for part in text.splitlines()
        if part.strip()
        for line in textwrap.wrap(spelled(part, kind), LONG)
    ]
    return "\n".join(lines[:LINES] + (["…"] if len(lines) > LINES else []))
