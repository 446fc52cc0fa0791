"""Words of a text as a picture for a paper: a column of bars for each tier, with errors, and the
layers' changes as a heat map where they were measured.
"""

from __future__ import annotations

import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from wordsway.core.escape import runs_right_to_left
from wordsway.probing.results import Words, WordSway
from wordsway.probing.tiers import TIERS
from wordsway.render.numbers import largest, number
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import BLUE, INK, ORANGE
from wordsway.render.views.provenance import model_name
from wordsway.render.wording.words import meaning, ranked, target_name

#: Words drawn: those with the largest numbers, in the order of the text.
SHOWN = 40
LETTERS = 24
HEAT = LinearSegmentedColormap.from_list(
    "sway", ["#ffffff", "#fbd3ad", "#ee8a3c", "#d55e00", "#5e2500"]
)


@figures.register(Words)
def words_figure(words: Words, kind: str = "png") -> Figure:
    """A figure of the words: bars of every tier that was measured, the one that orders them first;
    then the change of every layer 0 … L by each word's worst Δ, the target's layer framed.

    Characters that no installed font has become □, except in an SVG, whose reader brings the fonts.
    """
    shown = [words.words[place] for place in sorted(ranked(words)[:SHOWN])]
    tiers = [words.tier, *(tier for tier in words.tiers if tier != words.tier)] if shown else []
    layers = bool(shown) and all(word.profile for word in shown)
    rows = max(1, len(shown))
    widths = [2.3] * len(tiers) + (
        [min(6.0, max(2.2, 0.25 * (words.layers + 1)))] if layers else []
    )
    width = sum(widths) + 2.4 if widths else 5.0
    figure = Figure(figsize=(width, 1.9 + 0.23 * max(4, rows)), layout="constrained")
    figure.suptitle(_title(words, len(shown), kind, width), fontsize=10.5)
    if not shown:
        return figure
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    first = figure.add_subplot(grid[0, 0])
    for column, tier in enumerate(tiers):
        axes = first if column == 0 else figure.add_subplot(grid[0, column], sharey=first)
        _bars(axes, shown, tier, ORANGE if column == 0 else "#c9b8a8")
        axes.tick_params(axis="y", length=0, labelleft=column == 0)
    if layers:
        heat = figure.add_subplot(grid[0, len(tiers)], sharey=first)
        _profiles(figure, heat, words, shown)
    first.set_yticks(range(rows), [_label(word, kind) for word in shown], fontsize=9)
    first.set_ylim(rows - 0.5, -0.5)
    note = textwrap.fill(spelled(meaning(words), kind), max(50, int(13 * width)))
    figure.supxlabel(note, fontsize=7.5, color="#5b6675", x=0.02, ha="left")
    return figure


def _title(words: Words, count: int, kind: str, width: float) -> str:
    total = len(words.words)
    some = "" if count == total else f" · the {count} largest of {total} words"
    name = spelled(model_name(words.model), kind)
    return textwrap.fill(f"{name} · {target_name(words)}{some}", max(30, int(9 * width)))


def _label(word: WordSway, kind: str) -> str:
    """The word and its index: repeated words stay distinct."""
    name = spelled(word.word, kind)
    name = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
    first = "\u200e" if runs_right_to_left(name) else ""  # the index stays on the right
    return f"{first}{name}{first} ({word.index})"


def _bars(axes: Axes, shown: list[WordSway], tier: str, colour: str) -> None:
    """A bar of twice its standard error for each word; for real words also the largest change, for
    S(ρ) the ceiling.
    """
    scores = [(row, word.score(tier)) for row, word in enumerate(shown)]
    known = [(row, pair) for row, pair in scores if pair is not None]
    rows = [row for row, _ in known]
    values = [value for _, (value, _) in known]
    errors = np.array([[2 * error for _, (_, error) in known]] * 2)
    if tier == "curve":  # attained: branches that found less lie below it, nothing above
        errors[1] = 0.0
    axes.barh(
        rows, values, xerr=errors, height=0.68, color=colour, ecolor=INK, error_kw={"lw": 0.9}
    )
    beyond: list[tuple[float, int]] = []
    if tier == "real-words":
        beyond = [(word.real.worst, row) for row, word in enumerate(shown) if word.real]
    elif tier == "curve":
        beyond = [(word.upper, row) for row, word in enumerate(shown) if word.upper is not None]
    if beyond:
        across, down = zip(*beyond, strict=True)
        axes.plot(across, down, "|", color=BLUE, markersize=8, linestyle="none")
    ends = dict(zip(rows, values + errors[1], strict=True))
    marks = {row: value for value, row in beyond}
    ends = {row: max(end, marks.get(row, 0.0)) for row, end in ends.items()}
    for row, (value, _) in known:  # behind the bar's error and its mark, over neither
        axes.text(ends[row], row, f"  {number(value)}", va="center", fontsize=7.5)
    axes.set_xlim(0, 1.36 * (largest([*ends.values(), *marks.values()]) or 1.0))
    extra = {"real-words": "\n| the worst of them", "curve": "\n| certified ceiling"}
    axes.set_xlabel(TIERS[tier].title + (extra.get(tier, "") if beyond else ""), fontsize=9)
    axes.spines["left"].set_visible(False)


def _profiles(figure: Figure, axes: Axes, words: Words, shown: list[WordSway]) -> None:
    values = np.array([word.profile for word in shown], dtype=float)
    rows, columns = values.shape
    across, down = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
    low, high = float(values[:, 1:].min()), largest(values.ravel().tolist()) or 1.0
    mesh = axes.pcolormesh(
        across, down, values, cmap=HEAT, vmin=low, vmax=high, edgecolors="white", linewidth=0.4
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
    axes.set_xticks(range(0, columns, max(1, -(-columns // 14))))
    axes.set_xlabel("layer", fontsize=9)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0, labelleft=False)
    scale = figure.colorbar(mesh, ax=axes, fraction=0.08)
    scale.set_label("change by the worst Δ", fontsize=8)
    scale.outline.set_visible(False)
