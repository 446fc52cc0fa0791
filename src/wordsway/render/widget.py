"""A heat map to click in, inside a notebook (extra `notebook`): the modules of saved pages."""

from __future__ import annotations

from typing import Any

from wordsway.core.errors import InputError, needs
from wordsway.probing.results import Words
from wordsway.render.html.document import asset, bundled
from wordsway.render.views.words import words_data

__all__ = ["clickable"]


def clickable(words: Words) -> Any:
    """The words of a text as a widget: click a word to see its numbers and its layers.

    ``widget.chosen`` is the index of the word that was clicked, for the next cell to use.
    """
    needs("notebook", "anywidget")
    if not isinstance(words, Words):
        raise InputError("words to be a wordsway Words", repr(words), "pass ws.words(text)")
    import anywidget
    import traitlets

    class WordsWidget(anywidget.AnyWidget):
        """The heat map of one text."""

        _esm = bundled("widget.js", module=True)
        data = traitlets.Dict().tag(sync=True)
        chosen = traitlets.Int(0).tag(sync=True)

    return WordsWidget(data=widget_data(words))


def widget_data(words: Words) -> dict[str, Any]:
    """The result, the data that its modules draw from, and their style."""
    style = "".join(asset(f"{name}.css") for name in ("page", "chart", "results"))
    return {"result": words.to_dict(), "drawn": words_data(words), "style": style}
