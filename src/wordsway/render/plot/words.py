"""Words × layers as a picture for a paper: a heat map of the profiles, and S beside it with noise
and the random twin.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from wordsway.escape import runs_right_to_left
from wordsway.probing.results import Words, WordSway
from wordsway.render.numbers import largest, number, share
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import BLUE, INK, ORANGE
from wordsway.render.wording.provenance import model_name
from wordsway.render.wording.words import ranked

#: Words drawn: those that sway most, in the order of the text.
SHOWN = 40
LETTERS = 24
HEAT = LinearSegmentedColormap.from_list(
    "sway", ["#ffffff", "#fbd3ad", "#ee8a3c", "#d55e00", "#5e2500"]
)


@figures.register(Words)
def words_figure(words: Words, kind: str = "png") -> Figure:
    """A figure of the words: the change of every layer 0 … L by each word's worst Δ, the searched
    layer framed; S beside it.

    Characters that no installed font has become □, except in an SVG, whose reader brings the fonts.
    """
    chosen = sorted(ranked(words)[:SHOWN])
    shown = [words.words[place] for place in chosen]
    rows, columns = max(1, len(shown)), words.layers + 1
    wide = min(7.0, max(2.6, 0.26 * columns))
    figure = Figure(figsize=(wide + 4.6, 1.55 + 0.23 * rows), layout="constrained")
    figure.suptitle(_title(words, len(shown), kind), fontsize=10.5)
    if shown:
        grid = figure.add_gridspec(
            2, 2, width_ratios=[wide, 2.8], height_ratios=[0.23 * rows, 0.11]
        )
        heat = figure.add_subplot(grid[0, 0])
        bars = figure.add_subplot(grid[0, 1], sharey=heat)
        heat.set_yticks(range(rows), [_label(word, kind) for word in shown], fontsize=9)
        _profiles(figure, heat, figure.add_subplot(grid[1, 0]), words, shown)
        _sensitivities(bars, words, shown)
        key = figure.add_subplot(grid[1, 1])
        key.axis("off")
        handles = sorted(
            zip(*bars.get_legend_handles_labels(), strict=True),
            key=lambda one: not one[1].startswith("S "),
        )
        key.legend(
            *zip(*handles, strict=True),
            loc="upper center",
            fontsize=8,
            ncols=3,
            handlelength=1.2,
            columnspacing=1,
            borderpad=0,
        )
        heat.set_ylim(rows - 0.5, -0.5)
    return figure


def _title(words: Words, count: int, kind: str) -> str:
    some = (
        "" if count == len(words.words) else f" · the {count} largest of {len(words.words)} words"
    )
    name = spelled(model_name(words.model), kind)
    return f"{name} · layer {words.layer} of {words.layers} searched, ρ = {words.reach:g}{some}"


def _label(word: WordSway, kind: str) -> str:
    """The word and its index: repeated words stay distinct."""
    name = spelled(word.word, kind)
    name = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
    first = "\u200e" if runs_right_to_left(name) else ""  # the index stays on the right
    return f"{first}{name}{first} ({word.index})"


def _profiles(
    figure: Figure, axes: Axes, beneath: Axes, words: Words, shown: list[WordSway]
) -> None:
    values = np.array([word.profile for word in shown], dtype=float)
    rows, columns = values.shape
    edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    top = largest(values.ravel().tolist()) or 1.0
    mesh = axes.pcolormesh(
        *edges, values, cmap=HEAT, vmin=0.0, vmax=top, edgecolors="white", linewidth=0.4
    )
    axes.add_patch(
        Rectangle(
            (words.layer - 0.5, -0.5),
            1,
            rows,
            fill=False,
            edgecolor=INK,
            linewidth=1.4,
            clip_on=False,
            zorder=3,
        )
    )
    step = max(1, -(-columns // 14))
    axes.set_xticks(range(0, columns, step))
    axes.set_xlabel("layer")
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    scale = figure.colorbar(
        mesh, cax=beneath, orientation="horizontal", label="relative change by the worst Δ"
    )
    scale.outline.set_visible(False)


def _sensitivities(axes: Axes, words: Words, shown: list[WordSway]) -> None:
    at = np.arange(len(shown))
    top = largest([word.sensitivity for word in shown]) or 1.0
    axes.barh(
        at,
        [word.sensitivity for word in shown],
        height=0.68,
        color=ORANGE,
        label=f"S at layer {words.layer}",
    )
    noise = [word.noise[words.layer] for word in shown]
    axes.plot(
        noise,
        at,
        "|",
        color=INK,
        markersize=8,
        markeredgewidth=1.6,
        linestyle="none",
        label="noise",
    )
    twins = [
        (word.twin[words.layer], row) for row, word in enumerate(shown) if word.twin is not None
    ]
    if twins:
        axes.plot(
            *zip(*twins, strict=True),
            "D",
            color=BLUE,
            markerfacecolor="white",
            markersize=4,
            linestyle="none",
            label="random twin",
        )
    for row, word in enumerate(shown):
        axes.text(
            max(share(word.sensitivity, top), share(noise[row], top)) * top,
            row,
            f" {number(word.sensitivity)}",
            va="center",
            fontsize=7.5,
        )
    axes.set_xlim(0, 1.22 * max(top, largest(noise), largest([value for value, _ in twins])))
    axes.set_xlabel("word sensitivity S")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0, labelleft=False)
