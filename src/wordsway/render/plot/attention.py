"""Attention as heat maps: one per text on one colour scale, and their difference."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from wordsway.escape import shortened
from wordsway.probing.attention import Attention
from wordsway.render.plot import figures
from wordsway.render.plot.fonts import spelled
from wordsway.render.plot.heat_map import NAMED, cell_size, colour_scale, heat_map, short_names
from wordsway.render.wording.provenance import model_name

#: Letters of a line of a title.
LINE = 46


@figures.register(Attention)
def attention_figure(result: Attention, kind: str) -> Figure:
    """One matrix per text, and second − first where there are two that line up."""
    change = result.difference
    names = [short_names(text.labels, kind) for text in result.texts]
    pairs = list(zip(names[0], names[-1], strict=False)) if change is not None else []
    both = [b if a == b else f"{a} →\n{b}" for a, b in pairs]
    differ = {row for row, (a, b) in enumerate(pairs) if a != b}
    size = _size(result, both or max(names, key=len))
    figure = Figure(figsize=size, layout="constrained")
    axes = list(figure.subplots(1, len(names) + (change is not None), squeeze=False)[0])
    top = max(float(text.matrix.max()) for text in result.texts) or 1.0
    image: Any = None
    for panel, text, labels in zip(axes, result.texts, names, strict=False):
        title = _title(spelled(text.text, kind))
        image = heat_map(
            panel, text.matrix, labels, title, differ, cmap="Blues", vmin=0.0, vmax=top
        )
    colour_scale(figure, image, axes[: len(names)], "attention")
    if change is not None:
        reach = float(np.abs(change).max()) or 1.0
        title = "second − first"
        image = heat_map(
            axes[-1], change, both, title, differ, cmap="RdBu_r", vmin=-reach, vmax=reach
        )
        colour_scale(figure, image, axes[-1:], "change of attention")
    named = len(names[0]) <= NAMED
    axes[0].set_ylabel("token that looks" if named else "number of the token that looks, from 0")
    axes[0].set_xlabel("token looked at" if named else "number of the token looked at, from 0")
    cut = "" if result.special else "; special tokens cut, rows not rescaled"
    about = f"{spelled(model_name(result.model), kind)}, attention of {result.name}{cut}"
    figure.suptitle(textwrap.fill(about, int(10 * size[0])), fontsize=11)
    return figure


def _size(result: Attention, names: Sequence[str]) -> tuple[float, float]:
    """Inches: cells of one size, room for names, titles and colour scales."""
    n = max(len(text.tokens) for text in result.texts)
    cells = max(1.6, n * cell_size(n))
    letters = max((len(line) for name in names for line in name.split("\n")), default=1)
    name = 0.25 + (0.1 * letters if n <= NAMED else 0.3)
    panels, scales = (3, 2) if result.difference is not None else (len(result.texts), 1)
    lines = max(_title(text.text).count("\n") + 1 for text in result.texts)
    wide = max(4.8, panels * (cells + name) + 0.95 * scales + 0.4)
    return wide, cells + name + 0.2 * lines + 1.0


def _title(text: str) -> str:
    """Three or four lines of the text; a long one loses its middle."""
    return textwrap.fill(shortened(text, 3 * LINE), LINE)
