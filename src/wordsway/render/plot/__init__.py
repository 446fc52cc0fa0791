"""Results as pictures: PNG, SVG and PDF.

A result is drawn by the picture of its view (`wordsway.render.views`), or by a function that
registers with ``figures``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from wordsway.core.result import Result
from wordsway.render.plot.pictures import view_figure
from wordsway.render.plot.style import house_style, write
from wordsway.render.registry import Registry
from wordsway.render.views import view_of

figures: Registry[Callable[[Any, str], Figure]] = Registry(
    __name__, lambda result, kind: view_figure(view_of(result), kind)
)


def save(result: Result, path: Path, kind: str) -> None:
    """One file: png, svg or pdf."""
    draw = figures.view(type(result))
    with house_style():
        write(draw(result, kind), path, kind)
