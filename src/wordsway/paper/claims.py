"""What the paper claims, beside what was measured: slopes with intervals, ranges, verdicts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from wordsway.experiments.slopes import Slope, fit_slope
from wordsway.paper.claims_learning import learning_findings
from wordsway.paper.finding import FAILS, HOLDS, OPEN, Finding
from wordsway.theory import wide_relu_rf

if TYPE_CHECKING:
    import pandas

#: A slope within this of what is expected agrees with it.
TOLERANCE = 0.05


def series_slope(rows: pandas.DataFrame) -> Slope | None:
    """The slope of log S against log n over all trials of one series."""
    return fit_slope(rows["n"].tolist(), rows["lower"].tolist())


def findings(frame: pandas.DataFrame, missing: list[str]) -> list[Finding]:
    """Every claim of Figures 2–5 on every series that was measured, and what was not."""
    found: list[Finding] = []
    learned = frame[frame["train"].notna()] if "train" in frame else frame[:0]
    frame = frame.drop(learned.index)
    if not frame.empty:
        first = frame[frame["positions"] == "0"]
        for series, rows in first.groupby(["map", "data", "d", "depth"], dropna=False):
            map_name, data, d, depth = (
                one.item() if hasattr(one, "item") else one for one in series
            )
            found += _series(
                str(map_name),
                str(data),
                int(str(d)),
                None if _missing(depth) else int(float(str(depth))),
                rows,
            )
        found += _depth(first[first["map"] == "drf"])
        found.sort(key=lambda one: one.figure)
        found.append(_certificates(frame))
    if not learned.empty:
        found += learning_findings(learned)
    return found + [
        Finding("", what.partition(":")[0], "", what.partition(":")[2].strip(), OPEN)
        for what in missing
    ]


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _series(
    map_name: str, data: str, d: int, depth: int | None, rows: pandas.DataFrame
) -> list[Finding]:
    slope = series_slope(rows)
    where = f"{data}, d = {d}" + (f", L = {depth}" if depth else "")
    if slope is None:
        return []
    if map_name == "rf":
        n = sorted(set(rows["n"]))
        expected = fit_slope(n, [wide_relu_rf(one, d) for one in n])
        near = abs(slope.value + 0.5) <= TOLERANCE or (
            expected is not None and abs(slope.value - expected.value) <= TOLERANCE / 2
        )
        theory = "" if expected is None else f"; the theory at these n: −{-expected.value:.3f}"
        return [
            Finding(
                "2-left",
                "Theorem 1: S of RF falls like n^(−1/2)",
                where,
                f"slope {slope}{theory}",
                HOLDS if near else FAILS,
            )
        ]
    if map_name == "drf":
        falls = slope.high < -0.3
        return [
            Finding(
                "2-right",
                "Theorem 2: S of DRF still falls with n",
                where,
                f"slope {slope}",
                HOLDS if falls else FAILS,
            )
        ]
    means = rows.groupby("n")["lower"].mean()
    spread = f"slope {slope}; means {means.min():.3g} … {means.max():.3g}"
    if map_name == "raf":
        stays = slope.value >= -0.1 and means.min() > 0.5
        return [
            Finding(
                "3.1", "Theorem 3: S of RAF stays Ω(1)", where, spread, HOLDS if stays else FAILS
            )
        ]
    return [
        Finding(
            "3.2",
            "Remark: S of ReLU-RAF falls with n",
            where,
            spread,
            HOLDS if slope.high < -0.1 else FAILS,
        )
    ]


def _depth(rows: pandas.DataFrame) -> list[Finding]:
    """Depth helps by a factor that does not depend on n."""
    found = []
    for data, some in rows.groupby("data"):
        means = some.groupby(["depth", "n"])["lower"].mean().unstack("n")
        if len(means) > 1:
            ratio = means.iloc[-1] / means.iloc[0]
            grows = bool((means.diff().dropna() > 0).all().all())
            measured = f"S at L = {int(means.index[-1])} is {ratio.min():.3f} to {ratio.max():.3f} times that at L = {int(means.index[0])}"
            found.append(
                Finding(
                    "2-right",
                    "Theorem 2: depth helps by a constant",
                    str(data),
                    measured,
                    HOLDS if grows else FAILS,
                )
            )
    return found


def _certificates(frame: pandas.DataFrame) -> Finding:
    both = frame.dropna(subset=["upper"])
    holds = bool((both["lower"] <= both["upper"]).all())
    ratio = (both["upper"] / both["lower"]).groupby(both["map"]).median()
    measured = f"{len(both):,} intervals; median certified ÷ attained: " + ", ".join(
        f"{name} {value:.2f}" for name, value in ratio.items()
    )
    return Finding(
        "",
        "every attained value is below its certificate",
        "all first-row cells",
        measured,
        HOLDS if holds else FAILS,
    )
