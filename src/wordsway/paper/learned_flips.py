"""Figures 4 and 5: does a linear readout learn that one word flips the label?

A layer that learns nothing about the changed word has

    Err = (2 − γ)²,   γ = |f(X^i(Δ), θ*) − f(X, θ*)|.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wordsway.core.chart import Chart, Panel, PointSeries
from wordsway.core.laws import Interval, mean_interval
from wordsway.learning.losses import UPDATES
from wordsway.learning.results import SMALL_GAMMA, blind_curve, ignored_share
from wordsway.maps.registry import kind_of
from wordsway.paper.figure import (
    LEAST_TRIALS,
    OWN,
    TOO_FEW,
    Finding,
    GridFigure,
    Sources,
    check,
    decide,
    texts_for,
)
from wordsway.paper.sensitivity_curves import TRIALS, minus, reviews_note
from wordsway.studies.cells import FlipJob
from wordsway.studies.request import LearningOptions, Request

if TYPE_CHECKING:
    import pandas

#: Width of the quick subset, on reviews where they are installed.
QUICK_WIDTH = 384
#: √Err ÷ (2 − γ) is 1 on the curve (2 − γ)² and 0 where the flip is learnt: above the first value a
#: layer stays on the curve, below the second it has learnt the flip.
ON_CURVE, LEARNT = 0.9, 0.5
#: Figure 4's claims about the mean of √Err ÷ (2 − γ), with its least and largest value.
CLAIMS = {
    "rf": (("Paper, Theorem 4: RF stays on the curve (2 − γ)²", ON_CURVE, math.inf),),
    "raf": (
        ("Paper, Theorem 5: RAF leaves the curve (2 − γ)²", -math.inf, ON_CURVE),
        ("Paper, Theorem 5: RAF learns the flip, Err near 0", -math.inf, LEARNT),
    ),
    "relu-raf": (("Figure 4: ReLU-RAF does not learn the flip", LEARNT, math.inf),),
}
#: Figure 4's claims about the alignment: the map with the larger A, that with the smaller one.
BETWEEN = (
    ("rf", "relu-raf", "Figure 4: ReLU-RAF changes the alignment more than RF"),
    ("relu-raf", "raf", "Figure 4: ReLU-RAF changes the alignment less than RAF"),
)
#: Texts with a smaller |y − f(X)| teach the old model nothing.
UNLEARNT = 0.05
UPDATED = {"fine-tune": "fine-tuned", "retrain": "re-trained"}
#: Circles for the alignment loss and crosses for the direct one, as in the paper; squares for the
#: penalised one.
MARKERS = {"align": "o", "direct": "x", "penalised": "s"}
LOSSES = {"align": "alignment loss", "direct": "direct loss", "penalised": "penalised loss"}
#: Ends of the axes.
TOP, RIGHT = 5.0, 3.0
#: Where Figures 4 and 5 are measured: the names behind "4-", what to call it, data and width.
LEARNED_ON = (
    ("gaussian", "Gaussian texts, a linear teacher, d = 384", "gaussian", 384),
    ("minilm", "IMDb through MiniLM, d = 384", "imdb:minilm", 384),
    ("mpnet", "IMDb through MPNet, d = 768", "imdb:mpnet", 768),
    ("bert-base", "IMDb through BERT-Base, d = 768", "imdb:bert-base", 768),
)
#: A map and its number of tokens.
Column = tuple[str, int]


@dataclass(frozen=True)
class LearnedFlips(GridFigure):
    """The error after a one-word change against γ, one panel per map and n. The column ``by``
    (``train`` or ``penalty``) sets the colour of a point.
    """

    data: str
    d: int
    panels: tuple[Column, ...]
    trains: tuple[int, ...]
    losses: tuple[tuple[str, float], ...]
    quick_panels: tuple[Column, ...]
    quick_trains: tuple[int, ...]
    by: str = "train"
    label: str = "N = {:,.0f}"
    #: Enough that `LEAST_TRIALS` remain at γ ≤ 1.
    quick_trials: int = TRIALS

    def jobs(self, sources: Sources, *, quick: bool = False, seed: int = 0) -> list[FlipJob]:
        """One job per map and trial; a full run finds those of a quick one in the store."""
        if self.data not in sources.by_width.get(self.d, []):
            return []
        chosen = (QUICK_WIDTH, sources.preferred(QUICK_WIDTH))
        if quick and (self.d, self.data) != chosen:
            return []
        rest = tuple(train for train in self.trains if train not in self.quick_trains)
        return [
            FlipJob(
                Request(name, n, self.d, data=self.data, seed=seed, texts=texts_for(self.data)),
                trial,
                tuple(
                    LearningOptions(train, update, loss, penalty)
                    for train in trains
                    for update in UPDATES
                    for loss, penalty in self.losses
                ),
            )
            for name, n in (self.quick_panels if quick else self.panels)
            for trains in ([self.quick_trains] if quick or not rest else [self.quick_trains, rest])
            for trial in range(self.quick_trials if quick else TRIALS)
        ]

    def explain(self, frame: pandas.DataFrame, trials: int) -> str:
        return (
            f"Each point is one of {trials} new texts under new weights: the error of the updated "
            "model on the changed text, whose label is the opposite one, against "
            "γ = |f(X^i(Δ), θ*) − f(X, θ*)|, the change of the old model's prediction. A layer "
            "that does not notice the word stays on the dashed curve (2 − γ)². Points outside the "
            f"axes are drawn on the edge.{reviews_note(frame)}"
        )

    # Claims

    def findings(self, data: pandas.DataFrame) -> list[Finding]:
        found: list[Finding] = []
        for update, rows in data.groupby("update"):
            where = f"{self.data}, d = {self.d}, {UPDATED[str(update)]}"
            found += self.judge(where, rows)
        return [*found, *self._floor(data)]

    @abstractmethod
    def judge(self, where: str, rows: pandas.DataFrame) -> list[Finding]:
        """The figure's claims on the points of one update."""

    def _floor(self, data: pandas.DataFrame) -> list[Finding]:
        """No error is below the bound that the certified S implies."""
        both = data.dropna(subset=["bound"])
        if both.empty:
            return []
        kept = int((both["error"] >= both["bound"] * (1 - 1e-7) - 1e-7).sum())
        above = int((both["bound"] > 0).sum())
        measured = f"{kept:,} of {len(both):,} points; the bound is above 0 in {above:,} of them"
        claim = "√Err ≥ 2 − γ − S·(‖φ‖/‖v‖)·|y − f|, S certified"
        holds = check(kept == len(both))
        return [Finding(self.name, claim, "all points", measured, holds, "in every point", OWN)]

    # Drawing

    def drawing(self, data: pandas.DataFrame) -> Chart:
        """One column per map and n that was measured, fine-tuned above re-trained."""
        measured = {(str(name), int(n)) for name, n in zip(data["map"], data["n"], strict=True)}
        columns = [column for column in self.panels if column in measured]
        panels = [
            self._panel(
                f"{kind_of(name).title}, n = {n} · {UPDATED[update]}",
                data[(data["map"] == name) & (data["n"] == n) & (data["update"] == update)],
            )
            for update in UPDATED
            if update in set(data["update"])
            for name, n in columns
        ]
        return Chart(panels, columns=len(columns), shared_key=True)

    def _panel(self, title: str, rows: pandas.DataFrame) -> Panel:
        return Panel(
            title,
            references=[blind_curve("(2 − γ)²")],
            points=self._points(rows),
            x_label="γ",
            y_label="error",
            right=RIGHT,
            top=TOP,
        )

    def _points(self, rows: pandas.DataFrame) -> list[PointSeries]:
        colours = self.trains if self.by == "train" else [penalty for _, penalty in self.losses]
        clouds = []
        for pair, some in rows.groupby(["loss", self.by], dropna=False):
            loss, value = str(pair[0]), float(pair[1])  # type: ignore[arg-type]
            label = f"{self.label.format(value)}, {LOSSES[loss]}"
            x, y = some["gamma"].tolist(), some["error"].tolist()
            clouds.append(PointSeries(label, x, y, colours.index(value), MARKERS[loss]))
        return sorted(clouds, key=lambda cloud: (cloud.colour, cloud.marker))


