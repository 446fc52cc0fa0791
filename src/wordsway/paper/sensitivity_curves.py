"""S against n: Figure 2 (random features), Figures 3.1 and 3.2 (random attention)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.chart import Chart, Curve, Panel, ReferenceLine
from wordsway.core.laws import Slope, fit_slope, mean_interval
from wordsway.maps.registry import kind_of
from wordsway.paper.figure import (
    MODELS,
    OWN,
    WIDTHS,
    Finding,
    GridFigure,
    Sources,
    check,
    decide,
    texts_for,
)
from wordsway.studies.cells import Cell
from wordsway.studies.corpus_texts import PAPER_FEWER
from wordsway.studies.request import Request
from wordsway.studies.sweep import CURVED
from wordsway.studies.tables import texts_of
from wordsway.theory import infinite_width, wide_relu_rf

if TYPE_CHECKING:
    import pandas

#: Trials, and those of the quick subset.
TRIALS, QUICK_TRIALS = 10, 3
#: The quick subset searches all rows of texts up to this length only.
QUICK_EVERYWHERE = 100
#: Rows among which the largest S of all rows is looked for; docs/notes/search.md has the draws.
SHORTLIST = {"rf": 9, "raf": 6, "relu-raf": 10}
#: How captions describe the search of all rows.
CHOSEN = {
    "rf": "of nine evenly spaced rows (S has the same distribution at all rows)",
    "raf": "over all rows, of which a short search chooses six",
    "relu-raf": "over all rows, of which two searches choose one",
}
#: What the search of all rows may be below that of the first one, which it need not contain.
SHORTFALL = 0.01
#: One text under one draw of the weights.
DRAW = ["data", "d", "depth", "n", "trial"]
#: Points of a smooth reference curve.
FINE = 60
#: The lengths of Figures 3.1 and 3.2.
LENGTHS = (10, 20, 50, 100, 150, 200, 250)
QUICK_LENGTHS = (10, 50, 100, 250)

#: The paper's claims about S of each map as n grows.
CLAIMS = {
    "rf": "S of RF falls like 1/√n or faster (paper, Theorem 1)",
    "drf": "S of DRF falls like 1/√n or faster (paper, Theorem 2)",
    "raf": "S of RAF hardly falls with n (cf. paper, Theorem 3)",
    "relu-raf": "Remark: S of ReLU-RAF falls with n",
}
#: A slope within this of the theory's agrees with it: wordsway's choice.
MARGIN = 0.05
#: The slope that separates "stays" from "falls": wordsway's choice. The theory has no finite-size
#: curve for attention: Theorem 3 of the paper bounds S from below where d/log⁴d = Ω(n), and random
#: features fall with −1/2.
FALLS = -0.1


def judge_slope(
    name: str, slope: Slope | None, n: Sequence[int], d: int, depth: int | None = None
) -> tuple[str, str]:
    """The verdict on the paper's claim about a map of `CLAIMS`, and its rule.

    ``slope`` is that of log S against log n at the lengths ``n``. RF is compared with the slope of
    (1 + √(2/n))/√n at the same lengths. The paper's Theorem 2 is an upper bound, and DRF has no
    curve at finite width: it may fall faster than the infinite-width limit, but not more slowly.

    >>> n = [5, 10, 20, 40, 80]
    >>> judge_slope("raf", fit_slope(n, [2.0, 2.01, 2.0, 2.01, 2.0]), n, d=8)[0]
    'agrees'
    """
    if name == "rf":
        theory = _slope_of(lambda length: wide_relu_rf(length, d), n)
        rule = (
            f"our rule, stricter than the paper's bound (slope at most −0.5 for large n): slope "
            f"within {MARGIN:g} of {minus(theory)}, that of (1 + √(2/n))/√n at these n"
        )
        return decide(slope, theory - MARGIN, theory + MARGIN), rule
    if name == "drf":
        theory = _slope_of(lambda length: infinite_width(length, depth=depth or 1), n)
        rule = (
            f"our rule: slope at most {MARGIN:g} above {minus(theory)}, that of infinite width at "
            "these n"
        )
        return decide(slope, most=theory + MARGIN), rule
    if name == "raf":
        return decide(slope, least=FALLS), f"our rule: slope above {minus(FALLS, 'g')}"
    rule = f"our rule: slope below {minus(FALLS, 'g')}; no finite-size curve exists"
    return decide(slope, most=FALLS), rule


def theorem_3(widths: Sequence[int]) -> str:
    """What a slope of softmax attention says nothing about.

    >>> theorem_3([192, 768])[-52:]
    'with constant 1, n ≤ 0.25 (d = 192), 0.39 (d = 768).'
    """
    reach = ", ".join(f"{d / math.log(d) ** 4:.2g} (d = {d})" for d in widths)
    return (
        "The rule does not test the paper's Theorem 3, which assumes n = O(d/log⁴d): with constant "
        f"1, n ≤ {reach}."
    )


def _slope_of(curve: Callable[[int], float], n: Sequence[int]) -> float:
    """The slope of a theoretical curve at the same lengths."""
    values = {length: curve(length) for length in set(n)}
    found = fit_slope(n, [values[length] for length in n])
    return math.nan if found is None else found.value


@dataclass(frozen=True)
class SensitivityCurves(GridFigure):
    """A map at the paper's n, for each width (or depth): the first row and, where affordable, all
    rows. ``rate`` draws logarithmic axes, where the claimed rate is a straight line.
    """

    map: str
    n: tuple[int, ...]
    quick_n: tuple[int, ...]
    widths: tuple[int, ...] = WIDTHS
    quick_widths: tuple[int, ...] = (192,)
    depths: tuple[int | None, ...] = (None,)
    everywhere: bool = True
    rate: bool = False

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[Cell]:
        cells = []
        for d, data, depth, n in self._points(sources, quick):
            common: dict[str, Any] = {
                "map": self.map,
                "n": n,
                "d": d,
                "options": {"depth": depth},
                "data": data,
                "seed": seed,
                "texts": texts_for(data),
            }
            first = Request(**common)
            trials = QUICK_TRIALS if quick else TRIALS
            cells += [Cell(first, trial) for trial in range(trials)]
            if self.everywhere and not (quick and n > QUICK_EVERYWHERE):
                several: dict[str, Any] = {"positions": "all", "certificate": False}
                every = Request(**common, **several, shortlist=SHORTLIST[self.map])
                cells += [Cell(every, trial) for trial in range(trials)]
        return cells

    def _points(self, sources: Sources, quick: bool) -> Iterator[tuple[int, str, int | None, int]]:
        deep = self.depths != (None,)
        for d in self.quick_widths if quick else self.widths:
            for data in sources.by_width[d][: 1 if quick and deep else None]:
                for depth in self.depths:
                    for n in self.quick_n if quick else self.n:
                        yield d, data, depth, n

    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        rows = "All rows have the same distribution under Gaussian weights."
        if self.everywhere:
            rows = f"Dashed, any row: the largest S {CHOSEN[self.map]}, same texts and weights."
        cut = any(panel.cut for panel in self.drawing(frame).panels)
        outside = ", in part outside the axes" if cut else ""
        return (
            f"Mean attained S over {trials} trials, shaded ± 1 sd; logarithmic axes where a rate "
            "is claimed. Solid: the first row may change, as in the paper. Thin: the mean "
            f"certified upper bound of the solid curves{outside}. {rows}{reviews_note(frame)}"
        )

    def note(self, data: pandas.DataFrame) -> str:
        """Where the paper's Theorem 3 applies, and the searches that did not converge."""
        theorem = theorem_3(sorted(set(data["d"]))) if self.map == "raf" else ""
        return " ".join(filter(None, (theorem, super().note(data))))

    # Claims

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        first = data[data["positions"] == "0"]
        series = [rows for _, rows in first.groupby(["data", "d", "depth"], dropna=False)]
        found = [self._claim(rows) for rows in series if series_slope(rows) is not None]
        return [
            *found,
            *self._depth(first),
            *self._any_row(data),
            certificates(self.name, data),
        ]

    def _claim(self, rows: pandas.DataFrame) -> Finding:
        """The paper's claim on one curve."""
        slope, n, d = series_slope(rows), rows["n"].tolist(), int(rows["d"].iloc[0])
        depth = None if rows["depth"].isna().all() else int(rows["depth"].iloc[0])
        where = f"{rows['data'].iloc[0]}, d = {d}" + ("" if depth is None else f", L = {depth}")
        means = rows.groupby("n")["lower"].mean()
        draws = f"{len(n)} draws at {len(means)} n"
        if slope is not None and slope.points < len(n):
            draws = f"{len(n)} draws of weights at {len(means)} n on {slope.points} texts"
        measured = f"slope {slope} of {draws}; mean S {means.min():.3g} … {means.max():.3g}"
        if slope is not None and slope.line_p < CURVED:
            measured += f"; the slope changes with n (line_p = {slope.line_p:.2g})"
        verdict, rule = judge_slope(self.map, slope, n, d, depth)
        return Finding(self.name, CLAIMS[self.map], where, measured, verdict, rule)

    def _depth(self, first: pandas.DataFrame) -> Iterator[Finding]:
        """Whether depth helps by a factor that does not depend on n."""
        for data, some in first.groupby("data"):
            logs = some.assign(log=some["lower"].map(math.log))
            table = logs.pivot_table(index=["n", "trial"], columns="depth", values="log")
            if table.shape[1] < 2:
                continue
            shallow, deep = table.columns[0], table.columns[-1]
            gains = table[deep] - table[shallow]
            gain = mean_interval(gains.dropna().tolist())
            steps = table.groupby("n").mean().diff(axis=1).iloc[:, 1:]
            grows = f"{int((steps > 0).sum().sum())} of {steps.size} steps of L raise the mean S"
            n = table.index.get_level_values("n").tolist()
            drift = fit_slope(n, gains.map(math.exp).tolist())
            measured = (
                f"log S(L = {int(deep)}) − log S(L = {int(shallow)}): {gain}; {grows}; slope of "
                f"the factor in n {drift}"
            )
            claim = "Paper, Theorem 2: depth helps by a constant factor"
            rule, verdict = "our rule: the difference is above 0", decide(gain, least=0.0)
            yield Finding(self.name, claim, str(data), measured, verdict, rule)

    def _any_row(self, data: pandas.DataFrame) -> list[Finding]:
        """Whether the search of all rows finds as much as that of the first row."""
        pairs = data.pivot_table(
            index=DRAW, columns="positions", values="lower", dropna=False
        ).dropna(how="any")
        if "all" not in pairs or pairs.empty:
            return []
        ratio = pairs["all"] / pairs["0"]
        kept, least = int((ratio >= 1).sum()), float(ratio.min())
        return [
            Finding(
                self.name,
                "the search of all rows finds at least S of the first row",
                "all trials with both",
                f"{kept:,} of {len(pairs):,}; any ÷ first: median {ratio.median():.3f}, "
                f"least {least:.4f}",
                check(least >= 1 - SHORTFALL),
                f"in every trial, to {100 * SHORTFALL:g} %",
                OWN,
            )
        ]

    # Drawing

    def drawing(self, data: pandas.DataFrame) -> Chart:
        """Gaussian texts left, IMDb reviews right."""
        data = largest_of_all(data)
        panels = []
        for title, reviews in (("Gaussian texts", False), ("IMDb reviews", True)):
            rows = data[data["data"].str.startswith("imdb") == reviews]
            if not rows.empty:
                panels.append(self._panel(title, rows))
        return Chart(panels)

    def _panel(self, title: str, rows: pandas.DataFrame) -> Panel:
        deep = self.depths != (None,)
        values: Sequence[int | None] = self.depths if deep else self.widths
        curves: list[Curve] = []
        for pair, some in rows.groupby(["data", "depth" if deep else "d"]):
            data, value = str(pair[0]), int(pair[1])  # type: ignore[call-overload]
            model = f", {MODELS[data]}" if data in MODELS else ""
            name = f"{'L' if deep else 'd'} = {value}{model}"
            colour = values.index(value) + (3 if data == "imdb:bert-base" else 0)
            for positions, part in some.groupby("positions"):
                slope = series_slope(part)
                everywhere = positions == "all"
                label = f"{name}, {'any' if everywhere else 'first'} row, attained"
                if slope is not None and not everywhere:
                    label += f": slope {slope:.2f}"
                curves.append(mean_curve(part, label, colour, dashed=everywhere))
        curves.sort(key=lambda curve: (curve.dashed, curve.colour))
        width = f", d = {self.widths[0]}" if deep else ""
        heading = f"{kind_of(self.map).title}{width} · {title}"
        return Panel(heading, curves, self._references(rows), logarithmic=self.rate)

    def _references(self, rows: pandas.DataFrame) -> list[ReferenceLine]:
        """The theoretical curves of the map, for every depth that was measured."""
        first = rows[rows["positions"] == "0"]
        means = {int(n): float(mean) for n, mean in first.groupby("n")["lower"].mean().items()}  # type: ignore[call-overload]
        d, lines = int(rows["d"].max()), []
        for colour, depth in enumerate(self.depths):
            if depth is None:
                lines += theory_curves(self.map, d, means)
            elif depth in set(rows["depth"]):
                lines += theory_curves(self.map, d, means, colour=colour, depth=depth)
        return lines


