"""The paper's figures: their jobs, and claims that can fail."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

from experiment_examples import reproduction
from pages import printed
from wordsway.core.errors import InputError
from wordsway.engine.store import Record, Store
from wordsway.page.theory import MAP_COLOURS, claims, series
from wordsway.paper.figure import OPEN, Sources
from wordsway.paper.ingredients import INGREDIENTS, OPTIONS, QUESTIONS
from wordsway.paper.learned_flips import LearnedFlips
from wordsway.paper.lengths import LengthStudy
from wordsway.paper.phase import RATIOS, counting_line, theorem_line
from wordsway.paper.reproduce import FIGURES, DrawnFigure, choose
from wordsway.paper.sensitivity_curves import (
    SensitivityCurves,
    judge_slope,
    largest_of_all,
    theorem_3,
)
from wordsway.render.terminal import panel as terminal_panel
from wordsway.studies.cells import Cell, FlipJob
from wordsway.studies.request import Request

HERE = Sources(
    {192: ["gaussian", "imdb:minilm"], 384: ["gaussian"], 768: ["gaussian", "imdb:mpnet"]},
    models={"minilm": "a" * 64},
)


#: The study of lengths reads reviews to find its texts.
NAMES = [pytest.param(one, marks=pytest.mark.slow if one == "length" else ()) for one in FIGURES]


@pytest.mark.parametrize("name", NAMES)
def test_quick_is_a_true_subset(name: str) -> None:
    """Every figure has jobs where its data is; the quick ones are some of the same."""
    figure = FIGURES[name]
    if isinstance(figure, LengthStudy):
        figure = LengthStudy(texts=40)
    full = {job.key for job in figure.jobs(HERE)}
    quick = {job.key for job in figure.jobs(HERE, quick=True)}
    assert quick <= full
    if name == "1-right":
        assert not full and "smollm2 is not present" in figure.missing(HERE)[0]
    elif name.endswith(("-minilm", "-bert-base")):
        assert not full, "no such data here"
    elif name.endswith("-mpnet"):
        assert full and not quick
    elif name in ("1-left", "3.3", "3.4"):
        assert len(full) == len(quick) == 1 and figure.missing(HERE) == []
    else:
        share = 0.5 if isinstance(figure, LearnedFlips) else 0.4
        assert quick and len(quick) <= share * len(full)


def test_the_number_of_cells() -> None:
    widths = {192: ["gaussian", "imdb:minilm"], 384: ["gaussian", "imdb:minilm"]}
    every = Sources(widths | {768: ["gaussian", "imdb:mpnet"]})
    paper = [figure for figure in FIGURES.values() if not figure.study]
    cells = [job for figure in paper for job in figure.jobs(every)]
    learn = [job for job in cells if isinstance(job, FlipJob)]
    assert len({job.key for job in cells}) == len(cells)
    assert sum(len(job.flips) for job in learn) + len(cells) - len(learn) == 4920


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ["2-left", "3.1", "3.2"])
def test_any_row_has_the_texts_and_weights_of_the_first(name: str, quick: bool) -> None:
    """As many trials of each, with the same seeds."""
    jobs = FIGURES[name].jobs(HERE, quick=quick)
    by_rows: dict[Any, set[Any]] = {"all": set(), (0,): set()}
    for job in jobs:
        assert isinstance(job, Cell)
        request = job.request
        by_rows[request.positions].add((request.data, request.n, request.d, job.trial, job.seed))
    assert by_rows["all"] <= by_rows[(0,)] and by_rows["all"]
    if not quick:
        assert by_rows["all"] == by_rows[(0,)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2-left", "3.1", "3.2"])
def test_any_row_is_never_below_the_first(name: str) -> None:
    """To the last bit: random features begin with the first row, and attention, whose short search
    may leave it out, takes the larger of both.
    """
    figure = FIGURES[name]
    assert isinstance(figure, SensitivityCurves)
    jobs = replace(figure, n=(9,), widths=(8,)).jobs(Sources({8: ["gaussian"]}))
    rows = [
        {"data": "gaussian", "d": 8, "depth": None, "n": 9, "trial": job.trial}
        | {"positions": "all" if job.request.positions == "all" else "0"}
        | {"lower": job.run()["lower"]}
        for job in jobs
    ]
    found = largest_of_all(pandas.DataFrame(rows)).pivot(
        index="trial", columns="positions", values="lower"
    )
    assert len(found) == 10 and (found["all"] >= found["0"]).all()


def test_the_largest_of_all_rows_is_at_least_the_first() -> None:
    data = curves(0.0, drop=0.1)
    both = largest_of_all(data)
    first, every = (both[both["positions"] == name]["lower"] for name in ("0", "all"))
    assert every.tolist() == first.tolist()
    assert first.tolist() == data[data["positions"] == "0"]["lower"].tolist()


def test_figures_by_name() -> None:
    names = [figure.name for figure in choose([])]
    assert names[:9] == [
        "1-left",
        "1-right",
        "2-left",
        "2-right",
        "3.1",
        "3.2",
        "3.3",
        "3.4",
        "4-gaussian",
    ]
    five = [figure.name for figure in choose(["5"])]
    assert five == ["5-gaussian", "5-minilm", "5-mpnet", "5-bert-base"]
    three = [figure.name for figure in choose(["3", "2-left"])]
    assert three == ["3.1", "3.2", "3.3", "3.4", "2-left"]
    assert "phase" not in names and "phase" in [figure.name for figure in choose(["studies"])]
    with pytest.raises(InputError, match=r"2-left, 2-right, 3\.1, 3\.2"):
        choose(["7"])


def plane(turn: float, fall: float, upper: float = 1.2) -> pandas.DataFrame:
    """S that is flat up to n/d = turn and falls like n^fall beyond."""
    rows = []
    for ratio in RATIOS:
        value = 2.0 * min(1.0, (ratio / turn) ** fall)
        for trial in range(2):
            noisy = value * (1 + 0.001 * trial)
            point = {"d": 32, "n": round(32 * ratio), "trial": trial, "seconds": 1.0}
            rows.append(point | {"lower": noisy, "upper": upper * noisy})
    return pandas.DataFrame(rows)


def test_the_phase_diagrams_claims_can_fail() -> None:
    figure = FIGURES["phase"]

    def verdicts(frame: pandas.DataFrame) -> list[str]:
        return [found.verdict for found in figure.findings(frame)]

    assert verdicts(plane(turn=2, fall=-0.5)) == ["agrees"] * 4
    assert {found.source for found in figure.findings(plane(turn=2, fall=-0.5))} == {"wordsway"}
    assert verdicts(plane(turn=1 / 32, fall=-0.5))[0] == "disagrees"
    assert verdicts(plane(turn=100, fall=-0.5))[1] == "disagrees"
    assert verdicts(plane(turn=2, fall=-0.5, upper=9))[2] == "disagrees"
    assert verdicts(plane(turn=2, fall=-0.5, upper=0.9))[3] == "disagrees"


def zoo(power: float, noise: float = 0.01) -> pandas.DataFrame:
    """Every ingredient with S = 3 n^power."""
    rows = []
    for ingredient in INGREDIENTS.ingredients:
        for n in (16, 64, 256):
            for trial in range(3):
                value = 3 * n**power * (1 + noise * (-1) ** trial * n / 256)
                point = {"map": ingredient.map, "data": "gaussian", "d": 256, "n": n}
                ends = {"trial": trial, "lower": value, "upper": 1.5 * value}
                rows.append(point | dict.fromkeys(OPTIONS) | dict(ingredient.options) | ends)
    return pandas.DataFrame(rows)


def test_ingredients_keep_or_lose_a_word_by_their_slopes() -> None:
    figure = INGREDIENTS

    def verdicts(frame: pandas.DataFrame) -> dict[str, str]:
        return {found.claim.split(":")[0]: found.verdict for found in figure.findings(frame)}

    flat = verdicts(zoo(0.0))
    assert flat["softmax (RAF)"] == "agrees" and flat["X + RAF"] == "disagrees"
    falling = verdicts(zoo(-0.5))
    assert falling["softmax (RAF)"] == "disagrees" and falling["X + RAF"] == "agrees"
    assert set(verdicts(zoo(-0.25, noise=0.5)).values()) == {"undecided", "agrees"}  # certificates
    chart = figure.drawing(zoo(0.0))
    assert [len(panel.curves) for panel in chart.panels] == [
        len(compared) for compared in QUESTIONS.values()
    ]


def test_lines_of_the_phase_diagram() -> None:
    """The counting argument's line solves its equation, and moves left as d grows."""
    for d in (16, 64, 256):
        n = d * counting_line(d)
        assert n * math.log(n) ** 2 == pytest.approx(d * (1 + math.sqrt(n / d)) ** 2)
        assert theorem_line(d) < 1 / 32 < counting_line(d)
    assert counting_line(16) > counting_line(64) > counting_line(256)


