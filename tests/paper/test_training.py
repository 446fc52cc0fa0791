"""The study of training: networks are the maps whose S is measured, verdicts follow the numbers,
and a killed run resumes to the same table.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pandas
import pytest
import torch

from jobs import Here, wait_for_cells
from wordsway.core.reading import word_spans
from wordsway.core.sample import Sample
from wordsway.paper import reproduce
from wordsway.paper.figure import Sources
from wordsway.paper.training import (
    NETWORKS,
    D,
    N,
    TrainingJob,
    TrainingStudy,
    WordRows,
    label,
    read_cases,
)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_map_is_the_network(name: str) -> None:
    network = NETWORKS[name][0]()
    sample = Sample.gaussian(n=N, d=D, seed=3)
    own = network(sample.X[None].float())[0].double()
    torch.testing.assert_close(network.map()(sample), own, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("task", ["synthetic", pytest.param("imdb", marks=pytest.mark.slow)])
def test_one_word_decides_the_label(task: str) -> None:
    cases = read_cases(task, 60, seed=0)
    rows = WordRows(0)
    for case in cases:
        turning, *keeping = case.edits
        assert label(turning.edited) != label(case.text)
        assert keeping and all(label(one.edited) == label(case.text) for one in keeping)
        assert all(len(word_spans(one.edited)) <= N for one in case.edits)
        X, row = rows.row(turning)
        negated = case.text if label(case.text) else turning.edited
        assert torch.equal(X, rows([negated])[0])
        a, b = rows([case.text, turning.edited])
        assert torch.equal(a[:row], b[:row]) and not torch.equal(a[row], b[row])
        torch.testing.assert_close(X.norm(dim=1), torch.full((N,), D**0.5))
    assert len({label(case.text) for case in cases}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_a_job_gives_the_same_numbers_twice(name: str) -> None:
    job = TrainingJob("synthetic", name, True, 1, 0, pairs=30, steps=(0, 3))
    torch.manual_seed(1)
    first = job.run()
    torch.manual_seed(2)
    assert job.run() == first
    for point in first["checkpoints"]:
        assert min(point["local"], point["lower"]) > 0
        assert (point["upper"] is None) == (name == "transformer")
        assert point["upper"] is None or point["lower"] <= point["upper"]
        assert 0 <= point["score"] <= 1 and 0 <= point["percentile"] <= 100


def table(
    before: float, percentile: float, shuffled: float, learnt: bool = True
) -> pandas.DataFrame:
    """S that is ``before`` until the task is learnt and 1 afterwards, ``shuffled`` with labels that
    mean nothing.
    """
    rows = []
    for trial in range(5):
        noise = 1 + 0.01 * trial
        for control in (False, True):
            for step in (0, 8, 64):
                done = step == 64 and learnt and not control
                S = shuffled if control and step == 64 else 1.0 if step == 64 else before
                point = {"task": "imdb", "network": "attention", "trial": trial, "step": step}
                numbers = {"lower": S * noise, "upper": 2 * S, "local": S / 10 * noise}
                numbers |= {"test_error": 0.1 if done else 0.5, "percentile": percentile + trial}
                point |= {"key": f"{trial} {control}", "seconds": 1.0}
                rows.append(point | numbers | {"shuffled": control})
    return pandas.DataFrame(rows)


def verdicts(data: pandas.DataFrame) -> list[str]:
    found = TrainingStudy().findings(data)
    assert all(one.rule and one.measured and one.source == "wordsway" for one in found)
    return [one.verdict for one in found]


def test_verdicts_follow_the_numbers() -> None:
    agrees, disagrees = "agrees", "disagrees"
    assert verdicts(table(1.0, 50, 0.5)) == [agrees] * 5
    assert verdicts(table(0.3, 90, 2.0)) == [disagrees] * 4 + [agrees]
    never = verdicts(table(1.0, 50, 0.5, learnt=False))
    assert never == ["not measured"] * 3 + [agrees] * 2
    study, data = TrainingStudy(), table(1.0, 50, 0.5)
    assert "5 seeds" in study.caption(data)
    assert study.seconds(data) == 10.0, "a row per checkpoint, each with the time of its whole job"
    drawn = study.drawing(data)
    assert len(drawn.panels) == 4 and [len(one.curves) for one in drawn.panels] == [2] * 4
    assert list(drawn.panels[0].ticks.values()) == ["0", "8", "64"]


def test_reviews_that_are_missing_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordsway.data.present", lambda name: None)
    study, nothing = TrainingStudy(), Sources({})
    assert {job.task for job in study.jobs(nothing)} == {"synthetic"}
    assert "data get imdb" in study.missing(nothing)[0]


SCRIPT = """
from wordsway.paper import reproduce
from wordsway.paper.training import TrainingStudy

if __name__ == "__main__":
    reproduce.FIGURES["training"] = TrainingStudy(pairs=30, steps=(0, 3))
    reproduce.reproduce(["training"], quick=True, out="out", workers=1)
"""


@pytest.mark.slow
def test_a_killed_study_resumes_to_the_same_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed with a worker process, resumed in this one; the other folder is never killed."""
    (tmp_path / "study.py").write_text(SCRIPT)
    command = [sys.executable, "study.py"]
    process = subprocess.Popen(command, cwd=tmp_path, start_new_session=True)
    wait_for_cells(process, tmp_path / "out", 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out/training.csv").exists()
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
    monkeypatch.setitem(reproduce.FIGURES, "training", TrainingStudy(pairs=30, steps=(0, 3)))
    tables = []
    for name in ("out", "other"):
        reproduce.reproduce(["training"], quick=True, out=tmp_path / name, workers=1)
        tables.append((tmp_path / name / "training.csv").read_bytes())
    assert tables[0] == tables[1] and tables[0].count(b"\n") == 1 + 3 * (2 + 1)
    assert (tmp_path / "out/training.png").stat().st_size > 10_000
