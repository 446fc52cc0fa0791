"""The style of pictures and how they are written: colours, and fonts for many scripts.

Nothing here touches matplotlib's global state: figures are never pyplot's, the style holds while a
figure is drawn and written, and no backend is chosen.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager, rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox, ScaledTranslation

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


#: What `house_style` adds for print: ICML sets Times, which STIX matches, in columns of 3.25 inches
#: on a text of 6.75 inches.
STYLES: dict[str, dict[str, Any]] = {
    "": {},
    "icml": {
        "font.family": ["STIXGeneral", "DejaVu Serif", "serif"],
        "mathtext.fontset": "stix",
        "axes.linewidth": 0.6,
        "grid.linewidth": 0.4,
    },
}
COLUMN, TEXT_WIDTH, MOST_HIGH = 3.25, 6.75, 9.0
#: Inches of a row of panels with their names and keys, at least.
LEAST_HIGH = 2.2
#: Points of the smallest and the largest letters in print, and the share of those on a screen.
SMALLEST, LARGEST, SHARE = 7.0, 9.0, 0.8
TICKS = 8.0
#: Letters in an inch at 7 to 8 points.
LETTERS = 19
_WHOLE: dict[str, Any] = {"break_on_hyphens": False, "break_long_words": False}


@contextmanager
def house_style(style: str = "") -> Iterator[None]:
    """Use matplotlib's defaults and our style, whatever the user has set; undone at the end."""
    defaults: dict[Any, Any] = {
        name: value for name, value in rcParamsDefault.items() if not name.startswith(_KEPT)
    }
    look = defaults | _STYLE | {"font.family": [*font_names(), "sans-serif"]} | STYLES[style]
    with warnings.catch_warnings():
        # A box is drawn for a letter that no font has; an SVG's reader brings the fonts.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        with rc_context(look):
            yield


def for_print(figure: Figure) -> None:
    """Give a figure the width of a column, or of the text where it has several axes; letters of 7
    to 9 points; panel names below the axes instead of titles, and keys below them.
    """
    figure.draw_without_rendering()
    plots = [
        axes for axes in figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"
    ]
    wide, high = figure.get_size_inches()
    width = COLUMN if len(plots) == 1 and wide < 8 else TEXT_WIDTH
    boxes = [axes.get_window_extent() for axes in plots if axes.axison]
    shape = boxes[-1].height / boxes[-1].width if boxes else 0.0
    figure.suptitle("")
    _shrink(figure)
    keys = [(axes, *_removed(axes.get_legend())) for axes in plots]
    shared = [_removed(legend) for legend in list(figure.legends)]
    names = [(axes, axes.get_title()) for axes in plots if axes.get_title()]
    for axes, _ in names:
        axes.set_title("")
    rows = max((_rows(axes) for axes in plots), default=0)
    figure.set_size_inches(width, max(width * high / wide, LEAST_HIGH * rows))
    figure.draw_without_rendering()
    for letter, (axes, name) in zip("abcdefghijklmnopqrstuvwxyz", names, strict=False):
        mark = f"({letter}) " if len(names) > 1 else ""
        letters = int(LETTERS * (axes.get_position(original=True).width * width + 0.2))
        lines = [axes.get_xlabel(), in_lines(mark + name, letters)]
        axes.set_xlabel("\n".join(filter(None, lines)))
    look: dict[str, Any] = {"fontsize": SMALLEST, "columnspacing": 1.0, "handlelength": 1.8}
    for axes, handles, labels in keys:
        if labels:
            inches = axes.get_position(original=True).width * width
            key_below(
                axes, list(zip(handles, labels, strict=True)), _columns(labels, inches), **look
            )
    for handles, labels in shared:
        look |= {"loc": "outside lower center", "ncols": _columns(labels, width)}
        figure.legend(handles, labels, **look)
    figure.align_xlabels([axes for axes in plots if axes.get_legend() is None])
    if not all(axes.axison for axes in plots):
        shape *= 1.25  # lines of text stay apart
    if boxes:
        _fit_height(figure, next(axes for axes in reversed(plots) if axes.axison), shape)