CURVES = (
    SensitivityCurves(
        "2-left",
        "Figure 2, left: random features",
        "rf",
        n=tuple(range(90, 151, 10)),
        quick_n=(90, 120, 150),
        rate=True,
    ),
    SensitivityCurves(
        "2-right",
        "Figure 2, right: deep random features, d = 768",
        "drf",
        n=(50, 60, 70, 80),
        quick_n=(50, 60, 80),
        widths=(768,),
        quick_widths=(768,),
        depths=(2, 4, 8),
        everywhere=False,
        rate=True,
    ),
    SensitivityCurves(
        "3.1", "Figure 3.1: random attention features (softmax)", "raf", LENGTHS, QUICK_LENGTHS
    ),
    SensitivityCurves(
        "3.2", "Figure 3.2: random attention features (ReLU)", "relu-raf", LENGTHS, QUICK_LENGTHS
    ),
)


def reviews_note(frame: pandas.DataFrame) -> str:
    """What the rows of a review are, as sentences of a caption."""
    n = frame.loc[frame["data"].str.startswith("imdb"), "n"]
    if n.empty:
        return ""
    note = " The first row of a review is the special token that its model puts first ([CLS])."
    if n.max() < PAPER_FEWER:
        return f"{note} Reviews with fewer than n tokens are padded."
    longest = int(n.max())
    return (
        f"{note} Reviews have fewer than {PAPER_FEWER} tokens, as in the paper: every text of "
        f"n = {longest} has padding rows, as shorter ones with fewer than n tokens do."
    )


