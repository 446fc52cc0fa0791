"""Real words in one place of a text, as a picture: a bar for each, and the worst Δ beyond them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from wordsway.probing.results import Swaps
from wordsway.render.html.parts import in_place, largest, model_name, number
from wordsway.render.letters import shortened
from wordsway.render.plot.curves import write
from wordsway.render.plot.fonts import look, spelled
from wordsway.render.plot.panels import LOOK

#: Words drawn, and letters of a line.
SHOWN, LINE = 30, 78


def draw_swaps(swaps: Swaps, path: Path, kind: str) -> None:
    """One picture, png, svg or pdf."""
    shown = swaps.swaps[:SHOWN]
    changes = [swap.change for swap in shown]
    top = max(largest(changes), swaps.worst or 0.0) or 1.0
    with plt.rc_context(look()):
        drawn, axes = plt.subplots(
            figsize=(7.2, 1.6 + 0.27 * max(1, len(shown))), layout="constrained"
        )
        axes.barh(range(len(shown)), changes, height=0.7, color=LOOK[1][0])
        axes.set_yticks(range(len(shown)), [spelled(swap.word, kind) for swap in shown])
        axes.set_ylim(max(1, len(shown)) - 0.4, -0.6)
        for row, change in enumerate(changes):
            axes.text(change, row, f" {number(change)}", va="center", fontsize=8)
        if swaps.worst is not None:
            axes.axvline(
                swaps.worst,
                color="#1d2430",
                linestyle="--",
                linewidth=1.2,
                label=f"worst Δ found, {number(swaps.worst)}",
            )
            axes.legend(
                fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2
            )
        axes.set_xlim(0, 1.14 * top)
        axes.set_xlabel(f"relative change of {swaps.target}")
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        before, word, after = in_place(swaps)
        sentence = f"{shortened(before, 70)} [{shortened(word, 30)}] {shortened(after, 70)}".strip()
        title = textwrap.fill(spelled(sentence, kind), LINE)
        drawn.suptitle(
            f"{title}\n{spelled(model_name(swaps.model), kind)}, {swaps.candidates:,} candidates",
            fontsize=10.5,
        )
        write(drawn, path, kind)
        plt.close(drawn)
