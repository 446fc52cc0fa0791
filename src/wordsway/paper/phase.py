"""Where the paper's theorem ends: S of random attention over n and d.

By the paper's Theorem 3, S is Ω(1) while n = O(d/log⁴d). A counting argument bounds the number of
rows whose attention one word can win: that takes a score of about log n, and the scores AΔ of one Δ
satisfy

    Σ_j (A_j·Δ)² ≤ ‖A‖²‖Δ‖² ≈ d(1 + √(n/d))²,

so that a word can win at most about d(1 + √(n/d))²/log²n of the n rows. The figure draws the line
where this equals n; to the right of it, the share of rows that can be won falls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from wordsway.core.chart import Chart, Panel, ReferenceLine, Tiles
from wordsway.paper.figure import OWN, Finding, GridFigure, Sources, check, decide
from wordsway.paper.sensitivity_curves import certificates, minus, series_slope
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request

if TYPE_CHECKING:
    import pandas

#: n/d from 1/32 to 32.
RATIOS = tuple(2.0**power for power in range(-5, 6))
QUICK_RATIOS = RATIOS[::2]
WIDTHS = (16, 32, 64, 128, 256)
QUICK_WIDTHS = (32, 64)
TRIALS, QUICK_TRIALS = 3, 2
#: Longer texts need gigabytes.
LONGEST = 4096
#: Slopes of log S against log n: S falls slowly above the first, and fast below the second.
SLOW, FAST = -0.2, -0.3


def theorem_line(d: float) -> float:
    """n/d at n = d/log⁴d, the condition of the paper's Theorem 3 with constant 1.

    >>> round(1 / theorem_line(64))
    299
    """
    return math.log(d) ** -4


def counting_line(d: float) -> float:
    """The n/d from which on fewer than all rows can be won: n log²n = d(1 + √(n/d))².

    >>> x = counting_line(256)
    >>> abs(x * math.log(256 * x) ** 2 - (1 + math.sqrt(x)) ** 2) < 1e-9
    True
    """
    low, high = math.e / d, 1e6  # beyond n = e the left side grows faster than the right one
    for _ in range(200):
        ratio = math.sqrt(low * high)
        if ratio * math.log(ratio * d) ** 2 < (1 + math.sqrt(ratio)) ** 2:
            low = ratio
        else:
            high = ratio
    return math.sqrt(low * high)


@dataclass(frozen=True)
class PhaseDiagram(GridFigure):
    """S of RAF, first row, with its certificate, over n/d and d."""

    name: str = "phase"
    title: str = "Phase diagram: how long may a text be?"
    reviews: ClassVar[bool] = False
    study: ClassVar[bool] = True
    map: str = "raf"

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        return [
            Cell(Request(self.map, n=n, d=d, seed=seed), trial)
            for n, d in self._points(quick)
            for trial in range(QUICK_TRIALS if quick else TRIALS)
        ]

    def _points(self, quick: bool) -> Iterator[tuple[int, int]]:
        for d in QUICK_WIDTHS if quick else WIDTHS:
            for ratio in QUICK_RATIOS if quick else RATIOS:
                if 1 <= ratio * d <= LONGEST:
                    yield round(ratio * d), d

    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        return (
            f"S of random attention, first row, mean over {trials} trials. The lower left half of "
            "each tile is the attained value, the upper right half the certified upper bound; the "
            "true value lies between them. Left of the dashed line, the counting argument allows "
            "one word to win every row at a score of log n; right of it, it does not. The paper's "
            "Theorem 3 requires n = O(d/log⁴d): with constant 1 that is the dotted line, far "
            "to the left of where S falls."
        )

    def drawing(self, data: pandas.DataFrame) -> Chart:
        means = data.groupby(["d", "n"])[["lower", "upper"]].mean().reset_index()
        ratios = means["n"] / means["d"]
        tiles = Tiles(
            "d",
            ratios.tolist(),
            means["d"].tolist(),
            means["lower"].tolist(),
            [None if math.isnan(end) else end for end in means["upper"]],
        )
        low, high = means["d"].min() / math.sqrt(2), means["d"].max() * math.sqrt(2)
        widths = [low * (high / low) ** (step / 60) for step in range(61)]
        lines = [
            ReferenceLine(label, [line(d) for d in widths], widths, style=style)
            for label, line, style in (
                ("n log²n = d(1 + √(n/d))²: all rows can be won left of it", counting_line, "--"),
                ("n = d/log⁴d: the paper's condition with constant 1", theorem_line, ":"),
            )
        ]
        panel = Panel(
            "Random attention (softmax), Gaussian texts",
            references=lines,
            tiles=[tiles],
            x_label="n/d",
            y_label="d",
        )
        return Chart([panel])

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        found = []
        for d, rows in data.groupby("d"):
            ratio = rows["n"] / rows["d"]
            short = rows[(ratio <= 1) & (rows["n"] > 1)]
            found += [
                self._slope("S falls slowly, if at all, up to n = d", short, least=SLOW),
                self._slope("S falls fast from n = 4d on", rows[ratio >= 4], most=FAST),
                self._certified(int(str(d)), rows),
            ]
        return [*found, certificates(self.name, data)]

    def _slope(
        self,
        claim: str,
        rows: pandas.DataFrame,
        *,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> Finding:
        slope = None if rows.empty else series_slope(rows)
        where = "" if rows.empty else f"d = {int(rows['d'].iloc[0])}"
        side = f"above {minus(least, 'g')}" if most == math.inf else f"below {minus(most, 'g')}"
        measured = "too few n" if slope is None else f"slope {slope}"
        verdict = decide(slope, least, most)
        return Finding(self.name, claim, where, measured, verdict, f"slope {side}", OWN)

    def _certified(self, d: int, rows: pandas.DataFrame) -> Finding:
        """Whether the certified bound of the longest text is below the value of a shorter one."""
        means = rows.groupby("n")[["lower", "upper"]].mean()
        attained = float(means["lower"].max())
        longest = means.index.max()
        least, most = means.loc[longest]
        measured = (
            f"attained {attained:.3g} at n = {means['lower'].idxmax()}, certified ≤ {most:.3g} at "
            f"n = {longest}, where {least:.3g} is attained"
        )
        holds = bool(most < attained)
        claim = "the fall is certified"
        rule = "mean certified bound of the longest text below the largest mean attained value"
        return Finding(self.name, claim, f"d = {d}", measured, check(holds), rule, OWN)