@dataclass(frozen=True)
class Flips(LearnedFlips):
    """Figure 4: RF stays on the curve (2 − γ)², RAF leaves it."""

    panels: tuple[Column, ...] = (("rf", 40), ("raf", 40), ("raf", 120), ("relu-raf", 120))
    trains: tuple[int, ...] = (100, 700, 1300)
    losses: tuple[tuple[str, float], ...] = (("align", 0.0), ("direct", 0.0))
    quick_panels: tuple[Column, ...] = (("rf", 40), ("raf", 40), ("raf", 120), ("relu-raf", 120))
    quick_trains: tuple[int, ...] = (100,)

    def judge(self, where: str, rows: pandas.DataFrame) -> list[Finding]:
        """Judged by the alignment loss, which does not trade γ for the error, at small γ."""
        align = rows[rows["loss"] == "align"]
        found = []
        for (name, n), some in align.groupby(["map", "n"]):
            small = some[some["gamma"] <= SMALL_GAMMA]
            shares = np.array([*map(ignored_share, small["error"], small["gamma"])], dtype=float)
            ratios = small.assign(ignored=shares)
            # Points of one trial share their weights.
            trials = [float(one) for one in ratios.groupby("trial")["ignored"].median()]
            ratio = mean_interval(trials)
            measured = f"trials at γ ≤ {SMALL_GAMMA:g}: {len(trials)}, {LEAST_TRIALS} are needed"
            if ratio is not None:
                measured = (
                    f"√Err ÷ (2 − γ) {ratio:.2f} over {ratio.points} trials, {len(small)} of "
                    f"{len(some)} points; median Err {small['error'].median():.2g} at "
                    f"γ = {small['gamma'].median():.2f}"
                )
            for claim, least, most in CLAIMS[str(name)]:
                side = f"above {least:g}" if most == math.inf else f"below {most:g}"
                rule = f"our rule: alignment loss, γ ≤ {SMALL_GAMMA:g}, mean over trials {side}"
                verdict = TOO_FEW if ratio is None else decide(ratio, least, most)
                series = f"{where}, n = {n}"
                found.append(Finding(self.name, claim, series, measured, verdict, rule))
        return found + self._between(where, align)

    def _between(self, where: str, rows: pandas.DataFrame) -> list[Finding]:
        """The alignment A that one word reaches: 1 for no change, −1 where the label flips. Maps
        are compared at the same n; the paper has RF and ReLU-RAF at different ones, and A of both
        nears 1 as n grows, so that the shorter texts of RF favour RF.
        """
        A = rows.groupby(["map", "n", "trial"])["alignment"].median().unstack(["map", "n"])
        found = []
        for more, less, claim in BETWEEN:
            first, second = (sorted(set(rows[rows["map"] == one]["n"])) for one in (more, less))
            if not (first and second):
                continue
            same = [(n, n) for n in first if n in second]
            for n_more, n_less in same or [(first[-1], second[0])]:
                higher, lower = A[more, n_more], A[less, n_less]
                gap = mean_interval((higher - lower).dropna().tolist())
                titles = [kind_of(name).title for name in (more, less)]
                measured = (
                    f"A reached, median: {titles[0]} {minus(higher.median(), '.2f')}, {titles[1]} "
                    f"{minus(lower.median(), '.2f')}; difference {interval_text(gap)}"
                )
                lengths = f"n = {n_more}"
                if n_more != n_less:
                    lengths = f"{titles[0]} n = {n_more}, {titles[1]} n = {n_less}"
                rule, verdict = "our rule: mean difference above 0", decide(gap, least=0.0)
                series = f"{where}, {lengths}"
                found.append(Finding(self.name, claim, series, measured, verdict, rule))
        return found


