"""Pictures for print: widths, letters, names, bands, keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from examples import EXAMPLES, PLAIN
from wordsway.core.chart import Chart, Curve, Panel, PointSeries, ReferenceLine
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison
from wordsway.render.plot import figure
from wordsway.render.plot.chart import CERTIFIED
from wordsway.render.plot.style import house_style, in_lines

N = [10, 20, 50, 100, 250]
MEAN, SD, UPPER = [2.0, 1.9, 1.7, 1.5, 1.2], [0.1] * 5, [2.5, 2.4, 2.4, 2.2, None]


def curves(count: int = 3) -> list[Curve]:
    """Measured curves with bands and certificates, and "any row" for each."""
    first = [Curve(f"d = {one}: slope −0.1", N, MEAN, SD, UPPER, one) for one in range(count)]
    every = [Curve(f"d = {one}, any row", N, MEAN, colour=one, dashed=True) for one in range(count)]
    return first + every


def chart(panels: int) -> Chart:
    theory = ReferenceLine("theory", N, MEAN)
    return Chart([Panel(f"RAF · texts {one}", curves(), [theory]) for one in range(panels)])


def clouds() -> Chart:
    points = [PointSeries("N = 100, alignment loss", [0.1, 0.9], [3.0, 0.4])]
    panels = [
        Panel(
            f"RAF (softmax), n = {n} · fine-tuned", points=points, x_label="γ", right=3.0, top=5.0
        )
        for n in (40, 120, 40, 120)
    ]
    return Chart(panels, columns=4, shared_key=True)


PRINTED: dict[str, tuple[Any, float]] = {
    "one panel": (chart(1), 3.25),
    "two panels": (chart(2), 6.75),
    "many panels": (replace(chart(9), columns=4), 6.75),
    "points": (clouds(), 6.75),
    "matrices": (EXAMPLES[Attracted].make(PLAIN), 6.75),
    "texts": (EXAMPLES[Comparison].make(PLAIN), 6.75),
}


def letters(drawn: Figure) -> list[Text]:
    return [text for text in drawn.findobj(Text) if isinstance(text, Text) and text.get_text()]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_icml_has_its_widths_letters_and_no_titles(name: str) -> None:
    """A column or the text wide; 7 to 9 points, serif; nothing sticks out, no two names touch."""
    result, inches = PRINTED[name]
    with house_style("icml"):
        drawn = figure(result, "icml")
        drawn.draw_without_rendering()
    assert drawn.get_figwidth() == inches and drawn.get_figheight() < 9
    assert {text.get_fontfamily()[0] for text in letters(drawn)} == {"STIXGeneral"}
    assert all(7 <= float(text.get_fontsize()) <= 9 for text in letters(drawn))
    assert drawn.get_suptitle() == "" and all(axes.get_title() == "" for axes in drawn.axes)
    wide, high = drawn.get_size_inches() * drawn.dpi
    shown = [axes for axes in drawn.axes if axes.get_xlabel()]
    for axes in shown:
        box = axes.xaxis.label.get_window_extent()
        assert box.x0 > -2 and box.x1 < wide + 2 and box.y0 > -2 and box.y1 < high + 2
        if (legend := axes.get_legend()) is not None:
            assert legend.get_window_extent().y1 <= box.y0 + 2, "the key is below the name"
    if len(shown) > 1:
        assert [axes.get_xlabel().count("(a) ") for axes in shown][:2] == [1, 0]


def test_a_picture_on_a_screen_keeps_its_titles() -> None:
    drawn = figure(chart(2))
    assert [axes.get_title() for axes in drawn.axes] == ["RAF · texts 0", "RAF · texts 1"]


def parts(axes: Axes) -> tuple[list[Line2D], list[PolyCollection]]:
    return list(axes.lines), [one for one in axes.collections if isinstance(one, PolyCollection)]


def test_bands_are_one_sd_and_certificates_thin_lines() -> None:
    """The band of ± 1 sd around the means; the certified ends are a line of their own, which stops
    where there is none, and has one key for all curves.
    """
    drawn = figure(chart(1))
    lines, bands = parts(drawn.axes[0])
    assert len(bands) == 3, "none for any row"
    heights = np.asarray(bands[0].get_paths()[0].vertices)
    for n, mean, sd in zip(N, MEAN, SD, strict=True):
        ends = heights[heights[:, 0] == n][:, 1]
        assert (ends.min(), ends.max()) == pytest.approx((mean - sd, mean + sd))
    thin = [line for line in lines if line.get_label() == CERTIFIED]
    assert len(thin) == 3 and all(line.get_linewidth() < 1 for line in thin)
    ends = np.asarray(thin[0].get_ydata(), dtype=float)
    assert ends[:4].tolist() == UPPER[:4] and np.isnan(ends[4])
    legend = drawn.axes[0].get_legend()
    assert legend is not None
    keys = [text.get_text() for text in legend.get_texts()]
    assert keys[-1] == "thin lines: certified, same dash" and len(keys) == 8
    dashed = [line for line in lines if str(line.get_label()).endswith("any row")]
    assert len(dashed) == 3 and all(line.get_linestyle() == "--" for line in dashed)


def test_labels_of_ticks_and_points_stay_apart() -> None:
    """10 and 20 would touch at this width; the label of a valley is below it."""
    labels = ["", "4.6×", "13.9×", "17.9×"]
    line = Curve("Δ", [0, 1, 2, 3], [0.1, 0.4, 0.3, 0.9], labels=labels)
    drawn = figure(Chart([Panel("", [Curve("S", N, MEAN)]), Panel("", [line])]))
    drawn.draw_without_rendering()
    ticks = [text.get_text() for text in drawn.axes[0].get_xticklabels()]
    assert ticks == ["10", "50", "100", "250"]
    texts = {text.get_text(): text for text in drawn.axes[1].texts}
    assert texts["13.9×"].get_verticalalignment() == "top"
    assert texts["4.6×"].get_verticalalignment() == texts["17.9×"].get_verticalalignment()


def test_names_break_at_dots_and_not_at_equals() -> None:
    assert in_lines("(a) RAF (softmax), n = 120 · fine-tuned", 27).split("\n") == [
        "(a) RAF (softmax), n = 120",
        "fine-tuned",
    ]
    assert in_lines("RF · IMDb", 20) == "RF · IMDb"


def test_saved_pictures_have_300_dots_per_inch(tmp_path: Path) -> None:
    path = chart(1).save(tmp_path / "a.png", style="icml")
    header = path.read_bytes()[16:20]
    assert int.from_bytes(header, "big") == 975, "3.25 inches"