def largest_of_all(data: pandas.DataFrame) -> pandas.DataFrame:
    """The same table, where S of all rows is at least that of the first row of the same draw."""
    first = data.loc[data["positions"] == "0", [*DRAW, "lower"]]
    least = data[DRAW].merge(first, how="left", on=DRAW).set_index(data.index)["lower"]
    below = (data["positions"] == "all") & (data["lower"] < least)
    return data.assign(lower=data["lower"].where(~below, least))


def series_slope(rows: pandas.DataFrame) -> Slope | None:
    """The slope of log S against log n over all trials of one series of at least three n."""
    if rows["n"].nunique() < 3:
        return None
    return fit_slope(rows["n"].tolist(), rows["lower"].tolist(), texts_of(rows))


def mean_curve(rows: pandas.DataFrame, label: str, colour: int, *, dashed: bool = False) -> Curve:
    """Mean S ± 1 sd against n; with the mean certified upper bound if there is one."""
    points = rows.groupby("n").agg(
        mean=("lower", "mean"), sd=("lower", "std"), upper=("upper", "mean")
    )
    ends = [] if dashed else [None if math.isnan(end) else float(end) for end in points["upper"]]
    n = [int(value) for value in points.index]
    spread = points["sd"].fillna(0.0).tolist()
    return Curve(label, n, points["mean"].tolist(), spread, ends, colour, dashed=dashed)


