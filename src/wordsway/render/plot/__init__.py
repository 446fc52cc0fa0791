"""Results as pictures: PNG, SVG and PDF."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from wordsway.core.result import Result
from wordsway.render.plot.pictures import view_figure
from wordsway.render.plot.style import for_print, house_style, write
from wordsway.render.views import view_of


def figure(result: Result, style: str = "") -> Figure:
    """The picture of the result's view; ``style`` "icml" is for print."""
    with house_style(style):
        drawn = view_figure(view_of(result))
        if style:
            for_print(drawn)
        return drawn


def save(result: Result, path: Path, kind: str, style: str = "") -> None:
    """Write one file: png, svg or pdf."""
    with house_style(style):
        write(figure(result, style), path, kind, dpi=300 if style else 160)
