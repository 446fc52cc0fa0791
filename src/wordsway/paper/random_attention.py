"""Figures 3.1 and 3.2: softmax attention keeps noticing a word, ReLU attention does not."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.paper.finding import Finding, decide
from wordsway.paper.sensitivity_curves import SensitivityCurves, Series, minus

LENGTHS = (10, 20, 50, 100, 150, 200, 250)
QUICK_LENGTHS = (10, 50, 100, 250)
#: The slope that separates "stays" from "falls". The theory has no finite-size curve for attention:
#: Theorem 3 bounds S from below where d/log⁴d = Ω(n), and random features fall with −1/2.
FALLS = -0.1


def measured(series: Series) -> str:
    slope, means = series.slope, series.means
    zero = "includes" if slope.low <= 0 <= slope.high else "excludes"
    return f"slope {slope}, {zero} 0; mean S {means.min():.3g} … {means.max():.3g}"


@dataclass(frozen=True)
class SoftmaxAttention(SensitivityCurves):
    """Figure 3.1."""

    name: str = "3.1"
    title: str = "Figure 3.1: random attention features (softmax)"
    map: str = "raf"
    n: tuple[int, ...] = LENGTHS
    quick_n: tuple[int, ...] = QUICK_LENGTHS

    def judge(self, series: Series) -> Finding:
        return Finding(
            self.name,
            "Theorem 3: S of RAF is Ω(1)",
            series.where,
            measured(series),
            decide(series.slope, least=FALLS),
            f"slope above {minus(FALLS, 'g')}; no finite-size curve exists",
        )


@dataclass(frozen=True)
class ReluAttention(SensitivityCurves):
    """Figure 3.2."""

    name: str = "3.2"
    title: str = "Figure 3.2: random attention features (ReLU)"
    map: str = "relu-raf"
    n: tuple[int, ...] = LENGTHS
    quick_n: tuple[int, ...] = QUICK_LENGTHS

    def judge(self, series: Series) -> Finding:
        return Finding(
            self.name,
            "Remark: S of ReLU-RAF falls with n",
            series.where,
            measured(series),
            decide(series.slope, most=FALLS),
            f"slope below {minus(FALLS, 'g')}; no finite-size curve exists",
        )