def curves(
    power: float,
    depths: tuple[float | None, ...] = (None,),
    upper: float = 2.0,
    *,
    noise: float = 0.001,
    drop: float = 0.0,
    lengths: tuple[int, ...] = (10, 20, 40),
) -> pandas.DataFrame:
    """S = 3 n^power (1 + L/10) and all rows beside the first; trials differ by ``noise``, and any
    row is 1 % above the first, less ``drop``.
    """
    rows = []
    for depth in depths:
        for n in lengths:
            for trial in range(4):
                value = (
                    3 * n**power * (1 + noise * (-1) ** trial * n / 40) * (1 + (depth or 0) / 10)
                )
                point = {"data": "gaussian", "d": 8, "depth": depth, "n": n, "trial": trial}
                first = {"positions": "0", "lower": value, "upper": upper * value}
                every = {"positions": "all", "lower": value * (1.01 - drop), "upper": None}
                rows += [point | first, point | every]
    return pandas.DataFrame(rows)


#: The slope of (1 + √(2/n))/√n at n = 10, 20 and 40.
RF_SLOPE = -0.621


@pytest.mark.parametrize(
    ("name", "agrees", "disagrees"),
    [("2-left", RF_SLOPE, 0.0), ("3.1", 0.0, -0.5), ("3.2", -0.5, 0.0)],
)
def test_claims_about_curves_can_fail(name: str, agrees: float, disagrees: float) -> None:
    """Verdicts follow the numbers: a flat RF and a falling RAF disagree, and so does a certificate
    below its value, or any row below the first.
    """
    figure = FIGURES[name]
    good = figure.findings(curves(agrees))
    assert [found.verdict for found in good] == ["agrees"] * 3
    assert [found.source for found in good] == ["paper", "wordsway", "wordsway"]
    bad = figure.findings(curves(disagrees, upper=0.5, drop=0.1))
    assert [found.verdict for found in bad] == ["disagrees"] * 3
    assert all(found.figure == name and found.rule for found in good)
    # An interval that reaches over the margin decides nothing.
    middle = {"2-left": RF_SLOPE, "3.1": -0.1, "3.2": -0.1}[name]
    assert figure.findings(curves(middle, noise=0.5))[0].verdict == "undecided"


