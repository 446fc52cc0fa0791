"""A square matrix of attention as a heat map."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordsway.render.numbers import hundredths
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.style import INK

#: Up to this many tokens cells carry their numbers; up to this many, every token is named.
NUMBERED, NAMED = 14, 80
#: Letters of a name.
LETTERS = 14


def heat_map(
    axes: Axes,
    matrix: np.ndarray,
    names: Sequence[str],
    title: str,
    bold: Collection[int] = (),
    **scale: Any,
) -> Any:
    """Draw the matrix; rows and columns carry their names, those of ``bold`` in bold."""
    image = axes.imshow(matrix, aspect="equal", interpolation="nearest", **scale)
    n = len(names)
    axes.set_title(title, fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if n <= NAMED:
        axes.set_xticks(range(n), names, rotation=90)
        axes.set_yticks(range(n), names)
        labels = [*enumerate(axes.get_xticklabels()), *enumerate(axes.get_yticklabels())]
        for place, label in labels:
            label.set(fontsize=10, fontweight="bold" if place in bold else "normal")
    if n <= NUMBERED:
        signed = scale["vmin"] < 0
        for (row, column), value in np.ndenumerate(matrix):
            ink = "white" if abs(value) > 0.6 * scale["vmax"] else INK
            text = hundredths(value, signed)
            if text != "0.00":
                number = axes.text(
                    column, row, text, ha="center", va="center", fontsize=8, color=ink
                )
                number.set_in_layout(False)  # it is inside its cell; measuring it takes time
    return image


def colour_scale(figure: Figure, image: Any, axes: Sequence[Axes], label: str) -> None:
    """The colours beside the matrices they belong to."""
    bar = figure.colorbar(image, ax=list(axes), shrink=0.9, aspect=24, pad=0.02, label=label)
    bar.outline.set_visible(False)


def cell_size(n: int) -> float:
    """Inches of a cell, so that names or numbers fit."""
    if n > NAMED:
        return 9.0 / n
    return 0.52 if n <= NUMBERED else 0.27


def short_names(labels: Sequence[str], kind: str) -> list[str]:
    names = [spelled(label, kind) for label in labels]
    return [name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…" for name in names]
