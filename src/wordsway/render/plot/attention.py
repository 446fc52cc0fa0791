"""Attention as heat maps: one per text on one colour scale, and their difference."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wordsway.probing.attention import Attention
from wordsway.render.letters import shortened
from wordsway.render.plot.curves import write
from wordsway.render.plot.fonts import look, spelled
from wordsway.render.terminal.attention import hundredths

#: Up to this many tokens cells carry their numbers; up to this many, every token is named.
NUMBERED, NAMED = 12, 80
#: Letters of a name, and of a line of a title.
LONG, LINE = 14, 46


def draw_attention(result: Attention, path: Path, kind: str) -> None:
    """One picture, png, svg or pdf."""
    change = result.difference
    names = [_short(one.labels, kind) for one in result.texts]
    differ = (
        {at for at, (a, b) in enumerate(zip(names[0], names[-1], strict=True)) if a != b}
        if change is not None
        else set()
    )
    both = [b if a == b else f"{a} →\n{b}" for a, b in zip(names[0], names[-1], strict=False)]
    with plt.rc_context(look()), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message="Glyph .* missing"
        )  # the layout measures letters, too
        size = _size(result, both if change is not None else max(names, key=len))
        figure, grid = plt.subplots(
            1, len(names) + (change is not None), figsize=size, layout="constrained", squeeze=False
        )
        axes = list(grid[0])
        top = max(float(one.matrix.max()) for one in result.texts) or 1.0
        image: Any = None
        for at, one, labels in zip(axes, result.texts, names, strict=False):
            image = _heat(
                at,
                one.matrix,
                labels,
                _title(spelled(one.text, kind)),
                differ,
                cmap="Blues",
                vmin=0.0,
                vmax=top,
            )
        _scale(figure, image, axes[: len(names)], "attention")
        if change is not None:
            reach = float(np.abs(change).max()) or 1.0
            image = _heat(
                axes[-1],
                change,
                both,
                "second − first",
                differ,
                cmap="RdBu_r",
                vmin=-reach,
                vmax=reach,
            )
            _scale(figure, image, axes[-1:], "change of attention")
        axes[0].set_ylabel(
            "token that looks" if len(both) <= NAMED else "number of the token that looks, from 0"
        )
        cut = "" if result.special else "; special tokens cut, rows not rescaled"
        about = f"{spelled(result.model['name'], kind)}, attention of {result.name}{cut}"
        figure.suptitle(textwrap.fill(about, int(10 * size[0])), fontsize=11)
        write(figure, path, kind)
        plt.close(figure)


def _size(result: Attention, names: Sequence[str]) -> tuple[float, float]:
    """Inches: cells of one size, room for names, titles and colour scales."""
    n = max(len(one.tokens) for one in result.texts)
    cells = n * (0.52 if n <= NUMBERED else 0.27) if n <= NAMED else 9.0
    cells = max(1.6, cells)
    name = 0.25 + (
        0.1 * max(len(line) for name in names for line in name.split("\n")) if n <= NAMED else 0.3
    )
    panels, scales = (3, 2) if result.difference is not None else (len(result.texts), 1)
    lines = max(_title(one.text).count("\n") + 1 for one in result.texts)
    return max(4.8, panels * (cells + name) + 0.95 * scales + 0.4), cells + name + 0.2 * lines + 0.8


def _heat(
    axes: Axes,
    matrix: np.ndarray,
    names: Sequence[str],
    title: str,
    differ: Collection[int],
    **scale: Any,
) -> Any:
    """One matrix; names of tokens that differ are bold."""
    image = axes.imshow(matrix, aspect="equal", interpolation="nearest", **scale)
    n = len(names)
    axes.set_title(title, fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if n <= NAMED:
        axes.set_xticks(range(n), names, rotation=90)
        axes.set_yticks(range(n), names)
        for place, label in [
            *enumerate(axes.get_xticklabels()),
            *enumerate(axes.get_yticklabels()),
        ]:
            label.set(fontsize=10, fontweight="bold" if place in differ else "normal")
    if n <= NUMBERED:
        for (row, column), value in np.ndenumerate(matrix):
            colour = "white" if abs(value) > 0.6 * scale["vmax"] else "#222222"
            axes.text(
                column,
                row,
                hundredths(value, scale["vmin"] < 0),
                ha="center",
                va="center",
                fontsize=8,
                color=colour,
            )
    return image


def _scale(figure: Figure, image: Any, axes: Sequence[Axes], label: str) -> None:
    bar = figure.colorbar(image, ax=list(axes), shrink=0.9, aspect=24, pad=0.02, label=label)
    bar.outline.set_visible(False)


def _short(labels: Sequence[str], kind: str) -> list[str]:
    names = [spelled(label, kind) for label in labels]
    return [name if len(name) <= LONG else f"{name[: LONG - 1]}…" for name in names]


def _title(text: str) -> str:
    """Three or four lines of the text; a long one loses its middle."""
    return textwrap.fill(shortened(text, 3 * LINE), LINE)
