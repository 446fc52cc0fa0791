"""Results for a person at a terminal.

A result is shown by its blocks (`wordsway.render.views`), or by a function that registers with
``panels``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from wordsway.core.result import Result
from wordsway.render.registry import Registry
from wordsway.render.terminal.blocks import render
from wordsway.render.views import view_of

panels: Registry[Callable[[Any], RenderableType]] = Registry(
    __name__, lambda result: render(view_of(result).blocks)
)


def panel(result: Result) -> RenderableType:
    """Return the result as rich prints it."""
    return panels.view(type(result))(result)
