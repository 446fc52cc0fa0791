"""Figures 3.1 and 3.2: softmax attention keeps noticing a word, ReLU attention does not."""

from __future__ import annotations

from dataclasses import dataclass

from wordsway.paper.finding import Finding
from wordsway.paper.sensitivity_curves import SensitivityCurves, Series

LENGTHS = (10, 20, 50, 100, 150, 200, 250)
QUICK_LENGTHS = (10, 50, 100, 250)


def spread(series: Series) -> str:
    means = series.means
    return f"slope {series.slope}; means {means.min():.3g} … {means.max():.3g}"


@dataclass(frozen=True)
class SoftmaxAttention(SensitivityCurves):
    """Figure 3.1."""

    name: str = "3.1"
    title: str = "Figure 3.1: random attention features (softmax)"
    map: str = "raf"
    n: tuple[int, ...] = LENGTHS
    quick_n: tuple[int, ...] = QUICK_LENGTHS

    def judge(self, series: Series) -> Finding:
        stays = series.slope.value >= -0.1 and bool(series.means.min() > 0.5)
        return self.finding("Theorem 3: S of RAF stays Ω(1)", series.where, spread(series), stays)


@dataclass(frozen=True)
class ReluAttention(SensitivityCurves):
    """Figure 3.2."""

    name: str = "3.2"
    title: str = "Figure 3.2: random attention features (ReLU)"
    map: str = "relu-raf"
    n: tuple[int, ...] = LENGTHS
    quick_n: tuple[int, ...] = QUICK_LENGTHS

    def judge(self, series: Series) -> Finding:
        falls = series.slope.high < -0.1
        claim = "Remark: S of ReLU-RAF falls with n"
        return self.finding(claim, series.where, spread(series), falls)
