"""What jobs cost: computed before they run, tried only on small sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs import cell
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.core.laws import fit_slope
from wordsway.engine.forecast import extrapolated_seconds, forecast_unfinished
from wordsway.maps.registry import MAPS
from wordsway.studies.cells import FlipJob, jobs_of, smaller
from wordsway.studies.forecast import forecast
from wordsway.studies.request import LearningOptions, Request


@pytest.mark.parametrize("name", list(MAPS))
def test_memory_and_size_grow_with_n_and_d(name: str) -> None:
    small, large = cell(name, 30, 128), cell(name, 60, 256)
    assert small.peak_bytes() < large.peak_bytes() and small.size < large.size
    assert small.family == large.family


@pytest.mark.parametrize("name", list(MAPS))
def test_a_share_of_a_request_is_of_its_kind(name: str) -> None:
    request = Request(name, 160, 64, positions="all", trials=3)
    shares = [smaller(request, share) for share in (1 / 16, 0.3, 1.0)]
    assert [one.n for one in shares] == [10, 48, 160] and shares[-1] == request
    assert all(one.rows == one.n and one.settings == request.settings for one in shares)


def test_a_share_of_a_learning_job_has_more_features_than_texts() -> None:
    every = [LearningOptions(200, "retrain"), LearningOptions(280)]
    (job,) = jobs_of((Request("rf", 12, 24, learning=one), 0) for one in every)
    assert isinstance(job, FlipJob)
    for share in (1 / 128, 1 / 16, 0.25, 0.5, 1.0):
        part = job.smaller(share)
        assert all(2 <= one.train < part.request.features for one in part.flips)
    assert [one.train for one in part.flips] == [200, 280]
    assert extrapolated_seconds(lambda share: job.smaller(share).run(), 0.125) > 0


@pytest.mark.parametrize(("whole", "most"), [(40.0, 0.25), (3.0, 1.0)])
def test_time_is_extrapolated_by_a_power_law(
    monkeypatch: pytest.MonkeyPatch, whole: float, most: float
) -> None:
    clock, shares = [0.0], []
    monkeypatch.setattr("wordsway.engine.forecast.time.process_time", lambda: clock[0])

    def run(share: float) -> None:
        shares.append(share)
        clock[0] += whole * share**3

    assert extrapolated_seconds(run, 1 / 16) == pytest.approx(whole)
    assert max(shares) == most


@pytest.mark.slow
def test_a_sweep_is_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [cell("raf", n, 32, trial) for n in (10, 20, 40) for trial in range(5)]
    one = forecast_unfinished(cells, workers=1, memory=2**33)
    two = forecast_unfinished(cells, workers=2, memory=2**33)
    assert one.left == 15 and one.seconds > 1.2 * two.seconds and two.bytes > 1.5 * one.bytes
    study = tmp_path / "s.toml"
    study.write_text("trials = 2\n[[grid]]\nmap = 'rf'\nn = [4, 5]\nd = 6")
    assert run(["sweep", str(study), "--out", str(tmp_path / "out"), "--forecast", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cells"] == told["left"] == 4 and told["forecast_seconds"] > 0
    assert not list((tmp_path / "out").glob("store/segments/*"))


@pytest.mark.slow
def test_a_forecast_of_more_trials_takes_longer() -> None:
    with pytest.raises(InputError, match="a wordsway Request"):
        forecast(None)
    few = forecast(Request("raf", 20, 32, trials=2))
    many = forecast(Request("raf", 20, 32, trials=200))
    assert many.seconds > 20 * few.seconds
    assert list(few.frame()["trials"]) == [2]


#: Runs a command and prints its peak in kilobytes: a process of its own, since the peak of children
#: is that of all a process ever had.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
def test_a_forecast_computes_and_does_not_allocate() -> None:
    """n = 8,000 takes gigabytes to measure, and little more than torch to foretell."""
    options = ["--map", "raf", "--n", "8000", "--d", "64", "--forecast", "--json"]
    command = [sys.executable, "-m", "wordsway", "measure", *options]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *command], capture_output=True, text=True, check=True
    )
    told, peak = done.stdout.rsplit("\n", 2)[:2]
    assert json.loads(told)["forecast_peak_mb"] > 500
    assert int(peak) * 1024 < 1.2e9


@pytest.mark.slow
def test_a_forecast_says_what_would_be_refused(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["measure", "--map", "raf", "--n", "3000", "--d", "8", "--memory", "0.1", "--forecast"]
    assert run(small) == 0
    assert "It would be refused: n = 3,000, d = 8 needs" in capsys.readouterr().out
    assert run([*small, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"].endswith("or raise --memory")
    assert run(small[:-1]) == 1
    told = capsys.readouterr().err
    assert "the budget is" in told and "raise --memory" in told
    assert run(["measure", "--map", "raf", "--n", "5", "--d", "4", "--forecast", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["refused"] is None


def test_slopes_and_their_intervals() -> None:
    """95 % intervals hold the truth in 95 % of 400 draws (between 91 % and 98 %: false alarm below
    1e-3).
    """
    noise = np.random.default_rng(0)
    n: Any = np.repeat([10, 20, 50, 100], 5)
    inside = 0
    for _ in range(400):
        slope = fit_slope(n, 2.0 * n**-0.4 * np.exp(0.1 * noise.standard_normal(len(n))))
        assert slope is not None
        inside += slope.low <= -0.4 <= slope.high
    assert 0.91 * 400 < inside < 0.98 * 400
    assert fit_slope([10, 10, 10], [1, 2, 3]) is None and fit_slope([10, 20], [1, 2]) is None
