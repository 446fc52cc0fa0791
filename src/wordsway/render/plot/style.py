"""How pictures look and how they are written.

Nothing here touches matplotlib's global state: figures are objects of their own (never pyplot's),
the style holds while a figure is drawn and written, and no backend is chosen.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import rc_context, rcParamsDefault
from matplotlib.figure import Figure

from wordsway.render.plot.fonts import font_names

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
#: Beside the bytes, what a user may have set and a picture must not depend on.
_KEPT = ("backend", "backend_fallback", "interactive", "toolbar", "timezone", "webagg", "tk")


@contextmanager
def house_style() -> Iterator[None]:
    """matplotlib's defaults and our look on top, whatever the user has set; undone at the end."""
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
    """One file, without the hour, so that equal numbers give equal files."""
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(path, format=kind, dpi=160, metadata=stamp)