@dataclass(frozen=True)
class PenalisedFlips(LearnedFlips):
    """Figure 5: with a penalty on γ, RAF still falls far below the curve."""

    panels: tuple[Column, ...] = (("raf", 40), ("raf", 120), ("relu-raf", 40), ("relu-raf", 120))
    trains: tuple[int, ...] = (400,)
    losses: tuple[tuple[str, float], ...] = (
        ("penalised", 1.0),
        ("penalised", 0.1),
        ("penalised", 0.01),
    )
    quick_panels: tuple[Column, ...] = (("raf", 40), ("relu-raf", 40))
    quick_trains: tuple[int, ...] = (400,)
    by: str = "penalty"
    label: str = "p = {:g}"
    quick_trials: int = 6

    def judge(self, where: str, rows: pandas.DataFrame) -> list[Finding]:
        """Judged by 2 − γ − √Err, the distance below the curve. It is at most

            S·(‖φ‖/‖v‖)·|y − f|,

        so that texts which the old model gets right are left out. Both maps lie below the curve;
        the claim is about the difference.
        """
        known = (rows["after_original"] - rows["before_original"]).abs() < UNLEARNT
        found = []
        for n, some in rows[~known].groupby("n"):
            depth, each = {}, []
            for name, own in some.groupby("map"):
                below = (2 - own["gamma"]).clip(lower=0) - own["error"] ** 0.5
                depth[name] = below.groupby(own["trial"]).median()
                share = 100 * float((below > 1e-6).mean())
                title = kind_of(str(name)).title
                middle = minus(float(depth[name].median()), ".2f")
                each.append(f"{title} {middle} ({share:.0f} % of {len(own)} points below)")
            if not {"raf", "relu-raf"} <= set(depth):
                continue
            gap = mean_interval((depth["raf"] - depth["relu-raf"]).dropna().tolist())
            measured = f"2 − γ − √Err, median: {', '.join(each)}; difference {interval_text(gap)}"
            left_out = int((known & (rows["n"] == n)).sum())
            if left_out:
                measured += f"; {left_out} left out, |y − f| < {UNLEARNT:g} before"
            claim = "Figure 5: RAF falls further below (2 − γ)² than ReLU-RAF when γ costs"
            rule = "our rule: mean difference over trials above 0"
            verdict = decide(gap, least=0.0)
            found.append(Finding(self.name, claim, f"{where}, n = {n}", measured, verdict, rule))
        return found


def interval_text(found: Interval | None) -> str:
    """An interval, or a note that there are too few trials for one."""
    return "of fewer than three trials" if found is None else f"{found:.2f}"


#: Figure 4 on all data, then Figure 5.
FLIPS: tuple[LearnedFlips, ...] = tuple(
    kind(f"{number}-{short}", f"Figure {number}: {title} · {where}", data, d)
    for kind, number, title in (
        (Flips, 4, "learning that one word flips the label"),
        (PenalisedFlips, 5, "the same, with a penalty on γ"),
    )
    for short, where, data, d in LEARNED_ON
)
