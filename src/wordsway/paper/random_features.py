"""Figure 2: fully connected random features forget a word as texts grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wordsway.experiments.slopes import fit_slope
from wordsway.paper.finding import Finding
from wordsway.paper.sensitivity_curves import SensitivityCurves, Series
from wordsway.theory import wide_relu_rf

if TYPE_CHECKING:
    import pandas

#: A slope within this of what is expected agrees with it.
TOLERANCE = 0.05


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
        n = sorted(set(series.rows["n"]))
        expected = fit_slope(n, [wide_relu_rf(length, series.d) for length in n])
        holds = abs(series.slope.value + 0.5) <= TOLERANCE
        theory = ""
        if expected is not None:
            holds = holds or abs(series.slope.value - expected.value) <= TOLERANCE / 2
            theory = f"; the theory at these n: −{-expected.value:.3f}"
        claim = "Theorem 1: S of RF falls like n^(−1/2)"
        return self.finding(claim, series.where, f"slope {series.slope}{theory}", holds)


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
        claim = "Theorem 2: S of DRF still falls with n"
        return self.finding(
            claim, series.where, f"slope {series.slope}", holds=series.slope.high < -0.3
        )

    def more_findings(self, first: pandas.DataFrame) -> list[Finding]:
        found = []
        for data, some in first.groupby("data"):
            means = some.groupby(["depth", "n"])["lower"].mean().unstack("n")
            if len(means) < 2:
                continue
            ratio = means.iloc[-1] / means.iloc[0]
            measured = (
                f"S at L = {int(means.index[-1])} is {ratio.min():.3f} to {ratio.max():.3f} times "
                f"that at L = {int(means.index[0])}"
            )
            grows = bool((means.diff().dropna() > 0).all().all())
            claim = "Theorem 2: depth helps by a constant"
            found.append(self.finding(claim, str(data), measured, grows))
        return found
