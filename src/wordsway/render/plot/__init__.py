"""Results as pictures: PNG, SVG and PDF."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from wordsway.core.result import Result
from wordsway.render.plot.pictures import view_figure
from wordsway.render.plot.style import house_style, write
from wordsway.render.views import view_of


def figure(result: Result, kind: str) -> Figure:
    """The picture of the result's view."""
    with house_style():
        return view_figure(view_of(result), kind)


def save(result: Result, path: Path, kind: str) -> None:
    """Write one file: png, svg or pdf."""
    with house_style():
        write(view_figure(view_of(result), kind), path, kind)
