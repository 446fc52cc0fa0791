"""Letters in pictures: fonts for many scripts where they are installed, and a sign for what none of
them has.
"""

from __future__ import annotations

import unicodedata
from functools import cache

from matplotlib import font_manager

from wordsway.core.escape import one_line

#: matplotlib's own font, then those that draw more scripts where they are installed.
FONTS = (
    "DejaVu Sans",
    "Noto Sans",
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "PingFang SC",
    "Microsoft YaHei",
    "Arial Unicode MS",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Emoji",
    "Segoe UI Emoji",
)


def drawable(text: str) -> str:
    """A text in the characters that the fonts have: □ for others, marks and joiners dropped.

    >>> drawable("a$b"), drawable("a\\U000f0000")
    ('a$b', 'a�')
    """
    known = _known()
    kept = (
        char
        if ord(char) in known
        else ""
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else "□"
        for char in one_line(text)
    )
    return "".join(kept)


def spelled(text: object, kind: str) -> str:
    """One line for a picture: an SVG keeps letters, since its reader brings the fonts; others show
    what can be drawn.
    """
    return one_line(text) if kind == "svg" else drawable(one_line(text))


@cache
def font_names() -> tuple[str, ...]:
    """Those of `FONTS` that are installed."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in FONTS if name in there)


@cache
def _known() -> frozenset[int]:
    """The characters that the fonts have."""
    return frozenset(
        code
        for name in font_names()
        for code in font_manager.get_font(font_manager.findfont(name)).get_charmap()
    )
