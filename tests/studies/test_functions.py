"""Sweeps of a user's own functions: resumed, computed again when their source changes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import own_functions
import wordsway as ws
from jobs import Here, stored, wait_for_cells
from wordsway.engine.function import ImportableFunction
from wordsway.studies.functions import function_jobs


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())


@pytest.mark.slow
def test_a_map_is_measured_as_by_hand(here: None, tmp_path: Path) -> None:
    grid = {"n": [4, 6], "d": 8, "radius": 1.0, "positions": "all"}
    result = ws.sweep(own_functions.raf, tmp_path, grid=grid, trials=2, seed=3)
    frame = result.frame()
    assert len(frame) == 4 and set(frame["measured"]) == {"S"} and frame["upper"].notna().all()
    row = frame.iloc[0]
    X = ws.Sample.gaussian(n=int(row["n"]), d=8, seed=int(row["sample_seed"]))
    phi = ws.RAF(d=8, seed=int(row["map_seed"]))
    expected = ws.sensitivity(phi, X, radius=1.0, seed=int(row["search_seed"]))
    assert (row["lower"], row["upper"]) == (expected.lower, expected.upper)
    assert len({*frame["sample_seed"], *frame["map_seed"], *frame["search_seed"]}) == 12
    again = ws.sweep(own_functions.raf, tmp_path, grid=grid, trials=3, seed=3)
    assert (again.tally.before, again.tally.done) == (4, 2)


def test_what_a_function_may_return(here: None, tmp_path: Path) -> None:
    grid: dict[str, Any] = {"n": 3, "d": 4, "scale": [1.0, 2.0]}
    result = ws.sweep(own_functions.numbers, tmp_path / "numbers", grid=grid, trials=2)
    means = result.means()
    assert sorted(set(means["measured"])) == ["first", "seed", "text"] and len(means) == 6
    assert result.to_json() and "scale" in means
    found = ws.sweep(own_functions.one_row, tmp_path / "row", grid={"n": 3, "d": 4}).frame()
    assert found["position"].tolist() == [1] and found["upper"][0] > found["lower"][0]
    torch_callable = {"n": 4, "d": 4, "temperature": 2.0}
    result = ws.sweep(own_functions.uniform_attention, tmp_path / "map", grid=torch_callable)
    assert result.frame()["lower"][0] > 0 and result.frame()["upper"].isna().all()


def test_failures_are_one_line_each(here: None, tmp_path: Path) -> None:
    result = ws.sweep(own_functions.fails, tmp_path, grid={"n": [3, 4, 5]})
    errors = sorted(result.tally.failures.values())
    assert len(errors) == 2 and errors[1] == "ValueError: four is refused"
    assert "finite number" in errors[0] and result.frame()["lower"].tolist() == [3]


@pytest.mark.parametrize(
    ("function", "grid", "said"),
    [
        (lambda n: n, {"n": 1}, "define it with def at the top level"),
        (own_functions.outer(), {"n": 1}, "define it with def at the top level"),
        (own_functions.bound, {"n": 1}, "write a def around it"),
        (own_functions.Maker(), {"n": 1}, "write a def around it"),
        (own_functions.raf, {"n": 3, "D": 4}, "'D': check its spelling"),
        (own_functions.raf, {"n": 3, "d": 4, "seed": [1]}, "come from the sweep"),
        (own_functions.fails, {"d": 4}, "a value for the parameter n"),
        (own_functions.fails, {"n": []}, "at least one n"),
        (own_functions.fails, {"n": [3, 3]}, "every setting once"),
        (own_functions.fails, {"n": [object()]}, "numbers, strings"),
        (own_functions.fails, {"n": list(range(2000)), "d": list(range(2000))}, "at most"),
    ],
)
def test_what_cannot_be_swept(function: Any, grid: dict[str, Any], said: str) -> None:
    with pytest.raises(ws.InputError, match=said):
        function_jobs(function, grid, 1, 0)


def test_a_file_has_its_own_grid(tmp_path: Path) -> None:
    with pytest.raises(ws.InputError, match="with a function"):
        ws.sweep(tmp_path / "grid.toml", tmp_path, grid={"n": 3})
    with pytest.raises(ws.InputError, match="a grid of the function's parameters"):
        ws.sweep(own_functions.fails, tmp_path)


MODULE = """
import json
import helper
from pack.inner import constant as renamed
FACTOR = 2
def function(n):
    value = FACTOR * helper.twice(n)  # a comment
    return used(value) + renamed
