"""The renderer that the package plugs into results: every medium by one object."""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from wordsway.render.files import save
from wordsway.render.views import view_of
from wordsway.result import Result


class Renderer:
    """Shows results through the table of `wordsway.render.views`."""

    def terminal(self, result: Result) -> RenderableType:
        panel: RenderableType = view_of(result).panel(result)
        return panel

    def fragment(self, result: Result) -> str:
        return view_of(result).fragment(result)

    def save(self, result: Result, path: Path) -> Path:
        return save(result, path)