def test_a_curve_is_not_reported_as_a_rate() -> None:
    """S that is flat up to n = 20 and falls at n = 40: a row with one slope would hide it."""
    bent = curves(0.0).assign(lower=lambda rows: rows["lower"].mask(rows["n"] == 40, 2.0))
    bent["lower"] *= 1 + 0.01 * (bent["trial"] % 2)
    straight, found = (FIGURES["3.1"].findings(one)[0] for one in (curves(0.0, noise=0.0), bent))
    assert "the slope changes with n (line_p = " in found.measured
    assert "changes" not in straight.measured


def test_rf_is_compared_with_the_theory_at_the_same_lengths() -> None:
    """−1/2 is the limit n → ∞: at n = 10 … 40 the theory itself falls with −0.62, and a slope of
    −1/2 disagrees with it.
    """
    figure = FIGURES["2-left"]
    limit = figure.findings(curves(-0.5))[0]
    assert limit.verdict == "disagrees"
    assert "within 0.05 of −0.621" in limit.rule and "slope −0.5" in limit.measured
    long = figure.findings(curves(-0.5, lengths=(1000, 2000, 4000), noise=1e-6))[0]
    assert long.verdict == "agrees"


def test_the_page_judges_slopes_as_the_figures_do(tmp_path: Path) -> None:
    """All trials enter the slope; maps that the paper does not have are not judged."""
    store, requests = Store(tmp_path), []
    for name, power in (("raf", 0.0), ("relu-raf", 0.0), ("rf", RF_SLOPE), ("sigmoid", 0.0)):
        for n in (10, 20, 40):
            requests.append(Request(name, n, 8))
            for trial in range(4):
                value = 3 * n**power * (1 + 0.001 * (-1) ** trial)
                cell = Cell(requests[-1], trial)
                found = {"lower": value, "upper": 1.5 * value, "sample_seed": 100 * n + trial}
                store.add(Record(cell.content, found, {}))
    rows = claims(requests, store, 4)
    assert [row["verdict"] for row in rows] == ["agrees", "disagrees", "agrees", "–"]
    rules = [judge_slope(name, None, (10, 20, 40), 8)[1] for name in ("raf", "relu-raf", "rf")]
    rules[0] += f". {theorem_3([8])}"
    assert [row["rule"] for row in rows] == [*rules, "–"]
    assert rows[0]["claim"] == FIGURES["3.1"].findings(curves(0.0))[0].claim
    assert all("1.50 times" in row["measured"] for row in rows)
    two = claims([one for one in requests if one.n != 20], store, 4)
    assert {row["verdict"] for row in two} == {OPEN, "–"}
    assert not [row for row in two if "[" in row["measured"]]


