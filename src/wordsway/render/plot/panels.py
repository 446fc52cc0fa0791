"""Panels of curves against n: means with error bars, the certified band, references; one look for
all figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from wordsway.render.plot.curves import STYLE, legend, save

#: Okabe and Ito's colours with a marker each: safe for colour-blind readers, and for grey prints.
LOOK = (
    ("#0072B2", "o"),
    ("#D55E00", "^"),
    ("#009E73", "s"),
    ("#CC79A7", "D"),
    ("#E69F00", "v"),
    ("#56B4E9", "P"),
)


@dataclass(frozen=True)
class Curve:
    """Means ± sd of attained values at each n, and the means of their certified ends (None where
    there is none).
    """

    label: str
    n: Sequence[int]
    mean: Sequence[float]
    sd: Sequence[float]
    upper: Sequence[float | None] = ()
    look: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Reference:
    """A line to compare with: theory, or a rate."""

    label: str
    n: Sequence[float]
    value: Sequence[float]
    look: int | None = None
    style: str = ":"


@dataclass(frozen=True)
class Panel:
    """One pair of axes; ``rate`` draws both axes in logarithms, where a rate is a straight line."""

    title: str
    curves: Sequence[Curve]
    references: Sequence[Reference] = ()
    rate: bool = False


def draw_panels(
    panels: Sequence[Panel], path: Path, formats: Sequence[str] = ("png", "svg", "pdf")
) -> list[Path]:
    """Draw the panels side by side (in rows of three) and write them in every format, each whole or
    not at all.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(
            rows, columns, figsize=(5.6 * columns, 4.6 * rows), layout="constrained", squeeze=False
        )
        for axes, panel in zip(grid.flat, panels, strict=False):
            _draw(axes, panel)
        for axes in list(grid.flat)[len(panels) :]:
            axes.set_visible(False)
        written = save(figure, path, formats)
        plt.close(figure)
    return written


def _draw(axes: Axes, panel: Panel) -> None:
    for curve in panel.curves:
        colour, marker = LOOK[curve.look % len(LOOK)]
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "markersize": 5,
            "linewidth": 1.5,
        }
        if curve.dashed:
            look |= {
                "linestyle": "--",
                "markerfacecolor": "white",
                "markersize": 4,
                "linewidth": 1.0,
            }
        axes.errorbar(curve.n, curve.mean, yerr=curve.sd, capsize=2.5, label=curve.label, **look)
        band = (
            [
                (n, low, high)
                for n, low, high in zip(curve.n, curve.mean, curve.upper, strict=True)
                if high is not None
            ]
            if curve.upper
            else []
        )
        if band:
            n, low, high = zip(*band, strict=True)
            axes.fill_between(n, low, high, color=colour, alpha=0.12, linewidth=0)
    for reference in panel.references:
        colour = "#555555" if reference.look is None else LOOK[reference.look % len(LOOK)][0]
        axes.plot(
            reference.n,
            reference.value,
            linestyle=reference.style,
            linewidth=1.2,
            color=colour,
            label=reference.label,
        )
    ticks = sorted({n for curve in panel.curves for n in curve.n})
    if not panel.rate:  # two labels must not run into each other
        span = ticks[-1] - ticks[0] or 1
        ticks = [
            tick for at, tick in enumerate(ticks) if at == 0 or tick - ticks[at - 1] > 0.07 * span
        ]
    if panel.rate:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:.3g}")
        axes.minorticks_off()
        tops = [
            mean + sd
            for curve in panel.curves
            for mean, sd in zip(curve.mean, curve.sd, strict=True)
        ]
        lows = [value for curve in panel.curves for value in curve.mean] + [
            value for line in panel.references for value in line.value
        ]
        axes.set_ylim(
            min(lows) * 0.96, min(axes.get_ylim()[1], max(tops) * 1.6)
        )  # a loose certificate may leave the axes
    else:
        axes.set_ylim(bottom=0, top=axes.get_ylim()[1] * 1.25)  # room for the legend
    axes.set_xticks(ticks, [str(tick) for tick in ticks], rotation=0 if len(ticks) <= 7 else 45)
    axes.set_xlabel("number of tokens n")
    axes.set_ylabel("word sensitivity S")
    axes.set_title(panel.title, fontsize=11)
    legend(axes, fontsize=8, ncols=1 if panel.rate else 2, loc="upper right")
