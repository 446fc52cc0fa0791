"""Sweeps: failures, interruptions, kills, workers that die; the same table every time."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import psutil
import pytest

import jobs
from jobs import CELLS, GRID, Here, OnThese, cell, fake, small_cells, table
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.engine.job import Job
from wordsway.engine.provenance import Provenance
from wordsway.engine.run import Machines, Meter, run_jobs, shard_of
from wordsway.engine.store import Store
from wordsway.engine.workers import JobOutcome, LocalWorkers, work


def start(study: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "wordsway", "sweep", str(study), "--out", str(out), *options]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background may have left Ctrl-C ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_failures_are_recorded_and_do_not_stop_the_others(tmp_path: Path) -> None:
    cells = small_cells()
    bad = cells[2].key
    here = Here(lambda job: JobOutcome(job, None, {}, "no") if job.key == bad else fake(job))
    store = Store(tmp_path)
    tally = run_jobs(cells, store, OnThese(here))
    assert tally.done == 5 and tally.failed == {bad: "no"} and store.failures() == tally.failed
    again = Here(fake)
    tally = run_jobs(cells, Store(tmp_path), OnThese(again))
    assert again.ran == [] and tally.skipped == {bad: "no"} and not tally.complete
    tally = run_jobs(cells, Store(tmp_path), OnThese(again), retry_failed=True)
    assert again.ran == [bad] and tally.done == 1 and Store(tmp_path).failures() == {}


def test_ctrl_c_keeps_what_was_done(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def function(job: Job) -> JobOutcome:
        if len(here.ran) == 4:
            raise KeyboardInterrupt
        return fake(job)

    here = Here(function)
    tally = run_jobs(small_cells(), Store(tmp_path), OnThese(here))
    assert tally.interrupted and tally.done == 3 and tally.left == 3 and here.closed
    assert len(Store(tmp_path)) == 3
    assert f"3 cells are kept in {tmp_path}" in caplog.text


def test_progress_counts_what_jobs_cost(tmp_path: Path) -> None:
    calls: list[tuple[Any, ...]] = []
    asked = [cell("raf", 4, 4), cell("raf", 40, 40), cell("rf", 9, 9)]
    run_jobs(asked, Store(tmp_path), OnThese(Here(fake)), progress=lambda *c: calls.append(c))
    stages = [call[0] for call in calls]
    assert stages == ["cells left: 3", "1 of 3 cells", "2 of 3 cells", "3 of 3 cells"]
    assert 0 < calls[1][1] < calls[2][1] < calls[3][1] == calls[3][2] == 1.0


def test_progress_learns_how_long_families_take() -> None:
    """Work says that both families take the same; one takes a hundred times as long."""
    quick = [cell("raf", 20, 20, trial) for trial in range(10)]
    slow = [cell("raf", 20, 20, trial, certificate=False) for trial in range(10)]
    meter = Meter([*quick, *slow])
    assert {job.family for job in meter.order[:2]} == {quick[0].family, slow[0].family}
    shares = []
    for job in meter.order:
        seconds = 10.0 if job in slow else 0.1
        shares.append(meter.share(JobOutcome(job, {}, {"seconds": seconds})))
    truth = [
        sum(10.0 if job in slow else 0.1 for job in meter.order[: count + 1]) / 101
        for count in range(20)
    ]
    assert shares[3:] == pytest.approx(truth[3:], rel=0.1) and shares[-1] == 1.0


def test_progress_never_falls() -> None:
    """The slow family comes to light late: what was reported stays."""
    quick = [cell("raf", 20, 20, trial) for trial in range(5)]
    slow = [cell("raf", 20, 20, trial, certificate=False) for trial in range(5)]
    meter = Meter([*quick, *slow])
    outcomes = [JobOutcome(job, {}, {"seconds": 1.0}) for job in quick]
    outcomes += [JobOutcome(job, {}, {"seconds": 500.0}) for job in slow]
    shares = [meter.share(outcome) for outcome in outcomes]
    assert shares == sorted(shares) and shares[4] == shares[5] > 0.4 and shares[-1] == 1.0


@pytest.mark.slow
def test_errors_of_jobs_are_one_line() -> None:
    broken = work(cell("raf", 5, 400, data="imdb"), Provenance().for_job(cell("raf", 5, 4)))
    assert broken.outputs is None and broken.error is not None
    assert "\n" not in broken.error and "d ≤ 384" in broken.error


def test_workers_are_counted() -> None:
    with pytest.raises(InputError, match="between 1 and 1024"):
        Machines(0)
    assert Machines(3).count == 3 and Machines().count >= 1


def test_jobs_are_admitted_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two jobs that do not fit together run one after the other; one too large runs alone."""
    running = set()

    class Worker:
        job: Job | None = None

        def send(self, task: Any) -> None:
            running.add(task[0])

        @property
        def pipe(self) -> Worker:
            return self

    def start_worker() -> Worker:
        pool.workers.append(Worker())  # type: ignore[arg-type]
        return pool.workers[-1]  # type: ignore[return-value]

    for need, expected in ((60, 1), (40, 2), (500, 1)):
        pool = LocalWorkers(2, 100)
        monkeypatch.setattr(pool, "_start", start_worker)
        monkeypatch.setattr("wordsway.studies.cells.Cell.peak_bytes", lambda _, n=need: n)
        running.clear()
        pool._admit(deque(small_cells(3)), Provenance(), lambda job: True)
        assert len(running) == expected


