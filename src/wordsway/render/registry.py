"""Which function shows which result in a medium: one file per result, found by the class's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

View = TypeVar("View", bound=Callable[..., Any])


def module_name(kind: type) -> str:
    """The file that shows a class.

    >>> class CorpusWords: ...
    >>> module_name(CorpusWords)
    'corpus_words'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


class Registry(Generic[View]):
    """The views of one medium.

    ``@registry.register(Words)`` in ``<package>/words.py`` is all that a view takes: a class is
    looked up when it is first shown, by importing the file of its name (and no other, so that a
    heat map of words loads no experiment), then that of its bases. What has no view of its own
    gets ``fallback``, a plain table.
    """

    def __init__(self, package: str, fallback: View) -> None:
        self.package, self.fallback = package, fallback
        self.views: dict[type, View] = {}

    def register(self, kind: type) -> Callable[[View], View]:
        """Show instances of ``kind``, and of its subclasses, by the decorated function."""

        def keep(view: View) -> View:
            self.views[kind] = view
            return view

        return keep

    def own(self, kind: type) -> View | None:
        """The view that was written for a class, or for the nearest of its bases."""
        for base in kind.__mro__:
            if base not in self.views and base is not object:
                name = f"{self.package}.{module_name(base)}"
                if find_spec(name) is not None:
                    import_module(name)
            if base in self.views:
                return self.views[base]
        return None

    def view(self, kind: type) -> View:
        """The view of a class, or the fallback."""
        found = self.own(kind)
        return self.fallback if found is None else found