def test_the_page_tells_sets_of_options_apart(tmp_path: Path) -> None:
    requests = [Request("rf", 10, 8, {"activation": one}) for one in ("relu", "tanh", "erf")]
    drawn = series([Request("raf", 10, 8), *requests], Store(tmp_path), 1)
    assert len({one["colour"] for one in drawn}) == 4
    assert not {one["colour"] for one in drawn[2:]} & set(MAP_COLOURS.values())


def test_no_slope_comes_from_two_lengths() -> None:
    """Neither in the key nor among the claims."""
    two = curves(-0.5, lengths=(10, 40)).assign(map="rf", d=192)
    assert not [one for one in FIGURES["2-left"].findings(two) if "slope" in one.measured]
    chart: Any = FIGURES["2-left"].drawing(two)
    assert [curve.label for curve in chart.panels[0].curves] == [
        "d = 192, first row, attained",
        "d = 192, any row, attained",
    ]
    assert [curve.dashed for curve in chart.panels[0].curves] == [False, True]


def test_claims_about_depth_can_fail() -> None:
    figure = FIGURES["2-right"]
    deep = curves(-0.6, (2.0, 4.0, 8.0))
    found = figure.findings(deep[deep["positions"] == "0"])
    assert [one.verdict for one in found] == ["agrees"] * 5
    turned = curves(0.0, (2.0, 4.0))
    turned = turned[turned["positions"] == "0"]
    turned["depth"] = turned["depth"].map({2.0: 4.0, 4.0: 2.0})
    assert [one.verdict for one in figure.findings(turned)] == ["disagrees"] * 3 + ["agrees"]


def flips(
    ratios: dict[str, float],
    alignments: dict[str, float],
    *,
    gamma: float = 0.5,
    bound: float = 0.0,
) -> pandas.DataFrame:
    """Points of the alignment loss at √Err = ratio·(2 − γ), and of the direct loss at γ = 2,
    where every map has Err = 0.
    """
    rows = []
    for name, ratio in ratios.items():
        for trial in range(5):
            error = (ratio * (1 + 0.01 * trial) * (2 - gamma)) ** 2
            row = {"map": name, "update": "retrain", "penalty": None, "n": 40, "trial": trial}
            row |= {"alignment": alignments[name] + 0.01 * trial, "bound": bound}
            rows.append(row | {"loss": "align", "error": error, "gamma": gamma})
            rows.append(row | {"loss": "direct", "error": 0.0, "gamma": 2.0, "bound": 0.0})
    return pandas.DataFrame(rows)


RATIOS_OF_MAPS = {"rf": 0.98, "raf": 0.3, "relu-raf": 0.9}
TURNED = {"rf": 0.95, "raf": -0.5, "relu-raf": 0.8}


