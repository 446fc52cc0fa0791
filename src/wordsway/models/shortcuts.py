"""What transformers does for readers of its documentation and for models that are not loaded, left
out in a process of our own (`wordsway.models.startup`).
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable
from typing import Any


def unchanged(function: Callable[..., Any] | None = None, *_: Any, **__: Any) -> Any:
    """A decorator, with or without arguments, that does nothing."""
    return unchanged if function is None else function


def without_docstrings() -> None:
    """transformers writes no docstrings from now on: it composes those of every class of a model
    when it is imported.
    """
    for name in ("transformers.utils", "transformers.utils.auto_docstring"):
        module: Any = sys.modules.get(name)
        if hasattr(module, "auto_docstring"):
            module.auto_docstring = unchanged


def without_patterns() -> None:
    """Patterns by which transformers renames weights are compiled when they are asked for: before
    it loads one model it compiles those of all, nine hundred.
    """
    mapping: Any = sys.modules.get("transformers.conversion_mapping")
    loading: Any = sys.modules.get("transformers.core_model_loading")
    original = getattr(mapping, "_build_checkpoint_conversion_mapping", None)
    if original is None or getattr(loading, "re", None) is not re:
        return  # a transformers that works in another way

    def build() -> Any:
        loading.re = types.SimpleNamespace(**vars(re) | {"compile": LaterPattern})
        try:
            return original()
        finally:
            loading.re = re

    mapping._build_checkpoint_conversion_mapping = build


class LaterPattern:
    """A regular expression that is compiled when it is used.

    >>> LaterPattern("b+").search("abba").span()
    (1, 3)
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._how = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copies and pickles ask for such before there is anything
            raise AttributeError(name)
        return getattr(re.compile(*self._how), name)
