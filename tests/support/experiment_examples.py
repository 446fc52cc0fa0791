"""One example of every result of experiments and of the paper, around any text."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pandas
import torch

from wordsway.experiments.batches import aggregates
from wordsway.experiments.cells import Cell
from wordsway.experiments.corpus_words import CorpusWords
from wordsway.experiments.forecast import Forecast, SweepForecast
from wordsway.experiments.lessons import Lessons
from wordsway.experiments.measure import Measurement, RowInterval, Trial
from wordsway.experiments.request import LearningOptions, Request
from wordsway.experiments.run import Tally
from wordsway.experiments.spec import Study
from wordsway.experiments.sweep import Sweep
from wordsway.experiments.text_cells import TextCell
from wordsway.experiments.tour import Tour
from wordsway.paper.finding import FAILS, HOLDS, OPEN, Finding
from wordsway.paper.reproduce import Drawn, Reproduction
from wordsway.result import Result

TALLY = Tally(total=42, before=17, done=25, seconds=83.0)


def request(text: str, n: int = 7) -> Request:
    return Request("drf", n, 5, {"depth": 3}, data=f"{text[:20]}.csv", seed=4, trials=2)


def measurement(text: str, n: int = 7) -> Measurement:
    trials = tuple(
        Trial(
            lower=lower,
            upper=0.8765,
            position=3,
            seconds=0.5,
            certificate="exact",
            status="converged",
            sample_seed=1,
            map_seed=2,
            search_seed=3,
            word=text[:12],
            text={"id": text[:9], "sha256": "0" * 64, "label": 1},
            delta=torch.linspace(0, 1, 5, dtype=torch.float64),
            words=(RowInterval(3, text[:12], lower, 0.8765),),
        )
        for lower in (0.4321, 0.5432)
    )
    source = {"corpus": text[:9], "model": text[:9], "layer": "input", "padding": "none"}
    return Measurement(request(text, n), trials, 1.0, 321.5, False, source)


def lessons(text: str) -> Lessons:
    trial = {
        "position": 3,
        "label": 1,
        "before_original": 0.1234,
        "before_changed": -0.4567,
        "after_original": 1.0,
        "after_changed": -0.3456,
        "error": 0.4282,
        "gamma": 0.5801,
        "alignment": 0.7123,
        "bound": 0.0512,
        "word": text[:12],
        "text": {"id": text[:9], "sha256": None, "label": 1},
        "seconds": 0.25,
    }
    asked = Request("raf", 7, 5, learning=LearningOptions(9))
    return Lessons(asked, (trial,), 0.25, 321.5, {"data": text[:9]})


def forecast(text: str) -> Forecast:
    return Forecast(request(text), 12.5, 321e6)


def sweep_forecast(text: str) -> SweepForecast:
    return SweepForecast("cells", 42, 17, 2, 12.5, 321e6)


def sweep(text: str) -> Sweep:
    cells = (Cell(Request("raf", 7, 5)),)
    table = pandas.DataFrame({"key": [cells[0].key], "word": [text[:12]], "lower": [0.4321]})
    folder = Path("out") / text[:9]
    return Sweep(Study(text[:12], cells), TALLY, folder, (folder / "cells.csv",), table)


def tour(text: str) -> Tour:
    return Tour((measurement(text, 7), measurement(text, 14)))


def corpus_words(text: str) -> CorpusWords:
    jobs = (TextCell(text, text[:9], text[:9], "0" * 64, 1),)
    words = pandas.DataFrame(
        {
            "key": [jobs[0].key] * 2,
            "text_id": [text[:9]] * 2,
            "layer": [1, 1],
            "word": [text[:12], "film"],
            "sensitivity": [0.4321, 0.2345],
            "change_0": [0.1111, 0.2222],
            "change_1": [0.4321, 0.2345],
            "noise_0": [0.1, 0.1],
            "noise_1": [0.2, 0.2],
        }
    )
    tally = Tally(total=1, before=0, what="texts", done=1, seconds=83.0)
    folder = Path("out")
    return CorpusWords(jobs, words, aggregates(words), tally, folder, (folder / "words.csv",))


def reproduction(text: str) -> Reproduction:
    folder = Path(tempfile.gettempdir()) / "wordsway-example"
    folder.mkdir(exist_ok=True)
    svg = '<?xml version="1.0"?><svg width="100pt" height="50pt"><g id="x"/></svg>'
    (folder / "3.1.svg").write_text(svg)
    findings = (
        Finding("3.1", f"S stays {text[:20]}", text[:20], "slope −0.4321", HOLDS),
        Finding("3.2", "S falls", text[:20], "slope 0.5432", FAILS),
        Finding("", text[:20], "", "not present", OPEN),
    )
    drawn = (Drawn("3.1", text[:30], text, ("3.1.svg",), 12.5),)
    facts = {"seed": "4", "machines": text[:20]}
    return Reproduction(folder, True, 4, text[:30], drawn, findings, TALLY, facts)


#: How to make a result, the numbers that every medium says, and those of its table.
EXPERIMENTS: dict[
    type[Result], tuple[Callable[[str], Result], tuple[float, ...], tuple[float, ...]]
] = {
    Measurement: (measurement, (0.4321, 0.5432), (0.4321, 0.5432, 0.8765)),
    Lessons: (lessons, (0.4282, 0.5801), (0.4282, 0.5801, 0.0512)),
    Forecast: (forecast, (12.5,), (12.5, 321)),
    SweepForecast: (sweep_forecast, (17, 42), (17, 42, 12.5)),
    Sweep: (sweep, (), (0.4321,)),
    Tour: (tour, (), (0.4321, 0.5432, 0.8765)),
    CorpusWords: (corpus_words, (), (0.4321, 0.2345)),
    Reproduction: (reproduction, (), ()),
}
