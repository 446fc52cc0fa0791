"""A heat map to click in, inside a notebook (extra `notebook`); without it a result shows itself as
a static view, with the same numbers.
"""

from __future__ import annotations

from typing import Any

from wordsway.core.errors import InputError, needs
from wordsway.probing.results import Words
from wordsway.probing.tiers import TIERS
from wordsway.render.html.page import asset
from wordsway.render.views.words import headline, shades

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

        _esm = asset("widget.js")
        _css = asset("widget.css")
        told = traitlets.Dict().tag(sync=True)
        chosen = traitlets.Int(0).tag(sync=True)

    return WordsWidget(told=told_of(words))


def told_of(words: Words) -> dict[str, Any]:
    """What the widget shows: the text in pieces, each word with its shade, numbers and layers."""
    heat = shades(words)
    items = []
    for place, word in enumerate(words.words):
        numbers = []
        for tier in TIERS.values():
            found = tier.score(word)
            if found is not None:
                numbers.append([tier.title, found[0], found[1]])
        items.append(
            {
                "text": word.word,
                "start": word.start,
                "end": word.end,
                "index": word.index,
                "shade": heat[place],
                "numbers": numbers,
                "profile": list(word.profile or ()),
                "noise": list(word.noise or ()),
            }
        )
    heading = headline(words)
    names = ", ".join(f"“{name}”" for name, _ in heading.names)
    return {"text": words.text, "title": f"{names} {heading.text}".strip(), "words": items}
