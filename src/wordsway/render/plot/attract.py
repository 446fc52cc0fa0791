"""A Δ that attracts attention, as pictures: every layer's change beside noise, attention before and
after.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from wordsway.probing.attract import Attracted
from wordsway.render.plot.curves import STYLE, write
from wordsway.render.plot.fonts import look, spelled
from wordsway.render.plot.panels import LOOK
from wordsway.render.terminal.attract import looks, moved

#: Up to this many tokens cells carry their numbers; up to this many, every token is named.
NUMBERED, NAMED = 16, 60


def draw_layers(result: Attracted, path: Path, kind: str) -> None:
    """The relative change of every layer, by the Δ and by noise of the same norm."""
    with plt.rc_context(STYLE):
        drawn, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
        layers = range(len(result.profile))
        axes.plot(
            layers, result.profile, marker="o", color=LOOK[1][0], label="Δ that attracts attention"
        )
        axes.plot(
            layers,
            result.noise,
            marker="s",
            color=LOOK[0][0],
            linestyle="--",
            label="Gaussian noise of the same norm",
        )
        for layer, change, factor in zip(layers, result.profile, result.factors, strict=True):
            if layer:
                axes.annotate(
                    f"{factor:.1f}×",
                    (layer, change),
                    (0, 8),
                    textcoords="offset points",
                    ha="center",
                    fontsize=9,
                )
        axes.set_xticks(list(layers))
        axes.set_ylim(0, 1.18 * max(result.profile))
        axes.set_xlabel("layer (0 is the input)")
        axes.set_ylabel("relative change of hidden states")
        axes.legend(fontsize=9, loc="best")
        write(drawn, path, kind)
        plt.close(drawn)


def draw_attracted(result: Attracted, path: Path, kind: str) -> None:
    """Attention of the first layer, before and after."""
    names = [spelled(token, kind) for token in result.tokens]
    n = len(names)
    cell = 0.55 if n <= NUMBERED else min(0.3, 14 / n)
    with plt.rc_context(look() | {"figure.constrained_layout.wspace": 0.08}):
        drawn, both = plt.subplots(
            1, 2, figsize=(2 * cell * n + 2.4, cell * n + 1.9), layout="constrained", sharey=True
        )
        image: Any = None
        for axes, matrix, title in zip(
            both, (result.before, result.after), ("before", "after"), strict=True
        ):
            image = axes.imshow(np.array(matrix), cmap="Blues", vmin=0.0, vmax=1.0)
            axes.set_title(title, fontsize=11)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            if n <= NAMED:
                axes.set_xticks(range(n), names, rotation=60, ha="right", rotation_mode="anchor")
                axes.set_yticks(range(n), names)
                for row in result.rows:
                    axes.get_xticklabels()[row].set_fontweight("bold")
            else:
                axes.set_xticks([result.row], [f"{result.row} {names[result.row]}"])
            if n <= NUMBERED:
                _numbers(axes, np.array(matrix))
        both[0].set_ylabel("token that looks")
        told = "\n".join((spelled(moved(result), kind), looks(result)))
        drawn.suptitle(
            "\n".join(textwrap.fill(line, int(24 * cell * n + 24)) for line in told.split("\n")),
            fontsize=10,
        )
        drawn.colorbar(image, ax=list(both), shrink=0.85, label="attention").outline.set_visible(
            False
        )
        write(drawn, path, kind)
        plt.close(drawn)


def _numbers(axes: Axes, matrix: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(matrix):
        if value >= 0.005:
            ink = "white" if value > 0.6 else "#222222"
            axes.text(
                column,
                row,
                f"{value:.2f}".removeprefix("0"),
                ha="center",
                va="center",
                fontsize=8,
                color=ink,
            )
