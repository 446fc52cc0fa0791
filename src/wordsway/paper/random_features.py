"""Figure 2: fully connected random features forget a word as texts grow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wordsway.paper.finding import Finding, decide
from wordsway.paper.sensitivity_curves import SensitivityCurves, Series, minus
from wordsway.studies.slopes import fit_slope, mean_interval
from wordsway.theory import infinite_width, wide_relu_rf

if TYPE_CHECKING:
    import pandas

#: A slope within this of the theory's agrees with it.
MARGIN = 0.05


@dataclass(frozen=True)
class RandomFeatures(SensitivityCurves):
    """Figure 2, left."""

    name: str = "2-left"
    title: str = "Figure 2, left: random features"
    map: str = "rf"
    n: tuple[int, ...] = tuple(range(90, 151, 10))
    quick_n: tuple[int, ...] = (90, 120, 150)
    rate: bool = True

    def judge(self, series: Series) -> Finding:
        theory = series.slope_of(lambda n: wide_relu_rf(n, series.d))
        return Finding(
            self.name,
            "Theorem 1: S of RF falls like n^(−1/2)",
            series.where,
            f"slope {series.slope}; −1/2 as n → ∞",
            decide(series.slope, theory - MARGIN, theory + MARGIN),
            f"slope within {MARGIN:g} of {minus(theory)}, that of (1 + √(2/n))/√n at these n",
        )


@dataclass(frozen=True)
class DeepRandomFeatures(SensitivityCurves):
    """Figure 2, right: depth helps by a factor that does not depend on n."""

    name: str = "2-right"
    title: str = "Figure 2, right: deep random features, d = 768"
    map: str = "drf"
    n: tuple[int, ...] = (50, 60, 70, 80)
    quick_n: tuple[int, ...] = (50, 80)
    widths: tuple[int, ...] = (768,)
    quick_widths: tuple[int, ...] = (768,)
    depths: tuple[int | None, ...] = (2, 4, 8)
    everywhere: bool = False
    rate: bool = True

    def judge(self, series: Series) -> Finding:
        """Theorem 2 is an upper bound, and at finite width there is no curve to compare with: the
        worst Δ of a drawn map may fall faster than the infinite-width limit, but not more slowly.
        """
        theory = series.slope_of(lambda n: infinite_width(n, depth=series.depth or 1))
        return Finding(
            self.name,
            "Theorem 2: S of DRF falls like n^(−1/2), or faster",
            series.where,
            f"slope {series.slope}",
            decide(series.slope, most=theory + MARGIN),
            f"slope at most {MARGIN:g} above {minus(theory)}, that of infinite width at these n",
        )

    def more_findings(self, first: pandas.DataFrame) -> list[Finding]:
        found = []
        for data, some in first.groupby("data"):
            logs = some.assign(log=some["lower"].map(math.log))
            table = logs.pivot_table(index=["n", "trial"], columns="depth", values="log")
            if table.shape[1] < 2:
                continue
            shallow, deep = table.columns[0], table.columns[-1]
            gain = mean_interval((table[deep] - table[shallow]).dropna().tolist())
            steps = table.groupby("n").mean().diff(axis=1).iloc[:, 1:]
            grows = f"{int((steps > 0).sum().sum())} of {steps.size} steps of L raise the mean S"
            drift = fit_slope(
                table.index.get_level_values("n").tolist(),
                (table[deep] - table[shallow]).map(math.exp).tolist(),
            )
            measured = (
                f"log S(L = {int(deep)}) − log S(L = {int(shallow)}): {gain}; {grows}; slope of "
                f"the factor in n {drift}"
            )
            claim = "Theorem 2: depth helps by a constant factor"
            verdict = decide(gain, least=0.0)
            found.append(
                Finding(self.name, claim, str(data), measured, verdict, "the difference is above 0")
            )
        return found