def test_a_job_that_kills_its_worker_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = LocalWorkers(1, 2**33)
    start_worker = pool._start

    def doomed() -> Any:
        worker = start_worker()
        worker.process.kill()
        worker.process.wait()
        return worker

    monkeypatch.setattr(pool, "_start", doomed)
    tally = run_jobs(small_cells(2), Store(tmp_path), OnThese(pool))
    assert len(tally.failed) == 2
    assert all("died 3 times" in error for error in tally.failed.values())
    again = run_jobs(small_cells(2), Store(tmp_path), OnThese(Here(fake)))
    assert again.done == 2 and not again.skipped and Store(tmp_path).failures() == {}


@pytest.mark.slow
def test_a_worker_that_dies_takes_only_its_job(tmp_path: Path) -> None:
    """One of two local workers is killed in the middle; all jobs are done all the same."""
    long = [cell("rf", 40, 48, trial, positions="all") for trial in range(4)]
    pool = LocalWorkers(2, 2**33)
    killed: list[Any] = []

    def watch(stage: str, done: float, total: float, note: str = "") -> None:
        if total and not killed:
            victim = pool.workers[-1]
            os.kill(victim.process.pid, signal.SIGKILL)
            killed.append(victim.job)

    tally = run_jobs(long, Store(tmp_path), OnThese(pool), progress=watch)
    assert killed and tally.done == 4 and not tally.failed
    assert pool.workers == []


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """An uninterrupted run in this process: the truth for all the others."""
    folder = tmp_path_factory.mktemp("study")
    study = folder / "grid.toml"
    study.write_text(GRID)
    assert jobs.sweep_here(study, folder / "one") == 0
    return study, table(folder / "one")


@pytest.mark.slow
def test_a_sweep_killed_at_any_moment_resumes_to_the_same_table(
    finished: tuple[Path, bytes], tmp_path: Path
) -> None:
    """kill -9 of the whole run while it starts, and in the middle, a random moment after some cells
    were stored; no stored cell is ever run again.
    """
    study, truth = finished
    out, moments = tmp_path / "out", random.Random(0)
    seen: list[bytes] = []
    kills = 0
    for more in (0, 4, CELLS):  # how many more cells are stored before; all: nobody kills it
        process = start(study, out, "--workers", "2")
        if more < CELLS:
            jobs.wait_for_cells(process, out, len(seen) + more if more else 0)
            time.sleep(moments.uniform(0, 0.05) if more else moments.uniform(0.2, 1.0))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
        _, err = process.communicate(timeout=300)
        cells = jobs.stored(out)
        assert set(seen) <= set(cells), "a stored cell was lost"
        assert len({line.split(b" ", 1)[1] for line in cells}) == len(cells)
        seen = cells
    assert len(seen) == CELLS, "a stored cell was run again"
    assert process.returncode == 0 and kills == 2, err
    assert table(out) == truth


