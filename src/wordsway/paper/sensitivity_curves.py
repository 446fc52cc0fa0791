"""S against n: what Figures 2, 3.1 and 3.2 have in common."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wordsway.core.chart import Chart, Curve, Panel, Reference
from wordsway.maps.registry import kind_of
from wordsway.paper.figure import GridFigure
from wordsway.paper.finding import OWN, Finding, check
from wordsway.paper.sources import MODELS, WIDTHS, Sources, texts_for
from wordsway.studies.cells import Cell
from wordsway.studies.request import Request
from wordsway.studies.slopes import Slope, fit_slope

if TYPE_CHECKING:
    import pandas

#: Trials, and those of the quick subset.
TRIALS, QUICK_TRIALS = 10, 3
#: The quick subset searches all rows of texts up to this length only.
QUICK_EVERYWHERE = 100
#: Points of a smooth reference curve.
FINE = 60


@dataclass(frozen=True)
class Series:
    """The first-row cells of one curve: same data, width and depth."""

    rows: pandas.DataFrame
    slope: Slope

    @property
    def d(self) -> int:
        return int(self.rows["d"].iloc[0])

    @property
    def depth(self) -> int | None:
        depth = self.rows["depth"].iloc[0]
        return None if depth is None or math.isnan(depth) else int(depth)

    @property
    def where(self) -> str:
        deep = "" if self.depth is None else f", L = {self.depth}"
        return f"{self.rows['data'].iloc[0]}, d = {self.d}{deep}"

    def slope_of(self, curve: Callable[[int], float]) -> float:
        """The slope of a curve of the theory, fitted at the n of the same points."""
        at = [int(n) for n in self.rows["n"]]
        values = {n: curve(n) for n in set(at)}
        found = fit_slope(at, [values[n] for n in at])
        assert found is not None, "as many points as the series"
        return found.value

    @property
    def means(self) -> pandas.Series[float]:
        return self.rows.groupby("n")["lower"].mean()


@dataclass(frozen=True)
class SensitivityCurves(GridFigure):
    """A map over the paper's n, for each width (or depth): the first row and, where affordable, all
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
                every = Request(**common, positions="all", certificate=False)
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
        rows = (
            "Dashed: the sup over all rows of the same texts and weights."
            if self.everywhere
            else "All rows have the same law under Gaussian weights."
        )
        return (
            f"Mean ± 1 sd over {trials} trials, log axes where a rate is claimed. Solid: the first "
            "row may change, as in the paper; shaded up to the certified end, which may lie beyond "
            f"the axes. {rows}"
        )

    # Claims

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        found = []
        first = data[data["positions"] == "0"]
        for _, rows in first.groupby(["data", "d", "depth"], dropna=False):
            slope = series_slope(rows)
            if slope is not None:
                found.append(self.judge(Series(rows, slope)))
        found += self.more_findings(first)
        return [*found, *self._any_row(data), certificates(self.name, data)]

    @abstractmethod
    def judge(self, series: Series) -> Finding:
        """The figure's claim on one curve."""

    def more_findings(self, first: pandas.DataFrame) -> list[Finding]:
        """Claims across curves."""
        return []

    def _any_row(self, data: pandas.DataFrame) -> list[Finding]:
        """The sup over all rows of a trial is at least the first row's."""
        keys = ["data", "d", "depth", "n", "trial"]
        pairs = data.pivot_table(
            index=keys, columns="positions", values="lower", dropna=False
        ).dropna(how="any")
        if "all" not in pairs or pairs.empty:
            return []
        kept = int((pairs["all"] >= pairs["0"]).sum())
        ratio = float((pairs["all"] / pairs["0"]).median())
        return [
            Finding(
                self.name,
                "any row is at least the first row",
                "all trials with both",
                f"{kept:,} of {len(pairs):,}; median any ÷ first {ratio:.3f}",
                check(kept == len(pairs)),
                "in every trial",
                OWN,
            )
        ]

    # Drawing

    def drawing(self, data: pandas.DataFrame) -> Chart:
        """Gaussian texts left, IMDb reviews right."""
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
                label = f"{name}, any row" if everywhere else name
                if slope is not None and not everywhere:
                    label += f": slope {slope:.2f}"
                curves.append(_curve(part, label, colour, dashed=everywhere))
        curves.sort(key=lambda curve: (curve.dashed, curve.colour))
        width = f", d = {self.widths[0]}" if deep else ""
        heading = f"{kind_of(self.map).title}{width} · {title}"
        return Panel(heading, curves, self._references(rows), logarithmic=self.rate)

    def _references(self, rows: pandas.DataFrame) -> list[Reference]:
        """The theory's curves of the map, for every depth that was measured."""
        measured = [int(n) for n in sorted(set(rows["n"]))]
        first = rows[rows["positions"] == "0"]
        if len(measured) < 2 or first.empty:
            return []
        low, high = measured[0], measured[-1]
        fine = [low * (high / low) ** (step / FINE) for step in range(FINE + 1)]
        means = {int(n): float(mean) for n, mean in first.groupby("n")["lower"].mean().items()}  # type: ignore[call-overload]
        lines = []
        for colour, depth in enumerate(self.depths):
            if depth is not None and depth not in set(rows["depth"]):
                continue
            options = {} if depth is None else {"depth": depth}
            for curve in kind_of(self.map).references(int(rows["d"].max()), **options):
                x: list[float] = fine if curve.smooth else [float(n) for n in measured]
                values = curve.values(x, means)
                own = None if depth is None else colour
                lines.append(Reference(curve.label, x, values, own, curve.dash))
        return lines


def series_slope(rows: pandas.DataFrame) -> Slope | None:
    """The slope of log S against log n over all trials of one series."""
    return fit_slope(rows["n"].tolist(), rows["lower"].tolist())


def _curve(rows: pandas.DataFrame, label: str, colour: int, *, dashed: bool) -> Curve:
    points = rows.groupby("n")["lower"].agg(["mean", "std"]).sort_index()
    upper = rows.groupby("n")["upper"].mean().sort_index()
    ends = [] if dashed else [None if math.isnan(value) else float(value) for value in upper]
    spread = [0.0 if math.isnan(value) else float(value) for value in points["std"]]
    n = [int(value) for value in points.index]
    means = [float(value) for value in points["mean"]]
    return Curve(label, n, means, spread, ends, colour, dashed=dashed)


def minus(value: float, digits: str = ".3f") -> str:
    """A number with a true minus sign."""
    return f"{value:{digits}}".replace("-", "−")


def certificates(figure: str, data: pandas.DataFrame) -> Finding:
    """Nothing that was attained exceeds what is certified."""
    both = data.dropna(subset=["upper"])
    holds = bool((both["lower"] <= both["upper"]).all())
    ratio = float((both["upper"] / both["lower"]).median())
    measured = f"{len(both):,} intervals; median certified ÷ attained {ratio:.2f}"
    claim = "every attained value is below its certificate"
    where = "all certified cells"
    return Finding(figure, claim, where, measured, check(holds), "in every cell", OWN)
