"""Results as pictures: PNG, SVG and PDF.

A view is a function from a result and the kind of file to a figure; it registers with ``figures``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from wordsway.render.plot.fallback import plain_figure
from wordsway.render.plot.style import house_style, write
from wordsway.render.registry import Registry
from wordsway.result import Result

figures: Registry[Callable[[Any, str], Figure]] = Registry(__name__, plain_figure)


def save(result: Result, path: Path, kind: str) -> None:
    """One file: png, svg or pdf."""
    draw = figures.view(type(result))
    with house_style():
        write(draw(result, kind), path, kind)
