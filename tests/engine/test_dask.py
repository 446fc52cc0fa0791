"""Dask clusters: the same table, workers that die, schedulers that say nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from jobs import small_cells, sweep_here, table, wait_for_cells
from wordsway.cli.app import run
from wordsway.core.errors import InputError, WordswayError
from wordsway.core.progress import silent
from wordsway.core.result import versions
from wordsway.engine import dask_cluster
from wordsway.engine.provenance import Provenance, ProvenanceMismatch

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = "trials = 2\n[[grid]]\nmap = ['raf', 'rf']\nn = [4, 5]\nd = 6\n"
SLOW = '\n[[grid]]\nmap = "rf"\nn = 60\nd = 64\npositions = "all"\n'


def start(study: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wordsway", "sweep", str(study), "--out", str(out), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> None:
    _, err = process.communicate(timeout=400)
    assert process.returncode == 0, err


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A study, and its table as this process makes it."""
    folder = tmp_path_factory.mktemp("study")
    study = folder / "study.toml"
    study.write_text(SMALL + SLOW)
    assert sweep_here(study, folder / "plain") == 0
    return study, table(folder / "plain")


@pytest.mark.slow
def test_a_dask_cluster_survives_a_killed_worker(plain: tuple[Path, bytes], tmp_path: Path) -> None:
    """Two real worker processes, one of them killed in the middle; the table is the same."""
    study, truth = plain
    process = start(study, tmp_path / "dask", "--cluster", "local:2")
    wait_for_cells(process, tmp_path / "dask", 2)
    workers = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline()) and not child.children()
    ]
    workers[0].kill()
    finish(process)
    assert table(tmp_path / "dask") == truth


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        for connection in kept:
            connection.close()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    silent_port: int,
) -> None:
    """Nobody there, somebody who says nothing, an address of another kind: one line each."""
    monkeypatch.setattr(dask_cluster, "PATIENCE", 2)
    study = tmp_path / "s.toml"
    study.write_text(SMALL)
    line = ["sweep", str(study), "--out", str(tmp_path / "out"), "--cluster"]
    silent_ones = (f"tcp://127.0.0.1:{silent_port}", f"tls://127.0.0.1:{silent_port}")
    for address in ("tcp://127.0.0.1:9", *silent_ones, "http://127.0.0.1:80"):
        assert run([*line, address]) == 1
        err = capsys.readouterr().err
        progress = ("waiting for", "cells left")  # printed on a slow machine
        said = [text for text in err.splitlines() if not text.startswith(progress)]
        assert len(said) == 1 and f"no Dask scheduler answered at {address}" in said[0], err
    assert run([*line, "local:none"]) == 2
    assert "local:4 starts four workers" in capsys.readouterr().err


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until_it_listens(address: str, most: float = 120) -> None:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    deadline = time.monotonic() + most
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
        time.sleep(0.1)


@pytest.mark.slow
def test_a_scheduler_and_workers_started_by_hand(plain: tuple[Path, bytes], tmp_path: Path) -> None:
    """The commands of docs/clusters.md: `dask scheduler`, `dask worker`, `--cluster tcp://…`. The
    run comes first and says what it is waiting for.
    """
    dask = str(Path(sys.executable).parent / "dask")
    address = f"tcp://127.0.0.1:{free_port()}"
    study, truth = plain
    servers = [[dask, "scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2]]]
    servers += [[dask, "worker", address, "--nworkers", "2", "--nthreads", "1"]]
    started = []
    try:
        for command in servers:
            started.append(
                subprocess.Popen(
                    [*command, "--no-dashboard"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
            if len(started) == 1:
                until_it_listens(address)
                process = start(study, tmp_path / "tcp", "--cluster", address)
                waiting = next(line for line in process.stderr if "no worker has joined" in line)
                assert f"the Dask scheduler at {address}" in waiting
        finish(process)
    finally:
        for server in started:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    assert table(tmp_path / "tcp") == truth


class Client:
    """A scheduler's client: what its workers answer, and whether it is still connected."""

    def __init__(self, answers: dict[str, Any], status: str = "running") -> None:
        self.answers, self.status = answers, status

    def scheduler_info(self, n_workers: int) -> dict[str, Any]:
        return {"workers": self.answers}

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return self.answers


def connected(client: Client) -> dask_cluster.DaskCluster:
    cluster = object.__new__(dask_cluster.DaskCluster)
    cluster.address, cluster.progress = "tcp://here:1", silent
    cluster.client, cluster.local = client, None
    return cluster


def test_a_worker_without_wordsway_is_named() -> None:
    answers = {"tcp://w:1": versions(), "tcp://w:2": ModuleNotFoundError("No module 'wordsway'")}
    with pytest.raises(WordswayError, match=r"worker tcp://w:2 cannot run wordsway \(No module"):
        connected(Client(answers))._check_workers(Provenance())
    assert connected(Client({"tcp://w:1": versions()}))._check_workers(Provenance()) == 1
    other = versions() | {"wordsway": "9.9.9"}
    with pytest.raises(ProvenanceMismatch, match=r"worker tcp://w:3 has wordsway 9\.9\.9"):
        connected(Client({"tcp://w:3": other}))._check_workers(Provenance())


QUIET = """
import logging
from wordsway.core.errors import InputError, WordswayError
from wordsway.engine import dask_cluster
dask_cluster.PATIENCE = 0.2
try:
    dask_cluster.DaskCluster("tcp://127.0.0.1:1", 2**30)
except WordswayError:
    print({logging.getLogger(f"distributed{part}").level for part in dask_cluster.NOISY})
"""


@pytest.mark.slow
def test_dask_itself_says_nothing_of_what_we_say() -> None:
    """Its loggers get their levels when it is imported, which undid ours: a scheduler that was
    killed was told by forty lines of traceback before our own one.
    """
    command = [sys.executable, "-c", QUIET]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{50}" and "Traceback" not in done.stderr


def test_a_cluster_of_ones_own_whose_workers_are_gone_is_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It waited for ever: workers that die faster than they start are not started again."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    cluster = object.__new__(dask_cluster.DaskCluster)
    cluster.address, cluster.local = "local:3", object()
    workers: dict[str, Any] = {"one": 1}
    monkeypatch.setattr(dask_cluster.DaskCluster, "_workers", lambda self: workers)
    watch = dask_cluster._WorkerWatch(cluster)
    for now in range(0, 300, 3):
        clock[0] = now
        watch.check()
    workers.clear()
    clock[0] = 297 + dask_cluster.LOST
    watch.check()
    assert "no worker is left at local:3" in caplog.text
    clock[0] += 10
    with pytest.raises(WordswayError, match=r"no worker of local:3 is left.*what was stored is"):
        watch.check()
    cluster.address = "tcp://here:1"
    clock[0] += 1000
    watch.check()  # somebody else's may come back


def test_a_scheduler_that_is_gone_is_one_line() -> None:
    with pytest.raises(WordswayError, match="scheduler at tcp://here:1 is gone: start it again"):
        connected(Client({}, status="closed"))._outcome(None, small_cells(1)[0])


@pytest.mark.parametrize("address", ["foo", "local:", "local:0", "local:2,queue=short"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(InputError, match="a cluster as tcp://host:port, local:COUNT or slurm"):
        dask_cluster.DaskCluster(address, 2**30)
