"""Results for a person at a terminal: with colours or without, from 80 columns up.

A view is a function from a result to what rich prints; it registers with ``panels``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from wordsway.render.registry import Registry
from wordsway.render.terminal.fallback import plain_panel
from wordsway.result import Result

panels: Registry[Callable[[Any], RenderableType]] = Registry(__name__, plain_panel)


def panel(result: Result) -> RenderableType:
    """The result as rich prints it."""
    return panels.view(type(result))(result)
