"""The lines of docs/clusters.md on a real Slurm: jobs are killed and requeued; the same table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs import stored, sweep_here, table
from tools import slurm
from tools.pages import DOCS, blocks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not slurm.find(), reason=slurm.REMEDY),
]
GRID = """
trials = 10
[[grid]]
map = "rf"
n = 24
d = 32
positions = "all"
"""
LINES = {
    block.note.removeprefix("file: "): block.code
    for block in blocks(DOCS / "clusters.md")
    if block.note.startswith("file: ")
}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A node of Slurm, and the environment in which its commands and jobs run."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    with slurm.running(tmp_path_factory.mktemp("slurm")) as variables:
        own = str(Path(sys.executable).parent)
        path = {"PATH": os.pathsep.join([own, variables["PATH"]])}
        yield dict(os.environ) | variables | path | threads


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table as this process makes it."""
    folder = tmp_path_factory.mktemp("truth")
    (folder / "grid.toml").write_text(GRID)
    assert sweep_here(folder / "grid.toml", folder / "out") == 0
    return table(folder / "out")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with the grid, the environment and the page's files."""
    (tmp_path / "grid.toml").write_text(GRID)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    for name, code in LINES.items():
        (tmp_path / name).write_text(code)
    return tmp_path


def say(node: dict[str, str], *command: str) -> list[str]:
    """The lines that a command of Slurm prints."""
    done = subprocess.run(command, env=node, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def wait_until(reached: Callable[[], object], folder: Path, most: float = 600) -> None:
    deadline = time.monotonic() + most
    while not reached():
        logs = [f"{path.name}: {path.read_text()[-500:]}" for path in folder.glob("*.log")]
        assert time.monotonic() < deadline, logs
        time.sleep(0.1)


def test_an_array_is_killed_requeued_and_resumed(
    node: dict[str, str], study: Path, truth: bytes
) -> None:
    subprocess.run(["bash", "-e", "submit.sh"], cwd=study, env=node, check=True)
    wait_until(lambda: stored(study / "grid"), study)
    running = say(node, "squeue", "--noheader", "--states=R", "--format=%i %F_%K %j")
    number, task, _ = running[0].split()
    say(node, "scancel", "--signal=KILL", "--full", number)
    wait_until(
        lambda: not say(node, "squeue", "--noheader", "--states=R,CG", f"--jobs={number}"), study
    )
    assert len(stored(study / "grid")) < 10, "it was killed before the end"
    say(node, "scontrol", "requeue", task)
    wait_until(lambda: not say(node, "squeue", "--noheader"), study)
    assert table(study / "grid") == truth
    states = say(node, "scontrol", "show", "job", task)
    assert any("Restarts=1" in line for line in states) and any("COMPLETED" in x for x in states)


def test_workers_of_dask_are_jobs_and_come_back(
    node: dict[str, str], study: Path, truth: bytes
) -> None:
    line = LINES["dask.sh"].replace("slurm:2,", "slurm:2,interface=lo,").split()
    log = (study / "dask.log").open("w")
    process = subprocess.Popen(line, cwd=study, env=node, stdout=log, stderr=log)
    try:
        wait_until(lambda: stored(study / "dask"), study)
        workers = say(node, "squeue", "--noheader", "--states=R", "--format=%i")
        assert 1 <= len(workers) <= 2
        say(node, "scancel", "--signal=KILL", "--full", workers[0])
        assert process.wait(timeout=600) == 0, (study / "dask.log").read_text()
    finally:
        process.kill()
        process.wait()
    assert table(study / "dask") == truth
    wait_until(lambda: not say(node, "squeue", "--noheader"), study)
