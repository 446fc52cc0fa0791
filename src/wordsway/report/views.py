"""Every result of probing a model in every view: a terminal's panel, a notebook's fragment, a page, a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import RenderableType

from wordsway.probe.attention import Attention
from wordsway.probe.attract import Attracted
from wordsway.probe.compare import Comparison
from wordsway.probe.results import Swaps, Words
from wordsway.probe.shown import Shown
from wordsway.report.attention_html import attention_fragment, attention_page
from wordsway.report.attention_terminal import attention_panel
from wordsway.report.attract_html import attracted_fragment, attracted_page
from wordsway.report.attract_terminal import attracted_panel
from wordsway.report.compare_html import comparison_fragment, comparison_page
from wordsway.report.compare_terminal import comparison_panel
from wordsway.report.swaps_html import swaps_fragment, swaps_page
from wordsway.report.swaps_terminal import swaps_panel
from wordsway.report.words_html import words_fragment, words_page
from wordsway.report.words_terminal import words_panel

R = TypeVar("R", bound=Shown)


@dataclass(frozen=True)
class View(Generic[R]):
    """How one kind of result is shown. ``draw`` writes a picture to a path, as png, svg or pdf."""

    panel: Callable[[R], RenderableType]
    fragment: Callable[[R], str]
    page: Callable[[R], str]
    draw: Callable[[R, Path, str], None]


def view_of(result: Shown) -> View[Any]:
    """The view of a result."""
    return VIEWS[type(result)]


# Plotting takes a second to load: only pictures wait for it.
def _words(words: Words, path: Path, kind: str) -> None:
    from wordsway.report.words_plot import draw_words

    draw_words(words, path, kind)


def _swaps(swaps: Swaps, path: Path, kind: str) -> None:
    from wordsway.report.swaps_plot import draw_swaps

    draw_swaps(swaps, path, kind)


def _comparison(result: Comparison, path: Path, kind: str) -> None:
    from wordsway.report.compare_plot import draw_comparison

    draw_comparison(result, path, kind)


def _attention(result: Attention, path: Path, kind: str) -> None:
    from wordsway.report.attention_plot import draw_attention

    draw_attention(result, path, kind)


def _attracted(result: Attracted, path: Path, kind: str) -> None:
    from wordsway.report.attract_plot import draw_attracted

    draw_attracted(result, path, kind)


VIEWS: dict[type[Shown], View[Any]] = {
    Words: View(words_panel, words_fragment, words_page, _words),
    Swaps: View(swaps_panel, swaps_fragment, swaps_page, _swaps),
    Comparison: View(comparison_panel, comparison_fragment, comparison_page, _comparison),
    Attention: View(attention_panel, attention_fragment, attention_page, _attention),
    Attracted: View(attracted_panel, attracted_fragment, attracted_page, _attracted),
}