def used(x):
    return x
def unused(x):
    return x
result = 1
if __name__ == "__main__":
    value = 3
"""


@pytest.mark.parametrize(
    ("file", "before", "after", "changes"),
    [
        ("mine.py", "FACTOR = 2", "FACTOR = 3", True),
        ("mine.py", "return x\ndef unused", "return x + 1\ndef unused", True),
        ("helper.py", "2 * n", "3 * n", True),
        ("pack/deep.py", "7", "8", True),
        ("mine.py", "# a comment", "", False),
        ("mine.py", "def unused(x):\n    return x", "def unused(x):\n    return 0", False),
        ("mine.py", "value = 3", "value = 4", False),
        ("mine.py", "result = 1", "result = 2", False),
    ],
)
def test_the_source_is_what_the_function_uses(
    file: str, before: str, after: str, changes: bool, tmp_path: Path
) -> None:
    texts = {
        "mine.py": MODULE,
        "helper.py": "def twice(n):\n    return 2 * n\n",
        "pack/__init__.py": "",
        "pack/inner.py": "from . import deep\nfrom .deep import constant\n",
        "pack/deep.py": "constant = 7\n",
    }
    assert before in texts[file]
    (tmp_path / "one/pack").mkdir(parents=True)
    (tmp_path / "two/pack").mkdir(parents=True)
    for name, text in texts.items():
        (tmp_path / "one" / name).write_text(text)
        (tmp_path / "two" / name).write_text(text.replace(before, after) if name == file else text)
    one, two = (ImportableFunction("mine", "function", str(tmp_path / n)) for n in ("one", "two"))
    assert (one.source != two.source) is changes


def test_the_version_of_an_installed_package_is_its_source() -> None:
    assert ImportableFunction.of(ws.RAF).source == f"wordsway {ws.__version__}"


SCRIPT = """
import torch
import wordsway as ws

def study(d, seed, temperature):
    draw = torch.Generator().manual_seed(seed)
    W = torch.randn(d, d, dtype=torch.float64, generator=draw) / d
    return lambda X: torch.softmax(X @ W @ X.mT / temperature, -1) @ X

grid = {"n": [5, 9], "d": 6, "temperature": [0.5, 1.0]}
print(ws.sweep(study, grid=grid, trials=4, out="out", workers=1).tally)
"""


@pytest.mark.slow
def test_a_script_without_a_guard_is_killed_and_resumed(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(SCRIPT)
    command = [sys.executable, "study.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    wait_for_cells(process, tmp_path / "out", 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    half = stored(tmp_path / "out")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (
        "total=16" in done.stdout and "failed={}" in done.stdout and "before=0" not in done.stdout
    )
    assert done.stdout.count("total=") == 1, "workers do not run the script again"
    whole = stored(tmp_path / "out")
    assert set(half) <= set(whole) and len(whole) == 16, "a stored cell was run again"


@pytest.mark.slow
def test_two_sweeps_in_one_script_name_the_guard(tmp_path: Path) -> None:
    second = SCRIPT.replace("import torch\nimport wordsway as ws\n", "").replace("study", "other")
    (tmp_path / "study.py").write_text(SCRIPT.replace("trials=4", "trials=1") + second)
    done = subprocess.run(
        [sys.executable, "study.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and 'if __name__ == "__main__"' in done.stderr
    assert "what was stored is safe" not in done.stdout and "total=4" in done.stdout