def working(process: subprocess.Popen[str], out: Path) -> list[psutil.Process]:
    """The workers of a run that has stored its first cell."""
    jobs.wait_for_cells(process, out, 1)
    return [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "workers import serve" in " ".join(child.cmdline())
    ]


LONG = "[[grid]]\nmap = 'rf'\nn = 40\nd = 48\npositions = 'all'\ntrials = 1_000"


@pytest.mark.slow
def test_workers_end_with_a_killed_run(tmp_path: Path) -> None:
    """SIGKILL of the main process in the middle of its cells: no worker is left."""
    (tmp_path / "long.toml").write_text(LONG)
    process = start(tmp_path / "long.toml", tmp_path / "out", "--workers", "2")
    workers = working(process, tmp_path / "out")
    assert workers
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(workers, timeout=15)
    for worker in alive:
        worker.kill()
    assert not alive


@pytest.mark.slow
def test_ctrl_c_answers_at_once_and_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    process = start(tmp_path / "long.toml", tmp_path / "out", "--workers", "1")
    workers = working(process, tmp_path / "out")
    assert workers
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1 and "Traceback" not in err
    assert "are kept in" in err and "run the same command again to resume" in err
    _, alive = psutil.wait_procs(workers, timeout=15)
    assert not alive


def test_jobs_that_hold_one_model_follow_each_other():
    """The largest of every family comes first; then a worker loads each model once."""
    from dataclasses import replace

    from wordsway.engine.run import Meter
    from wordsway.lengths.length import LengthJob

    job = LengthJob((("It is good.", ()),), "one", "a" * 64, "pooled")
    texts = [(("It is good. " * size, ()),) for size in (1, 2, 3, 4)]
    jobs = [replace(job, texts=text, model=name) for text in texts for name in ("one", "two")]
    order = [each.model for each in Meter(jobs).order if isinstance(each, LengthJob)]
    assert order[2:] == ["one"] * 3 + ["two"] * 3


def test_shards_are_all_cells_once_and_balanced() -> None:
    every = [cell("raf", n, 4, trial) for n in (4, 8, 16) for trial in range(7)]
    parts = [shard_of(every[::-1], f"{index}/4") for index in range(1, 5)]
    assert sorted(job.key for part in parts for job in part) == sorted(job.key for job in every)
    assert [part[0] for part in parts] == [shard_of(every, f"{i}/4")[0] for i in range(1, 5)]
    sizes = [sum(job.size for job in part) for part in parts]
    assert max(sizes) < 1.5 * min(sizes)
    for wrong in ("0/4", "5/4", "1", "/", "a/b", "-1/4", "1/0"):
        with pytest.raises(InputError, match=r"1/4, 2/4, 3/4 and 4/4 are all"):
            shard_of(every, wrong)


@pytest.mark.slow
def test_shards_of_separate_folders_are_merged(
    finished: tuple[Path, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, truth = finished
    line = ["sweep", str(study), "--workers", "1", "--out"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
        for part in (1, 2, 3):
            out = str(tmp_path / f"part-{part}")
            assert run([*line, out, "--shard", f"{part}/3"]) == 0
        merged = [f"--merge={tmp_path / f'part-{part}'}" for part in (1, 2, 3)]
        capsys.readouterr()
        assert run([*line, str(tmp_path / "all"), *merged, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["before"] == CELLS
        assert run([*line, str(tmp_path / "all"), "--merge", str(tmp_path / "none")]) == 2
    assert table(tmp_path / "all") == truth
    assert len(table(tmp_path / "part-1")) < len(table(tmp_path / "all"))
