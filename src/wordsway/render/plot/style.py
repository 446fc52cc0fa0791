"""The style of pictures and how they are written: colours, and fonts for many scripts.

Nothing here touches matplotlib's global state: figures are never pyplot's, the style holds while a
figure is drawn and written, and no backend is chosen.
"""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib import font_manager, rc_context, rcParamsDefault
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from wordsway.core.escape import one_line

#: Okabe and Ito's colours with a marker each: safe for colour-blind readers, and for grey prints.
PALETTE = (
    ("#0072B2", "o"),
    ("#D55E00", "^"),
    ("#009E73", "s"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)
BLUE = PALETTE[0][0]
ORANGE = PALETTE[1][0]
INK = "#1d2430"
GREY = "#555555"
#: Every $ is taken as it is, and names in the files do not change from run to run.
_STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "wordsway",
    "pdf.fonttype": 42,
}
#: Settings of the user that do not change the bytes of a picture.
_KEPT = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg", "tk")
#: matplotlib's own font, then fonts for more scripts where they are installed.
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


@contextmanager
def house_style() -> Iterator[None]:
    """Use matplotlib's defaults and our style, whatever the user has set; undone at the end."""
    defaults: dict[Any, Any] = {
        name: value for name, value in rcParamsDefault.items() if not name.startswith(_KEPT)
    }
    look = defaults | _STYLE | {"font.family": [*font_names(), "sans-serif"]}
    with warnings.catch_warnings():
        # A box is drawn for a letter that no font has; an SVG's reader brings the fonts.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        with rc_context(look):
            yield


def write(figure: Figure, path: Path, kind: str) -> None:
    """Write one file, without the time, so that equal numbers give equal files."""
    if figure.get_layout_engine() is not None:
        # The layout's solver varies in the last bits, and names in an SVG are hashes of places.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position(Bbox(axes.get_position(original=True).get_points().round(6)))
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(path, format=kind, dpi=160, metadata=stamp)


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
