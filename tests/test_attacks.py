"""The attack suite on a small scale: `python -m benchmarks attack` is the same code, and more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.attack.files import hostile, open_hostile
from benchmarks.attack.kills import GRID, strike_main
from benchmarks.attack.report import TABLES, with_row
from benchmarks.attack.requests import brute_force, fuzz


@pytest.mark.slow
def test_requests_are_fuzzed() -> None:
    found = fuzz(24, seed=3)
    assert found.bad == 12 and found.good >= 8 and found.faults == []
    assert found.least_upper >= 1 - 1e-9 and found.least_lower > 0.95


def test_the_brute_force_knows_the_identity_of_attention() -> None:
    """One row attends to itself alone: φ(X) = X, and S = radius/√d."""

    class Weights:
        def numpy(self) -> Any:
            return np.eye(3)

    class Alone:
        weight = Weights()

    X = np.array([[1.0, 1.0, 1.0]])
    found = brute_force("raf", Alone(), X, 0.6, np.random.default_rng(0))
    assert found == pytest.approx(0.6 / 3**0.5, rel=1e-9)


@pytest.mark.slow
def test_hostile_files_are_answered(tmp_path: Path) -> None:
    found = open_hostile(tmp_path, only=20)
    assert found.faults == [] and found.tried == 20 and found.refused > 10


def test_there_are_fifty_hostile_files(tmp_path: Path) -> None:
    cases = hostile(tmp_path)
    assert len(cases) >= 50 and len({name for name, _ in cases}) == len(cases)


@pytest.mark.slow
def test_signals_lose_nothing(tmp_path: Path) -> None:
    study = tmp_path / "grid.toml"
    smaller = GRID.replace("trials = 150", "trials = 40")
    assert smaller != GRID
    study.write_text(smaller)
    struck = strike_main(study, tmp_path, "TERM", 1)
    assert struck.hits == 1 and struck.held, struck


def test_a_row_takes_the_place_of_its_own_kind() -> None:
    page = "# Attacked\n\nWords.\n"
    for row in ("KILL | 1", "TERM | 2", "KILL | 3"):
        page = with_row(page, "Signals", row)
    for row in ("50 | 1", "52 | 2"):
        page = with_row(page, "Hostile files", row)
    page = with_row(page, "Signals", "TERM | 4")
    head, signals, files = page.split("\n## ")
    assert head == "# Attacked\n\nWords.\n"
    assert signals.splitlines()[-2:] == ["| KILL | 3 |", "| TERM | 4 |"]
    assert files.splitlines()[0] == "Hostile files" and files.splitlines()[-1] == "| 52 | 2 |"
    assert signals.count(TABLES["Signals"]) == 1 and signals.count("|\n") == 4
