"""A Δ that attracts attention, as a picture: attention of one layer, before and after."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from wordsway.probing.attract import Attracted
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.heat_map import NAMED, cell_size, colour_scale, heat_map, short_names
from wordsway.render.plot.style import BLUE, ORANGE
from wordsway.render.wording.attracted import attention_drawn, moved, shown


@figures.register(Attracted)
def attracted_figure(result: Attracted, kind: str) -> Figure:
    """Two matrices on one scale, and every layer's change beside noise of the same norm."""
    names = short_names(result.tokens, kind)
    n = len(names)
    cells = max(2.4, cell_size(n) * n)
    room = 0.25 + (0.1 * max(map(len, names)) if n <= NAMED else 0.4)
    size = (2 * (cells + room) + 5.2, cells + room + 1.3)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=[cells + room, cells + room, 3.6])
    image: Any = None
    for axes, matrix, title in zip(
        panels, (result.before, result.after), ("before", "after"), strict=False
    ):
        image = heat_map(
            axes,
            np.array(matrix),
            names,
            f"attention of {shown(result)}, {title}",
            result.rows,
            cmap="Blues",
            vmin=0.0,
            vmax=1.0,
        )
        if n > NAMED:
            axes.set_xticks([result.row], [f"{result.row} {names[result.row]}"])
    panels[0].set_ylabel("token that looks")
    colour_scale(figure, image, panels[:2], "attention")
    _layers(panels[2], result)
    lines = (spelled(moved(result), kind), attention_drawn(result))
    width = int(11 * size[0])
    figure.suptitle("\n".join(textwrap.fill(line, width) for line in lines), fontsize=10)
    return figure


def _layers(axes: Any, result: Attracted) -> None:
    layers = range(len(result.profile))
    axes.plot(layers, result.profile, marker="o", color=ORANGE, label="this Δ")
    axes.plot(
        layers, result.noise, marker="s", color=BLUE, linestyle="--", label="noise of its norm"
    )
    axes.grid(visible=True)
    axes.set_xticks(range(0, len(result.profile), 1 + len(result.profile) // 13))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("layer (0 is the input)")
    axes.set_title("relative change of hidden states", fontsize=10)
    axes.legend(fontsize=9)
