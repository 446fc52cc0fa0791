"""Every result of probing a model in every view: a terminal's panel, a notebook's fragment, a page,
a picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import RenderableType

from wordsway.probing.attention import Attention
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison
from wordsway.probing.results import Swaps, Words
from wordsway.render.html.attention import attention_fragment, attention_page
from wordsway.render.html.attract import attracted_fragment, attracted_page
from wordsway.render.html.compare import comparison_fragment, comparison_page
from wordsway.render.html.sensitivity import sensitivity_fragment
from wordsway.render.html.swaps import swaps_fragment, swaps_page
from wordsway.render.html.words import words_fragment, words_page
from wordsway.render.terminal.attention import attention_panel
from wordsway.render.terminal.attract import attracted_panel
from wordsway.render.terminal.compare import comparison_panel
from wordsway.render.terminal.swaps import swaps_panel
from wordsway.render.terminal.tables import sensitivity_panel
from wordsway.render.terminal.words import words_panel
from wordsway.result import Result
from wordsway.sensitivity import Sensitivity

R = TypeVar("R", bound=Result)


@dataclass(frozen=True)
class View(Generic[R]):
    """How one kind of result is shown. ``draw`` writes a picture to a path, as png, svg or pdf."""

    panel: Callable[[R], RenderableType]
    fragment: Callable[[R], str]
    page: Callable[[R], str]
    draw: Callable[[R, Path, str], None]


def view_of(result: Result) -> View[Any]:
    """The view of a result."""
    return VIEWS[type(result)]


# Plotting takes a second to load: only pictures wait for it.
def _words(words: Words, path: Path, kind: str) -> None:
    from wordsway.render.plot.words import draw_words

    draw_words(words, path, kind)


def _swaps(swaps: Swaps, path: Path, kind: str) -> None:
    from wordsway.render.plot.swaps import draw_swaps

    draw_swaps(swaps, path, kind)


def _comparison(result: Comparison, path: Path, kind: str) -> None:
    from wordsway.render.plot.compare import draw_comparison

    draw_comparison(result, path, kind)


def _attention(result: Attention, path: Path, kind: str) -> None:
    from wordsway.render.plot.attention import draw_attention

    draw_attention(result, path, kind)


def _attracted(result: Attracted, path: Path, kind: str) -> None:
    from wordsway.render.plot.attract import draw_attracted

    draw_attracted(result, path, kind)


VIEWS: dict[type[Result], View[Any]] = {
    Words: View(words_panel, words_fragment, words_page, _words),
    Swaps: View(swaps_panel, swaps_fragment, swaps_page, _swaps),
    Comparison: View(comparison_panel, comparison_fragment, comparison_page, _comparison),
    Attention: View(attention_panel, attention_fragment, attention_page, _attention),
    Sensitivity: View(sensitivity_panel, sensitivity_fragment, sensitivity_fragment, _attracted),
    Attracted: View(attracted_panel, attracted_fragment, attracted_page, _attracted),
}