def test_claims_about_learning_can_fail() -> None:
    """An RF below its curve, a RAF that stays on it, a ReLU-RAF beyond RAF, a floor that is broken:
    all disagree.
    """
    figure = FIGURES["4-gaussian"]
    good = figure.findings(flips(RATIOS_OF_MAPS, TURNED))
    assert [one.verdict for one in good] == ["agrees"] * 7
    assert [one.source for one in good] == ["paper"] * 6 + ["wordsway"]
    assert all("γ ≤ 1" in one.rule for one in good[:4])
    assert all(one.rule.startswith("our rule") for one in good[:6])
    wrong = flips(
        {"rf": 0.2, "raf": 0.98, "relu-raf": 0.1}, {"rf": 0.9, "raf": 0.8, "relu-raf": -1}
    )
    verdicts = [one.verdict for one in figure.findings(wrong)]
    assert verdicts == ["disagrees"] * 4 + ["agrees", "disagrees", "agrees"]
    broken = figure.findings(flips(RATIOS_OF_MAPS, TURNED, bound=9.0))
    assert broken[-1].verdict == "disagrees"


def test_an_error_of_zero_at_gamma_two_proves_nothing() -> None:
    """A map that learnt nothing has Err = (2 − γ)²: with the direct loss it ends at γ = 2, Err = 0,
    which was "agrees" before.
    """
    nothing = flips({"raf": 1.0}, {"raf": 1.0})
    found = FIGURES["4-gaussian"].findings(nothing)
    assert [one.claim.split(":")[0] for one in found[:2]] == ["Paper, Theorem 5"] * 2
    assert [one.verdict for one in found[:2]] == ["disagrees", "disagrees"]
    half = FIGURES["4-gaussian"].findings(flips({"raf": 0.7}, {"raf": 0.0}))
    assert [one.verdict for one in half[:2]] == ["agrees", "disagrees"], "on the way, not there"
    far = flips({"raf": 0.3}, {"raf": 0.0}, gamma=1.5)
    found = FIGURES["4-gaussian"].findings(far)
    assert found[0].verdict == "too few trials" and "5 are needed" in found[0].measured


def test_a_slope_states_its_draws() -> None:
    rows = curves(0.0, lengths=(10, 20, 40, 80))
    assert "of 16 draws at 4 n;" in FIGURES["3.1"].findings(rows)[0].measured


def test_few_trials_decide_nothing() -> None:
    """Three trials of a RAF at half the curve were a "disagrees"."""
    few = flips({"raf": 0.98}, {"raf": 0.0})
    found = FIGURES["4-gaussian"].findings(few[few["trial"] < 3])
    assert {one.verdict for one in found[:2]} == {"too few trials"}


def test_alignments_are_compared_at_the_same_length() -> None:
    """RAF at n = 40 and 120 against ReLU-RAF at 120: only the latter counts."""
    long = flips({"raf": 0.9, "relu-raf": 0.9}, {"raf": 0.9, "relu-raf": 0.5}).assign(n=120)
    short = flips({"rf": 0.98, "raf": 0.1}, {"rf": 0.95, "raf": -9.0})
    found = FIGURES["4-gaussian"].findings(pandas.concat([short, long]))
    more, less = (one for one in found if "changes the alignment" in one.claim)
    assert "RF n = 40, ReLU-RAF n = 120" in more.series and more.verdict == "agrees"
    assert less.series.endswith("n = 120") and less.verdict == "disagrees"


def test_captions_name_certificates_outside_the_axes_where_there_are_any() -> None:
    for upper, outside in ((1.5, False), (99.0, True)):
        rows = curves(-0.5, upper=upper).assign(d=192, seconds=1.0, status="converged")
        caption = FIGURES["2-left"].caption(rows.assign(key=range(len(rows))))
        assert ("outside the axes" in caption) == outside


def test_captions_count_cells_once() -> None:
    """A cell that learns has a row per setting, each with the seconds of the whole cell."""
    figure = FIGURES["4-minilm"]
    rows = flips(RATIOS_OF_MAPS, TURNED).assign(seconds=2.0, data="imdb:minilm", status=None)
    rows["key"] = rows["map"] + rows["trial"].astype(str)
    assert figure.seconds(rows) == 30.0 and "15 cells, 30.0 s of one core" in figure.caption(rows)


