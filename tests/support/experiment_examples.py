"""Examples of what studies and the paper's figures give, around any text."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pandas
import torch

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.engine.forecast import SweepForecast
from wordsway.engine.run import Tally
from wordsway.intervals import WordSensitivity
from wordsway.maps.average import AverageChange
from wordsway.paper.figure import FAILS, HOLDS, OPEN, Finding
from wordsway.paper.reproduce import DrawnFigure, Reproduction
from wordsway.probing.corpus import CorpusWords, TextJob, aggregates
from wordsway.probing.request import WordsRequest
from wordsway.studies.cells import Cell
from wordsway.studies.flips import FlipTrials
from wordsway.studies.forecast import Forecast
from wordsway.studies.measure import Measurement, Trial
from wordsway.studies.request import LearningOptions, Request
from wordsway.studies.spec import Study
from wordsway.studies.sweep import Sweep

#: The same place for equal results.
FOLDER = Path(tempfile.gettempdir()) / "wordsway-examples"


def trial(number: int, word: str | None, name: str, average: bool = False) -> Trial:
    return Trial(
        lower=0.4321 - 0.0123 * number,
        upper=0.8765 - 0.0234 * number,
        position=number,
        seconds=0.5,
        certificate="float64",
        status="converged",
        sample_seed=1,
        map_seed=2,
        search_seed=3,
        word=word,
        text={"id": name, "sha256": "0123", "label": 1},
        delta=torch.linspace(0, 1, 4, dtype=torch.float64),
        words=(WordSensitivity(number, word, 0.4321, 0.8765),),
        average=AverageChange(0.0731, 0.0011, 0.07, 0.0922, 0.11, 0.1234, 50) if average else None,
        real=AverageChange(0.0567, 0.0012, 0.05, 0.0811, 0.1, 0.1357, 50) if average else None,
    )


def measurement(text: str) -> Measurement:
    trials = tuple(trial(number, text[:20], f"[/b]{text[:9]}", True) for number in range(3))
    source = {"model": text[:20], "layer": "input", "padding": "none"}
    return Measurement(Request("raf", 5, 4, data=text[:20]), trials, 1.5, 321.0, False, source)


def lessons(text: str) -> FlipTrials:
    request = Request("raf", 5, 4, data=text[:20] or "x", learning=LearningOptions(9))
    trials = tuple(
        {
            "position": number,
            "before_original": 0.1234,
            "before_changed": -0.4567,
            "after_original": 1.0,
            "after_changed": -0.3456,
            "error": 0.4282 + 0.1 * number,
            "gamma": 0.5801,
            "rank": 8,
            "alignment": 0.7123,
            "bound": 0.0512 if number else None,
            "sensitivity": 0.8123,
            "label": 1,
            "seconds": 0.25,
            "word": f"[/b] {text[:12]}",
            "text": {"id": text[:9]},
            "unchanged_error": 0.9123,
            "real_words": [{"piece": text[:12], "error": 0.6123}],
            "real_words_tried": 30522,
        }
        for number in range(2)
    )
    return FlipTrials(request, trials, 0.5, 321.0, {"data": text[:20]})


def forecast(text: str) -> Forecast:
    return Forecast(Request("raf", 5, 4, trials=3, data=f"[/b]{text[:20]}"), 83.0, 1_400_000_000.0)


def sweep_forecast(text: str) -> SweepForecast:
    return SweepForecast(f"[/b]{text[:12]}", 400, 123, 2, 83.0, 1_400_000_000.0)


def tally(**more: Any) -> Tally:
    return Tally(**({"total": 4, "before": 1, "done": 3, "seconds": 12.5} | more))


def sweep(text: str) -> Sweep:
    cells = tuple(
        Cell(Request("raf", n, 4, seed=7), number) for n in (6, 12) for number in range(2)
    )
    rows = []
    for place, cell in enumerate(cells):
        found = trial(place, text[:20], f"[/b]{text[:9]}").summary()
        del found["text"]
        rows.append({"key": cell.key, "map": "raf", "n": cell.request.n, "d": 4} | found)
    folder = FOLDER / "sweep"
    tables = (folder / "cells.csv", folder / "cells.parquet")
    study = Study(f"[/b]{text[:12]}", cells)
    return Sweep(study, tally(), folder, tables, pandas.DataFrame(rows))


def corpus_words(text: str) -> CorpusWords:
    jobs = tuple(
        TextJob(text, f"{text[:9]}{number}", f"[/b]{text[:12]}", "0123", WordsRequest(layer=1))
        for number in range(2)
    )
    rows = [
        {
            "key": job.key,
            "text_id": job.id,
            "text_sha256": "0123",
            "tokens": 9,
            "layer": 1,
            "layers": 1,
            "status": "converged",
            "seed": 0,
            "index": index,
            "word": word,
            "start": index,
            "end": index + 1,
            "pieces": 1,
            "mean_local": 0.4321 - 0.1 * index,
            "mean_local_error": 0.0123,
            "local": 1.2345,
            "sensitivity": 0.4321 - 0.1 * index,
            "change_0": 0.2123,
            "change_1": 0.4321 - 0.1 * index,
            "noise_0": 0.1123,
            "noise_1": 0.0876,
        }
        for job in jobs
        for index, word in enumerate((text[:20], "=HYPERLINK(1)", "[/b]"))
    ]
    frame = pandas.DataFrame(rows)
    tables = (FOLDER / "words.csv",)
    return CorpusWords(jobs, frame, aggregates(frame), tally(what="texts"), FOLDER, tables)


def reproduction(text: str) -> Reproduction:
    folder = FOLDER / "reproduction"
    Chart([Panel("RAF", [Curve("d = 4", [10, 20], [0.7123, 0.7012])])]).save(folder / "2.svg")
    findings = tuple(
        Finding("2", f"[/b] {text[:40]}", text[:20], "slope −0.5123", verdict)
        for verdict in (HOLDS, FAILS, OPEN)
    )
    return Reproduction(
        folder=folder,
        quick=True,
        seed=3,
        command=f"wordsway reproduce {text[:20]}",
        figures=(DrawnFigure("2", text[:30], text[:60], ("2.svg", "2.csv"), 12.5),),
        findings=findings,
        tally=tally(),
        facts={"seed": "3", "stored in": text[:20]},
    )
