"""What every verb returns: numbers that say themselves as JSON and as a table, and show themselves.

A result knows no view. Whoever renders results plugs in a loader (`use_renderer`), as the package's
own ``__init__`` does with `wordsway.render`: terminal, notebook, page, picture and file come from there.
"""

from __future__ import annotations

import json
import platform
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wordsway.errors import WordswayError
from wordsway.version import __version__

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType


class Renderer(Protocol):
    """Shows any result in any medium."""

    def terminal(self, result: Result) -> RenderableType:
        """For a terminal, as rich prints it."""

    def fragment(self, result: Result) -> str:
        """For a notebook: a piece of HTML."""

    def save(self, result: Result, path: Path) -> Path:
        """A file of the medium that the ending of its name says."""


_load_renderer: Callable[[], Renderer] | None = None


def use_renderer(load: Callable[[], Renderer]) -> None:
    """Let ``load()`` provide the renderer; it is called when a result is first shown."""
    global _load_renderer
    _load_renderer = load


def _renderer() -> Renderer:
    if _load_renderer is None:
        raise WordswayError("nothing here shows results: import wordsway first")
    return _load_renderer()


class Result(ABC):
    """A finished measurement, with its seed and versions."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON."""

    @abstractmethod
    def frame(self) -> pandas.DataFrame:
        """The numbers as a data frame."""

    def to_json(self, **options: Any) -> str:
        """One JSON document."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **options)

    def show(self) -> None:
        """Print the result for a person."""
        from rich.console import Console

        Console().print(self.__rich__())

    def save(self, path: str | Path) -> Path:
        """Write a file; its ending chooses the medium.

        .html (one self-contained page), .svg, .png, .pdf, .json, .csv or .parquet, as far as they
        make sense for this result.
        """
        return _renderer().save(self, Path(path))

    def __rich__(self) -> RenderableType:
        return _renderer().terminal(self)

    def _repr_html_(self) -> str:
        return _renderer().fragment(self)


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a dataclass, as they are (nested ones are not taken apart)."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def versions(*more: str) -> dict[str, str]:
    """The versions a result depends on; ``more`` names further packages, such as transformers."""
    named = {name: version(name) for name in ("torch", *more)}
    return {"wordsway": __version__, **named, "python": platform.python_version()}
