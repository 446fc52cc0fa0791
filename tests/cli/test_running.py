"""What long commands say: what is left, how to go on, why not."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

import pytest

from wordsway.cli.output import ProgressLine, report_failures
from wordsway.core.chart import Chart, Curve, Panel
from wordsway.core.errors import InputError
from wordsway.engine.run import Tally


def test_a_share_that_falls_back_a_little_is_timed_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is left is estimated: a run told 28.8 s at 38 %, of ten minutes."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    line = ProgressLine()
    for now, done in ((1, 0.0), (100, 0.30), (120, 0.29), (121, 0.34)):
        clock[0] = now
        line("cells", done, 1.0)
    assert "34 %, about 3 min 53 s left" in line.text()
    line("other cells", 0.0, 1.0)
    assert "left" not in line.text(), "another piece of work"


def test_the_hint_to_go_on_is_the_command_that_was_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["sweep", "my grid.toml", "--out", "o", "--cluster", "tcp://a:1", "--retry-failed"]
    monkeypatch.setattr("sys.argv", ["/bin/wordsway", *given])
    report_failures(Tally(2, 0, failed={"a": "ValueError: no"}), ["sweep"])
    said = capsys.readouterr().err
    wanted = "wordsway sweep 'my grid.toml' --out o --cluster tcp://a:1 --retry-failed"
    assert f"run them again with: {wanted}\n" in said
    assert said.count("--retry-failed") == 1


@pytest.mark.parametrize("done", [3.0, 3.0000001, 5.0])
def test_time_left_is_never_negative(done: float) -> None:
    line = ProgressLine()
    line("cells", 0, 3)
    line.since -= 10
    line("cells", done, 3)
    assert "-" not in line.text() and "100 %" in line.text() and "about 0.0 s left" in line.text()


@pytest.mark.parametrize("ending", ["png", "svg", "csv", "json"])
def test_a_full_disk_while_results_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """Every picture and table of a command is written by `Result.save`."""

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    pytest.importorskip("matplotlib")
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    monkeypatch.setattr("wordsway.render.tables.save", full)
    chart = Chart([Panel("RAF", [Curve("RAF", [10, 20], [0.8, 0.79], [0.01, 0.01])])])
    with pytest.raises(InputError, match=f"to write tour.{ending}, .*No space left on device"):
        chart.save(tmp_path / f"tour.{ending}")
    assert list(tmp_path.iterdir()) == []
