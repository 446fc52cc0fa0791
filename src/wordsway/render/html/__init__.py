"""Results as HTML: fragments for a notebook, and pages that need no other file.

A view is a function from a result to a fragment, in inline styles and without scripts; it registers
with ``fragments``. A page is made around the fragment, unless one is registered with ``pages``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from wordsway.render.html.fallback import plain_fragment
from wordsway.render.html.page import page_around
from wordsway.render.registry import Registry
from wordsway.render.wording.plain import title_of
from wordsway.render.wording.provenance import provenance
from wordsway.result import Result

fragments: Registry[Callable[[Any], str]] = Registry(__name__, plain_fragment)


def fragment(result: Result) -> str:
    """The result for a notebook."""
    return fragments.view(type(result))(result)


def plain_page(result: Result) -> str:
    """The fragment below a title, and where its numbers come from."""
    return page_around(title_of(result), fragment(result), provenance(result), result.to_dict())


pages: Registry[Callable[[Any], str]] = Registry(__name__, plain_page)


def page(result: Result) -> str:
    """The result as one document."""
    return pages.view(type(result))(result)


def save(result: Result, path: Path, kind: str) -> None:
    """One file."""
    path.write_bytes(page(result).encode())
