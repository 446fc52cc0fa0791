"""The renderer that the package plugs into results: every medium by one object."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wordsway.core.result import Result
from wordsway.render.files import medium, save

if TYPE_CHECKING:
    from rich.console import RenderableType


class Renderer:
    """Shows results through the views that the media have registered; loads a medium when it is
    asked for.
    """

    def terminal(self, result: Result) -> RenderableType:
        panel: RenderableType = medium("terminal").panel(result)
        return panel

    def fragment(self, result: Result) -> str:
        fragment: str = medium("html").fragment(result)
        return fragment

    def save(self, result: Result, path: Path) -> Path:
        return save(result, path)
