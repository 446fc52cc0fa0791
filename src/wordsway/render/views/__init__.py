"""One file per result, named after its class: `view(result)` returns its blocks.

A class is looked up when it is first shown, by importing the file of its name, then those of its
bases. A result without a file is shown as a plain table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from wordsway.core.result import Result
from wordsway.render.blocks import View
from wordsway.render.registry import module_name
from wordsway.render.views.plain import plain_view


@cache
def _view_of(kind: type) -> Callable[[Result], View]:
    for base in kind.__mro__[:-1]:
        name = f"{__name__}.{module_name(base)}"
        if find_spec(name) is not None:
            view: Callable[[Result], View] = import_module(name).view
            return view
    return plain_view


def view_of(result: Result) -> View:
    """Return how a result looks."""
    return _view_of(type(result))(result)
