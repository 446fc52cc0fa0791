"""Results as HTML: fragments for a notebook, and pages that need no other file.

A result is shown by its blocks (`wordsway.render.views`), or by a function that registers with
``fragments``; a page is made around the fragment, unless one is registered with ``pages``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wordsway.core.result import Result
from wordsway.render.html.blocks import render
from wordsway.render.html.page import page_around
from wordsway.render.registry import Registry
from wordsway.render.views import view_of

fragments: Registry[Callable[[Any], str]] = Registry(
    __name__, lambda result: render(view_of(result).blocks)
)


def fragment(result: Result) -> str:
    """The result for a notebook."""
    return fragments.view(type(result))(result)


def plain_page(result: Result) -> str:
    """The fragment below a title, and where its numbers come from."""
    view = view_of(result)
    return page_around(view.title, fragment(result), view.facts, result.to_dict())


pages: Registry[Callable[[Any], str]] = Registry(__name__, plain_page)


def page(result: Result) -> str:
    """The result as one document."""
    return pages.view(type(result))(result)


def save(result: Result, path: Path, kind: str) -> None:
    """One file."""
    path.write_bytes(page(result).encode())
