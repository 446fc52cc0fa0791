"""An audit as a picture: scores with intervals, and over the layers for every kind."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordsway.auditing.result import Audit
from wordsway.core.escape import shortened
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import GREY, PALETTE

#: Small pictures beside each other.
COLUMNS = 4


@figures.register(Audit)
def audit_figure(audit: Audit, kind: str) -> Figure:
    rows = -(-len(audit.kinds) // COLUMNS)
    high = 1.2 + 0.55 * len(audit.kinds)
    figure = Figure(figsize=(10, high + 2.1 * rows), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=[high, 2.1 * rows])
    top, below = parts
    _league(top.subplots(), audit, kind)
    grid = below.subplots(rows, COLUMNS, squeeze=False, sharey=True)
    for axes, name in zip(grid.flat, audit.kinds, strict=False):
        _profile(axes, audit, name, kind)
    for axes in list(grid.flat)[len(audit.kinds) :]:
        axes.set_visible(False)
    for row in grid:
        row[0].set_ylabel("reacts more")
    if any(model.local for model in audit.models):
        note = "dotted: share of the text's words that the layer is locally less sensitive to"
        below.supxlabel(note, fontsize=9, color=GREY)
    return figure


def _league(axes: Axes, audit: Audit, kind: str) -> None:
    count = len(audit.models)
    for at, model in enumerate(audit.models):
        colour, marker = PALETTE[at % len(PALETTE)]
        for place, name in enumerate(audit.kinds):
            score = model.kind(name)
            if score is None:
                continue
            y = place + 0.6 * ((at + 0.5) / count - 0.5)
            axes.plot([score.low, score.high], [y, y], color=colour, linewidth=1.5, alpha=0.6)
            label = spelled(shortened(model.name, 40), kind) if place == 0 else "_nolegend_"
            axes.scatter([score.auc], [y], 32, color=colour, marker=marker, label=label, zorder=3)
    axes.axvline(0.5, color=GREY, linestyle="--", linewidth=1)
    axes.set_yticks(range(len(audit.kinds)), [spelled(name, kind) for name in audit.kinds])
    axes.set_ylim(len(audit.kinds) - 0.5, -0.5)
    axes.set_xlim(0, 1.02)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(
        "reacts more than to a harmless edit of the same text (a rewording is another question)"
    )
    axes.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    axes.tick_params(axis="y", length=0)


def _profile(axes: Axes, audit: Audit, name: str, kind: str) -> None:
    for at, model in enumerate(audit.models):
        score = model.kind(name)
        if score is None:
            continue
        colour, _ = PALETTE[at % len(PALETTE)]
        depth = [layer / max(1, len(score.layers) - 1) for layer in range(len(score.layers))]
        axes.plot(depth, [one.auc for one in score.layers], color=colour, linewidth=1.6)
        low, high = ([getattr(one, end) for one in score.layers] for end in ("low", "high"))
        axes.fill_between(depth, low, high, color=colour, alpha=0.13, linewidth=0)
        local = model.local.get(name, ())
        axes.plot(
            [one.layer / max(1, len(score.layers) - 1) for one in local],
            [one.share for one in local],
            color=colour,
            linestyle=":",
            linewidth=1.4,
        )
    axes.axhline(0.5, color=GREY, linestyle="--", linewidth=0.8)
    axes.set_ylim(0, 1.02)
    axes.set_xticks([0, 1], ["input", "last layer"])
    axes.set_title(spelled(name, kind), fontsize=10)
