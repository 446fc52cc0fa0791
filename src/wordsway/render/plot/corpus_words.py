"""Words over a corpus, as a picture: the words with the largest numbers, and the layers."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from wordsway.core.escape import shortened
from wordsway.render.numbers import largest, number
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import BLUE, ORANGE
from wordsway.render.wording.corpus_words import LEADS, moved
from wordsway.studies.corpus_words import CorpusWords

#: Words drawn.
SHOWN = 25


@figures.register(CorpusWords)
def corpus_words_figure(result: CorpusWords, kind: str) -> Figure:
    table = result.aggregates["by_word"].head(SHOWN)
    values = [float(value) for value in table[result.lead]]
    rows = max(6, len(values))
    figure = Figure(figsize=(10.5, 1.3 + 0.24 * rows), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    left.barh(range(len(values)), values, height=0.7, color=ORANGE)
    names = [spelled(shortened(word, 24), kind) for word in table["word"]]
    left.set_yticks(range(len(values)), names)
    left.set_ylim(rows - 0.4, -0.6)
    for place, value in enumerate(values):
        left.text(value, place, f" {number(value)}", va="center", fontsize=8)
    left.set_xlim(0, 1.16 * (largest(values) or 1.0))
    left.spines["left"].set_visible(False)
    left.tick_params(axis="y", length=0)
    what = "small moves" if result.lead == "mean_local" else "another word there, on average"
    left.set_xlabel(f"{LEADS[result.lead]}: response of {spelled(moved(result), kind)} to {what}")
    layers = result.aggregates["by_layer"]
    right.plot(layers["layer"], layers["mean_change"], marker="o", color=ORANGE, label="worst Δ")
    right.plot(
        layers["layer"],
        layers["mean_noise"],
        marker="s",
        linestyle="--",
        color=BLUE,
        label="noise of the same norm",
    )
    right.grid(visible=True)
    right.set_ylim(bottom=0)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.set_xlabel("layer (0 is the input)")
    right.set_ylabel("mean relative change")
    right.legend(fontsize=9)
    figure.suptitle(f"{spelled(result.model, kind)}, {result.probed:,} texts", fontsize=10.5)
    return figure