def theory_curves(
    name: str, d: int, means: Mapping[int, float], *, colour: int | None = None, **options: Any
) -> list[ReferenceLine]:
    """The theoretical curves of a map, drawn between the lengths of the measured ``means``."""
    if len(means) < 2:
        return []
    low, high = min(means), max(means)
    fine = [low * (high / low) ** (step / FINE) for step in range(FINE + 1)]
    lines = []
    for curve in kind_of(name).references(d, **options):
        x: list[float] = fine if curve.smooth else [float(n) for n in sorted(means)]
        lines.append(
            ReferenceLine(curve.label, x, curve.values(x, dict(means)), colour, curve.dash)
        )
    return lines


def minus(value: float, digits: str = ".3f") -> str:
    """A number with a true minus sign."""
    return f"{value:{digits}}".replace("-", "−")


def certificates(figure: str, data: pandas.DataFrame) -> Finding:
    """No attained value exceeds its certified upper bound."""
    both = data.dropna(subset=["upper"])
    holds = bool((both["lower"] <= both["upper"]).all())
    ratio = float((both["upper"] / both["lower"]).median())
    measured = f"{len(both):,} intervals; median certified ÷ attained {ratio:.2f}"
    claim = "every attained value is below its certified upper bound"
    where = "all certified cells"
    return Finding(figure, claim, where, measured, check(holds), "in every cell", OWN)