def _removed(legend: Legend | None) -> tuple[list[Any], list[str]]:
    """The handles and labels of a key, which is removed."""
    if legend is None:
        return [], []
    legend.remove()
    return list(legend.legend_handles), [text.get_text() for text in legend.get_texts()]


def _columns(labels: Sequence[str], inches: float) -> int:
    """How many columns of a key fit."""
    return max(1, min(len(labels), int(inches / (0.45 + max(map(len, labels)) / 24))))


def _shrink(figure: Figure) -> None:
    """Letters, markers and lines of print."""
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_fontsize(min(LARGEST, max(SMALLEST, SHARE * float(text.get_fontsize()))))
    for axes in figure.axes:  # those of ticks to come, too; names of tokens stand close
        axes.tick_params(labelsize=SMALLEST if axes.images else TICKS)
    for line in figure.findobj(Line2D):
        assert isinstance(line, Line2D)
        line.set_markersize(0.7 * line.get_markersize())
        line.set_linewidth(0.8 * line.get_linewidth())
    for points in figure.findobj(PathCollection):
        assert isinstance(points, PathCollection)
        points.set_sizes([0.4 * size for size in points.get_sizes()])
        points.set_linewidth([0.6 * float(one) for one in np.atleast_1d(points.get_linewidth())])


def _fit_height(figure: Figure, axes: Axes, shape: float) -> None:
    """Make the figure so high that these axes have their height ÷ width of before."""
    rows = _rows(axes)
    for _ in range(3):
        figure.draw_without_rendering()
        high, room = figure.get_figheight(), axes.get_position(original=True)
        wanted = shape * room.width * figure.get_figwidth()
        figure.set_figheight(min(MOST_HIGH, high + rows * (wanted - room.height * high)))


def _rows(axes: Axes) -> int:
    """Rows of axes in the figure."""
    place = axes.get_subplotspec()
    return 1 if place is None else place.get_gridspec().nrows


def key_below(axes: Axes, pairs: Sequence[tuple[Any, str]], columns: int, **look: Any) -> None:
    """A key of handles and labels below the label of the x axis."""
    label = axes.xaxis.label
    ticks = [float(tick.get_fontsize()) for tick in axes.get_xticklabels()]
    lines = label.get_text().count("\n") + 1
    points = 16 + 1.2 * max(ticks, default=0.0) + 1.25 * lines * float(label.get_fontsize())
    figure = axes.get_figure(root=True)
    assert figure is not None
    down = ScaledTranslation(0, -points / 72, figure.dpi_scale_trans)
    handles, labels = zip(*pairs, strict=True)
    axes.legend(
        handles,
        labels,
        loc="upper center",
        ncols=columns,
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + down,
        borderaxespad=0.0,
        **look,
    )


def in_lines(name: str, letters: int) -> str:
    """A name in lines of at most ``letters`` letters, broken at dots and never at "=".

    >>> in_lines("RF, n = 40 · fine-tuned", 14)
    'RF, n = 40\\nfine-tuned'
    """
    longest = max(map(len, name.split("\n")))
    parts = (name if longest <= letters else name.replace(" · ", "\n")).split("\n")
    wrapped = (textwrap.fill(part.replace(" = ", "\0=\0"), letters, **_WHOLE) for part in parts)
    return "\n".join(wrapped).replace("\0=\0", " = ")


def write(figure: Figure, path: Path, kind: str, *, dpi: int = 160) -> None:
    """Write one file, without the time, so that equal numbers give equal files."""
    if figure.get_layout_engine() is not None:
        # The layout's solver varies in the last bits, and names in an SVG are hashes of places.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            axes.set_position(Bbox(axes.get_position(original=True).get_points().round(6)))
    stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    figure.savefig(path, format=kind, dpi=dpi, metadata=stamp)


@cache
def font_names() -> tuple[str, ...]:
    """Those of `FONTS` that are installed."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in FONTS if name in there)