def test_captions_name_unfinished_searches_padding_and_the_first_row() -> None:
    rows = curves(-0.5, lengths=(10, 250)).assign(d=192, seconds=1.0, data="imdb:minilm")
    rows = rows.assign(key=range(len(rows)), status="converged")
    rows.loc[0, "status"] = "not converged: a larger effort= may raise lower"
    text, note = FIGURES["3.1"].caption(rows), FIGURES["3.1"].note(rows)
    assert f"1 of {len(rows)} searches did not converge" in note and note in text
    drawn = DrawnFigure("3.1", "", text, (), None, note)
    result = replace(reproduction(""), figures=(drawn,))
    assert f"Figure 3.1: {note}" in printed(terminal_panel(result), 1000), "next to the verdicts"
    assert "every text of n = 250 has padding rows" in text and "[CLS]" in text
    assert FIGURES["3.2"].note(rows.assign(status="converged")) == ""
    theorem = theorem_3(sorted(set(rows["d"])))
    assert FIGURES["3.1"].note(rows.assign(status="converged")) == theorem
    assert "Theorem 3," not in FIGURES["3.1"].findings(curves(0.0))[0].rule
    gaussian = FIGURES["3.1"].caption(rows.assign(data="gaussian"))
    assert "padding" not in gaussian and "[CLS]" not in gaussian


def penalised(raf: float, relu: float) -> pandas.DataFrame:
    """Points of both maps this far below the curve, and one text that was right already."""
    rows = []
    for name, below in (("raf", raf), ("relu-raf", relu)):
        for trial in range(5):
            row = {"map": name, "loss": "penalised", "penalty": 1.0, "update": "retrain", "n": 40}
            row |= {"trial": trial, "gamma": 0.5, "bound": 0.0, "after_original": 1.0}
            row |= {"before_original": -0.8, "error": (1.5 - below - 0.01 * trial) ** 2}
            rows.append(row)
    known = rows[0] | {"before_original": 0.99, "error": 2.25}
    return pandas.DataFrame([*rows, known])


def test_figure_5_separates_raf_from_relu_raf() -> None:
    """Both lie below the curve, which was all that the claim asked for: it is about the
    difference.
    """
    figure = FIGURES["5-gaussian"]
    apart = figure.findings(penalised(1.0, 0.1))[0]
    assert apart.verdict == "agrees" and "100 % of 5 points below" in apart.measured
    assert "1 left out" in apart.measured
    assert figure.findings(penalised(0.5, 0.5))[0].verdict == "undecided"
    assert figure.findings(penalised(0.1, 1.0))[0].verdict == "disagrees"


class Measured:
    """The parts of a result that a figure asks for."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__ |= {"model": {"name": "m"}} | parts


def test_claims_about_models_can_fail() -> None:
    layers = [
        FIGURES["3.3"].findings(Measured(factors=(1.0, *factors)))[0].verdict
        for factors in ((4, 5, 6, 2), (4, 5, 2, 2), (4, 5, 6, 0.9))
    ]
    assert layers == ["agrees", "disagrees", "disagrees"]
    drawn = [
        FIGURES["3.4"].findings(Measured(drawn=pair))[0].verdict for pair in ((0.1, 1), (0.5, 1))
    ]
    assert drawn == ["agrees", "disagrees"], "0.5 to 1 is not more than twice"
    for answer, verdict in (("x", "disagrees"), ("y", "agrees")):
        result = Measured(a=Measured(answer="x"), b=Measured(answer=answer), kl_ab=0.0)
        assert FIGURES["1-right"].findings(result)[0].verdict == verdict


def test_curves_of_the_theory_come_from_the_registry() -> None:
    frame = curves(-0.5).assign(map="rf", d=192)
    chart: Any = FIGURES["2-left"].drawing(frame)
    panel = chart.panels[0]
    assert panel.title == "RF · Gaussian texts" and panel.logarithmic
    assert panel.references[0].label.startswith("theory")
    assert panel.curves[0].label.startswith("d = 192, first row, attained: slope −0.50")
