"""Studies: cells named by their content, a store that trusts nothing, sweeps that can be killed,
workers that may die.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import pytest

from wordsway.cli.app import run
from wordsway.errors import InputError
from wordsway.experiments.budget import cell_bytes, forecast_cells, kind, typical_seconds, units
from wordsway.experiments.cells import Cell, run_cell
from wordsway.experiments.slopes import fit_slope
from wordsway.experiments.spec import parse_study
from wordsway.experiments.store import Record, Store, StoreError, export
from wordsway.experiments.sweep import sweep
from wordsway.experiments.workers import LocalWorkers, Outcome, work
from wordsway.paper import figures
from wordsway.paper.claims import findings
from wordsway.paper.claims_learning import learning_findings
from wordsway.paper.figures import FIGURES, Sources, choose
from wordsway.paper.model_figures import ModelFigure, model_finding
from wordsway.paper.page import Page, Plate, write_page

ROOT = Path(__file__).resolve().parent.parent.parent
GRID = """
seed = 3
trials = 3
[[grid]]
map = ["rf", "raf", "relu-raf"]
n = [4, 7]
d = 6
positions = ["first", "all"]
[[grid]]
map = "drf"
depth = [2, 3]
n = 5
d = 6
"""


def small_cells(count: int = 6) -> list[Cell]:
    return [Cell("raf", 4, 5, trial=trial) for trial in range(count)]


class Here:
    """An executor in this process, for tests of everything around it."""

    def __init__(self, function=work) -> None:
        self.function, self.ran, self.closed = function, [], False

    def run(self, cells, needs, wanted):
        for cell in cells:
            if wanted(cell):
                self.ran.append(cell.key)
                yield self.function(cell)

    def close(self) -> None:
        self.closed = True


def fake(cell: Cell) -> Outcome:
    """An outcome that costs nothing."""
    value = (cell.own_seed % 1000) / 1000
    return Outcome(
        cell,
        {"lower": value, "upper": value + 1, "position": 0, "status": "converged"},
        {"seconds": 0.1, "wordsway": "x"},
    )


# Cells and studies


def test_a_cell_is_its_content():
    one = Cell("raf", 10, 8, trial=2, seed=5)
    assert one.key == Cell("raf", 10, 8, trial=2, seed=5).key and hash(one) == hash(
        Cell("raf", 10, 8, trial=2, seed=5)
    )
    others = [
        Cell("raf", 10, 8, trial=3, seed=5),
        Cell("raf", 10, 8, trial=2, seed=6),
        Cell("relu-raf", 10, 8, trial=2, seed=5),
    ]
    others += [
        Cell("raf", 10, 8, trial=2, seed=5, positions="all"),
        Cell("raf", 10, 8, trial=2, seed=5, effort=2.0),
    ]
    assert len({one.key, *(other.key for other in others)}) == 6
    assert len({one.own_seed, *(other.own_seed for other in others)}) == 6
    for cell in [one, *others]:
        assert Cell.of(json.loads(json.dumps(cell.content))) == cell
    with pytest.raises(InputError, match="n ≥ 1"):
        Cell("raf", 0, 8)


def test_the_key_of_a_cell_is_what_it_was():
    """A store outlives versions: if this fails, VERSION has to be raised."""
    assert (
        Cell("raf", 10, 8, trial=2, seed=5).key
        == "d47213c084adc2adfa231c1dacb56e32022dc1bf0fc677bd52cfe69212ee8c86"
    )


def test_results_do_not_depend_on_other_cells_or_threads():
    import torch

    cell = Cell("raf", 9, 8, trial=1, positions="all")
    first = run_cell(cell)
    run_cell(Cell("rf", 5, 4))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        again = run_cell(cell)
    finally:
        torch.set_num_threads(before)
    first.pop("seconds"), again.pop("seconds")
    assert first == again


def test_trial_t_has_the_same_review_at_every_size():
    from wordsway.experiments.texts import TextOptions

    texts = [
        run_cell(Cell(name, n, 32, trial=1, data="imdb", texts=TextOptions(padding="paper")))[
            "text"
        ]
        for name, n in (("raf", 5), ("rf", 9))
    ]
    assert texts[0] == texts[1]


def test_a_toml_study():
    study = parse_study(GRID, "mine")
    assert len(study.cells) == 3 * 2 * 2 * 3 + 2 * 3 and study.name == "mine"
    assert {cell.seed for cell in study.cells} == {3}
    assert {cell.positions for cell in study.cells} == {(0,), "all"}
    turned = parse_study(GRID.replace("[4, 7]", "[7, 4]"))
    assert turned.key == study.key, "a study is a set of cells"
    assert hash(study) and parse_study(GRID, "mine") == study


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("speed = 1\n[[grid]]\nmap='rf'\nn=3\nd=2", "'speed' on line 1"),
        ("[[grid]]\nmap = 'rf'\nn = 3\nd = 2\nwidth = 5", "'width' on line 5"),
        (
            "[[grid]]\nmap = 'rf'\nn = '3'\nd = 2",
            "n: a whole number ≥ 1, or a list of them, got '3' on line 3",
        ),
        (
            "[[grid]]\nmap = 'rf'\nn = 3\nd = 2\n[[grid]]\nmap = 'foo'\nn = 3\nd = 2",
            "one of rf, drf, raf, relu-raf, or a list of them, got 'foo' on line 6",
        ),
        ("[[grid]]\nmap = 'rf'\nn = []\nd = 2", "an empty list on line 3"),
        ("seed = 1", "at least one [[grid]] table"),
        ("", "at least one [[grid]] table"),
        ("[[grid]]\nmap = 'rf'\nn = 3", "the key d in [[grid]] number 1"),
        ("[[grid]]\nmap = 'rf'\nn = [3, 3]\nd = 2", "every cell once"),
        (
            "[[grid]]\nmap = 'rf'\nn = 3\nd = 2\n[[grid]]\nmap = 'rf'\nn = 3\nd = 2",
            "number 2 and number 1",
        ),
        ("[[grid]]\nmap = 'raf'\nn = 3\nd = 2\ndepth = 2", "depth only with drf"),
        ("[[grid]]\nmap = 'raf'\nn = 3\nd = 2\npositions = 'middle'", "on line 5"),
        ("[[grid]]\nmap = 'raf'\nn = 3\nd = 2\npositions = [7]", "between 0 and 2"),
        ("trials = true\n[[grid]]\nmap = 'raf'\nn = 3\nd = 2", "on line 1"),
        ("[[grid]\nmap =", "TOML"),
    ],
)
def test_a_wrong_study_names_key_line_and_what_is_allowed(text, said, tmp_path, capsys):
    with pytest.raises(InputError) as caught:
        parse_study(text)
    assert said in str(caught.value)
    (tmp_path / "s.toml").write_text(text)
    assert run(["sweep", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err


# The store


def filled(folder: Path, count: int = 6) -> Store:
    store = Store(folder)
    for cell in small_cells(count):
        outcome = fake(cell)
        store.add(Record(cell.content, outcome.outputs, outcome.facts))
    return store


def test_what_is_stored_is_found_again_loose_or_packed(tmp_path):
    store = filled(tmp_path)
    table = store.frame()
    assert len(store) == 6 and all(cell.key in store for cell in small_cells())
    assert store.pack(least=7) == 0 and store.pack() == 6
    assert (
        not list((tmp_path / "cells").glob("*.json"))
        and len(list((tmp_path / "packed").glob("*.parquet"))) == 1
    )
    for view in (store, Store(tmp_path)):
        assert len(view) == 6 and all(cell.key in view for cell in small_cells())
        assert view.frame().equals(table)
    facts = store.frame(facts=True)
    assert set(facts.columns) - set(table.columns) == {
        "seconds",
        "peak_mb",
        "host",
        "finished",
        "wordsway",
        "torch",
        "python",
    }
    paths = export(table, facts, tmp_path)
    import pandas

    assert pandas.read_parquet(paths[1]).equals(facts) and len(pandas.read_csv(paths[0])) == 6


@pytest.mark.parametrize(
    "harm",
    ["flip", "truncate", "empty", "foreign", "another cell's name", "binary", "older version"],
)
def test_a_corrupt_cell_is_reported_kept_and_made_again(tmp_path, caplog, harm):
    filled(tmp_path)
    cells = small_cells()
    path = tmp_path / "cells" / f"{cells[0].key}.json"
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[120] ^= 1
    elif harm == "truncate":
        del content[-9:]
    elif harm == "another cell's name":
        content = bytearray((tmp_path / "cells" / f"{cells[1].key}.json").read_bytes())
    elif harm == "older version":
        import hashlib

        document = content.decode().partition("\n")[2].replace('"version": 1', '"version": 0')
        content = bytearray(
            (hashlib.sha256(document.encode()).hexdigest() + "\n" + document).encode()
        )
    else:
        content = bytearray(
            {"empty": b"", "foreign": b"hello\nworld", "binary": b"\xff\xfe\x00\x01"}[harm]
        )
    path.write_bytes(content)
    store = Store(tmp_path)
    assert cells[0].key not in store and len(store) == 5
    assert str(path) in caplog.text and "computed again" in caplog.text
    assert path.read_bytes() == content
    here = Here(fake)
    swept = sweep(cells, store, here)
    assert here.ran == [cells[0].key] and swept.done == 1
    assert [p.read_bytes() for p in (tmp_path / "refused").iterdir()] == [bytes(content)]
    assert len(Store(tmp_path)) == 6


@pytest.mark.parametrize("harm", ["flip", "truncate", "foreign"])
def test_a_corrupt_packed_file_is_reported_kept_and_made_again(tmp_path, caplog, harm):
    store = filled(tmp_path)
    table = store.frame()
    store.pack()
    (path,) = (tmp_path / "packed").glob("*.parquet")
    content = bytearray(path.read_bytes())
    if harm == "flip":
        content[len(content) // 3] ^= 255
    elif harm == "truncate":
        del content[-40:]
    else:
        content = bytearray(b"PAR1 but not really")
    path.write_bytes(content)
    store = Store(tmp_path)
    assert len(store) == 0 and str(path) in caplog.text
    sweep(small_cells(), store, Here(fake))
    assert path.read_bytes() == content and store.frame().equals(table)


def test_two_runs_share_a_store(tmp_path):
    """Cells that another run finished meanwhile are not run again, packed or not."""
    mine, yours = Store(tmp_path), Store(tmp_path)
    cells = small_cells(8)
    here = Here(fake)

    def run_and_interfere(cell):
        if cell.key == here.ran[0]:
            for other in cells:
                if other.key != cell.key and int(other.key, 16) % 2:
                    yours.add(Record(other.content, fake(other).outputs, {}))
        return fake(cell)

    here.function = run_and_interfere
    swept = sweep(cells, mine, here)
    foreign = sum(int(cell.key, 16) % 2 for cell in cells if cell.key != here.ran[0])
    assert len(here.ran) == 8 - foreign and swept.elsewhere == foreign and swept.left == 0
    yours.pack()
    mine.refresh()
    assert len(mine) == 8 and len(mine.frame()) == 8


def test_a_hundred_thousand_cells_open_quickly_and_lie_small(tmp_path):
    Store(tmp_path)
    cells = [
        Cell("raf", n, d, trial=trial)
        for n in range(1, 101)
        for d in range(1, 101)
        for trial in range(10)
    ]
    by_key = {cell.key: cell for cell in cells}
    records = {
        key: Record(
            cell.content,
            work_like(cell),
            {"seconds": 0.123456789, "peak_mb": 301.2, "host": "machine", "torch": "2"},
        )
        for key, cell in by_key.items()
    }
    missing = set(sorted(by_key)[-50:])
    for part in range(4):  # as packed by a long run
        some = sorted(by_key)[part::4]
        pack_directly(tmp_path, {key: records[key] for key in some if key not in missing})
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    code = """
        import sys, time
        from wordsway.experiments.cells import Cell
        cells = [Cell("raf", n, d, trial=trial) for n in range(1, 101) for d in range(1, 101) for trial in range(10)]
        keys = [cell.key for cell in cells]
        start = time.perf_counter()
        from wordsway.experiments.store import Store
        store = Store(sys.argv[1])
        left = [key for key in keys if key not in store]
        print(time.perf_counter() - start, len(left))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, left = done.stdout.split()
    assert int(left) == 50 and float(seconds) < 5
    assert size < 200e6


def work_like(cell: Cell) -> dict:
    """Outputs as large as real ones, and as hard to compress."""
    noise = random.Random(cell.own_seed)
    text = {
        "id": f"imdb:{noise.randrange(50_000)}",
        "sha256": f"{noise.getrandbits(256):064x}",
        "label": 1,
    }
    source = {
        "corpus": "imdb",
        "corpus_sha256": "1" * 64,
        "model": "minilm",
        "model_sha256": "2" * 64,
        "layer": "input",
        "cache_version": 1,
    }
    seeds = {name: noise.getrandbits(63) for name in ("sample_seed", "map_seed", "search_seed")}
    found = {
        "lower": noise.random(),
        "upper": noise.random() + 1,
        "position": 3,
        "seconds": noise.random(),
        "certificate": "exact",
    }
    return found | seeds | {"status": "converged", "word": "film", "text": text, "source": source}


def pack_directly(folder: Path, records: dict) -> None:
    """What `Store.pack` does, without a hundred thousand small files first."""
    store = Store(folder / "part")
    store.loose = set(records)
    store.refresh = lambda: None
    store.records = lambda keys: [(key, records[key]) for key in keys]
    store.pack()
    for path in (folder / "part" / "packed").glob("*.parquet"):
        path.rename(folder / "packed" / path.name)


# Sweeps


def test_failures_are_recorded_and_do_not_stop_the_others(tmp_path, capsys):
    cells = small_cells()
    bad = cells[2].key
    here = Here(
        lambda cell: Outcome(cell, None, {}, "ValueError: no") if cell.key == bad else fake(cell)
    )
    store = Store(tmp_path)
    swept = sweep(cells, store, here)
    assert (
        swept.done == 5
        and swept.failed == {bad: "ValueError: no"}
        and store.failures() == swept.failed
    )
    again = Here(fake)
    swept = sweep(cells, Store(tmp_path), again)
    assert again.ran == [] and swept.skipped == {bad: "ValueError: no"}
    swept = sweep(cells, Store(tmp_path), again, retry_failed=True)
    assert again.ran == [bad] and swept.done == 1 and Store(tmp_path).failures() == {}


def test_ctrl_c_keeps_what_was_done(tmp_path):
    def function(cell):
        if len(here.ran) == 4:
            raise KeyboardInterrupt
        return fake(cell)

    here = Here(function)
    swept = sweep(small_cells(), Store(tmp_path), here)
    assert swept.interrupted and swept.done == 3 and swept.left == 3 and here.closed
    assert len(Store(tmp_path)) == 3


def test_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write to"):
        Store(tmp_path / "file" / "store")
    study = tmp_path / "s.toml"
    study.write_text(GRID)
    assert run(["sweep", str(study), "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_full_disk_loses_nothing(tmp_path, capsys):
    """A real file system of 600 kB: cells that fit stay, the error is one line, and the run goes on
    elsewhere.
    """
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True
    ).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        store = Store(disk / "store")
        with pytest.raises(StoreError, match="No space left on device"):
            sweep(small_cells(400), store, Here(fake))
        kept = len(Store(disk / "store"))
        assert 10 < kept < 400
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def table(folder: Path) -> bytes:
    return (folder / "cells.csv").read_bytes()


def start(study: Path, out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "wordsway", "sweep", str(study), "--out", str(out), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An uninterrupted run with one worker: the truth for all the others."""
    folder = tmp_path_factory.mktemp("study")
    study = folder / "grid.toml"
    study.write_text(GRID)
    process = start(study, folder / "one", "--workers", "1")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "42 cells done now, 0 before, of 42" in out
    return study, table(folder / "one")


def test_workers_and_clusters_give_the_same_table(finished, tmp_path):
    study, truth = finished
    for name, options in {"two": ["--workers", "2"], "dask": ["--cluster", "local:2"]}.items():
        process = start(study, tmp_path / name, *options)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert table(tmp_path / name) == truth, name


def test_a_sweep_killed_at_any_moment_resumes_to_the_same_table(finished, tmp_path):
    """kill -9 of the whole run at random moments until it is done; no stored cell is ever run
    again.
    """
    study, truth = finished
    moments = random.Random(0)
    seen: dict[str, bytes] = {}
    kills = 0
    while True:
        assert kills < 60
        process = start(study, tmp_path / "out", "--workers", "2")
        try:
            process.communicate(
                timeout=moments.uniform(2.0, 4.0) * (1 + kills / 10)
            )  # longer and longer on a slow machine
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
        cells = {
            path.name: path.read_bytes() for path in (tmp_path / "out").glob("store/cells/*.json")
        }
        assert all(cells.get(name) == content for name, content in seen.items()), (
            "a stored cell was written again"
        )
        seen = cells
        if process.returncode == 0:
            break
    assert kills >= 1
    assert table(tmp_path / "out") == truth


def test_a_worker_that_dies_takes_only_its_cell(tmp_path):
    """One of two local workers is killed in the middle; all cells are done all the same."""
    cells = [Cell("rf", 60, 64, trial=trial, positions="all") for trial in range(8)]
    pool = LocalWorkers(2, 2**33)
    store = Store(tmp_path)
    killed = []

    class Watch:
        def begin(self, left):
            pass

        def __call__(self, cell, done, total, failed, seconds):
            if not killed:
                victim = pool.workers[-1]
                os.kill(victim.process.pid, signal.SIGKILL)
                killed.append(victim.cell)

    swept = sweep(cells, store, pool, progress=Watch())
    assert killed and swept.done == 8 and not swept.failed
    assert [worker.process.is_alive() for worker in pool.workers] == []


def test_a_cell_that_kills_its_worker_is_given_up(tmp_path, monkeypatch):
    cells = small_cells(3)
    pool = LocalWorkers(1, 2**33)
    start_worker = pool._start

    def doomed():
        worker = start_worker()
        worker.process.kill()
        worker.process.join()
        return worker

    monkeypatch.setattr(pool, "_start", doomed)
    swept = sweep(cells, Store(tmp_path), pool)
    assert len(swept.failed) == 3 and all(
        "died 3 times" in error for error in swept.failed.values()
    )


def test_cells_are_admitted_by_memory():
    """Two cells that do not fit together run one after the other; a cell too large for the limit
    runs alone.
    """
    pool = LocalWorkers(2, 100)
    running, most = set(), 0

    class Worker:
        def __init__(self):
            self.cell, self.pipe = None, self

        def send(self, cell):
            nonlocal most
            running.add(cell)
            most = max(most, len(running))

    def start_worker():
        pool.workers.append(Worker())
        return pool.workers[-1]

    pool._start = start_worker
    from collections import deque

    waiting = deque(small_cells(3))
    pool._admit(waiting, lambda cell: 60, lambda cell: True)
    assert len(running) == 1 and len(waiting) == 2
    for need, expected in ((40, 2), (500, 1)):
        pool.workers, waiting = [], deque(small_cells(3))
        running.clear()
        pool._admit(waiting, lambda cell, need=need: need, lambda cell: True)
        assert len(running) == expected


def test_a_dask_cluster_survives_a_killed_worker(finished, tmp_path):
    """Four real worker processes, one of them killed in the middle."""
    import psutil

    study, truth = finished
    slow = tmp_path / "slow.toml"
    slow.write_text(
        study.read_text() + '\n[[grid]]\nmap = "rf"\nn = 60\nd = 64\npositions = "all"\n'
    )
    process = start(slow, tmp_path / "dask", "--cluster", "local:4")
    killed = False
    deadline = time.monotonic() + 120
    while process.poll() is None and not killed and time.monotonic() < deadline:
        if len(list((tmp_path / "dask").glob("store/cells/*.json"))) >= 3:
            family = psutil.Process(process.pid).children(recursive=True)
            workers = [
                one
                for one in family
                if "spawn_main" in " ".join(one.cmdline()) and not one.children()
            ]
            if workers:
                workers[0].kill()
                killed = True
        time.sleep(0.05)
    _, err = process.communicate(timeout=300)
    assert killed and process.returncode == 0, err
    plain = start(slow, tmp_path / "plain")
    plain.communicate(timeout=300)
    assert table(tmp_path / "dask") == table(tmp_path / "plain")
    assert set(truth.splitlines()) <= set(table(tmp_path / "dask").splitlines())


def test_a_scheduler_that_does_not_answer(tmp_path, capsys):
    study = tmp_path / "s.toml"
    study.write_text(GRID)
    started = time.monotonic()
    assert (
        run(["sweep", str(study), "--out", str(tmp_path / "out"), "--cluster", "tcp://127.0.0.1:9"])
        == 1
    )
    assert time.monotonic() - started < 25
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "no Dask scheduler answered at tcp://127.0.0.1:9" in err
    assert (
        run(["sweep", str(study), "--out", str(tmp_path / "out"), "--cluster", "local:none"]) == 2
    )


# Costs


def test_costs_grow_with_sizes_and_are_told_beforehand(tmp_path, capsys):
    for name, depth in (("rf", None), ("drf", 3), ("raf", None), ("relu-raf", None)):
        small, large = Cell(name, 20, 64, depth=depth), Cell(name, 40, 128, depth=depth)
        assert (
            cell_bytes(small) < cell_bytes(large)
            and units(small) < units(large)
            and kind(small) == kind(large)
        )
        assert typical_seconds(small) < typical_seconds(large)
    cells = [Cell("raf", n, 32, trial=t) for n in (10, 20, 40, 60) for t in range(5)]
    one, two = forecast_cells(cells, 1, 2**33), forecast_cells(cells, 2, 2**33)
    assert one.cells == 20 and one.seconds > 1.2 * two.seconds and two.bytes > 1.5 * one.bytes
    study = tmp_path / "s.toml"
    study.write_text(GRID)
    assert run(["sweep", str(study), "--out", str(tmp_path / "out"), "--forecast", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["cells"] == told["left"] == 42 and told["forecast_seconds"] > 0
    assert not list((tmp_path / "out").glob("store/cells/*"))


def test_slopes_and_their_intervals():
    """95 % intervals hold the truth in 95 % of 400 draws (between 91 % and 98 %: false alarm below
    1e-3).
    """
    import numpy as np

    noise = np.random.default_rng(0)
    n = np.repeat([10, 20, 50, 100], 5)
    inside = 0
    for _ in range(400):
        slope = fit_slope(n, 2 * n**-0.4 * np.exp(0.1 * noise.standard_normal(len(n))))
        inside += slope.low <= -0.4 <= slope.high
    assert 0.91 * 400 < inside < 0.98 * 400
    assert fit_slope([10, 10, 10], [1, 2, 3]) is None and fit_slope([10, 20], [1, 2]) is None


def test_errors_of_cells_are_one_line():
    broken = work(Cell("raf", 5, 400, data="imdb"))
    assert broken.outputs is None and "\n" not in broken.error and "d ≤ 384" in broken.error


def test_a_scheduler_and_workers_started_by_hand(tmp_path):
    """The commands of docs/clusters.md: `dask scheduler`, `dask worker`, `--cluster tcp://…`."""
    dask = str(Path(sys.executable).parent / "dask")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    scheduler = subprocess.Popen(
        [dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet
    )
    worker = subprocess.Popen(
        [dask, "worker", address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard"], **quiet
    )
    try:
        deadline = time.monotonic() + 60
        process = None
        while time.monotonic() < deadline:
            process = start(ROOT / "examples" / "grid.toml", tmp_path / "tcp", "--cluster", address)
            _, err = process.communicate(timeout=300)
            if process.returncode == 0:
                break
        assert process.returncode == 0, err
    finally:
        for server in (worker, scheduler):
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()
    plain = start(ROOT / "examples" / "grid.toml", tmp_path / "plain")
    plain.communicate(timeout=300)
    assert table(tmp_path / "tcp") == table(tmp_path / "plain")


# Figures and the page


def test_quick_is_a_true_subset():
    available = Sources(
        {192: ["gaussian", "imdb:minilm"], 384: ["gaussian"], 768: ["gaussian", "imdb:mpnet"]}
    )
    for figure in FIGURES.values():
        full = {cell.key for cell in figure.cells(available)}
        quick = {cell.key for cell in figure.cells(available, quick=True)}
        if isinstance(figure, ModelFigure):
            assert not full and not quick, "no grid"
        elif figure.name.endswith(("-minilm", "-bert-base")):
            assert not full and not quick, "no such data here"
        elif figure.name.endswith("-mpnet"):
            assert full and not quick
        else:
            assert quick < full and len(quick) < len(full) / 2.5


def test_figures_by_name():
    assert [figure.name for figure in choose([])][:9] == [
        "1-left",
        "1-right",
        "2-left",
        "2-right",
        "3.1",
        "3.2",
        "3.3",
        "3.4",
        "4-gaussian",
    ]
    assert [figure.name for figure in choose(["5"])] == [
        "5-gaussian",
        "5-minilm",
        "5-mpnet",
        "5-bert-base",
    ]
    assert [figure.name for figure in choose(["3", "2-left"])] == [
        "3.1",
        "3.2",
        "3.3",
        "3.4",
        "2-left",
    ]
    with pytest.raises(InputError, match=r"2-left, 2-right, 3\.1, 3\.2"):
        choose(["7"])


def toy(monkeypatch):
    """The figures at toy size: the same code, small cells."""
    sizes = {"n": (5, 8, 12), "quick_n": (5, 12), "widths": (12,), "quick_widths": (12,)}
    small = {}
    for name, f in FIGURES.items():
        if isinstance(f, ModelFigure):
            small[name] = f
        elif isinstance(f, figures.Scatter):
            panels = tuple(dict.fromkeys((one, 6) for one, _ in f.panels))
            small[name] = replace(
                f, d=12, panels=panels, quick_panels=panels, trains=(4, 9), quick_trains=(9,)
            )
        else:
            small[name] = replace(f, **sizes, depths=(2, 3) if f.map == "drf" else (None,))
    monkeypatch.setattr(figures, "FIGURES", small)
    monkeypatch.setattr(figures, "QUICK_WIDTH", 12)
    monkeypatch.setattr(
        ModelFigure, "model", lambda self: None if self.kind == "answers" else "minilm"
    )
    available = Sources({12: ["gaussian", "imdb:minilm"]}, ["BERT-Base: not present"])
    monkeypatch.setattr(figures, "sources", lambda fetch, progress=None: available)


def test_reproduce_makes_figures_tables_and_a_page(tmp_path, monkeypatch, capsys):
    toy(monkeypatch)
    assert run(["reproduce", "--quick", "--out", str(tmp_path), "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert "Theorem 3" in out and "The page:" in out
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    grids, models = (
        ["2-left", "2-right", "3.1", "3.2", "4-minilm", "5-minilm"],
        ["1-left", "3.3", "3.4"],
    )
    expected = {f"{f}.{kind}" for f in grids for kind in ("png", "svg", "pdf", "csv", "parquet")}
    expected |= {f"{f}.{kind}" for f in models for kind in ("png", "svg", "pdf", "csv", "json")}
    assert names == {"index.html"} | expected
    page = (tmp_path / "index.html").read_text()
    assert (
        page.count("<svg") == 9
        and "Theorem 5: RAF learns it" in page
        and "An attracting Δ moves layers" in page
    )
    assert "smollm2 is not present" in page and "not measured" in page and "BERT-Base" in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page), "self-contained"
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for name in ("seed", "versions", "computing time", "largest worker"):
        assert name in page
    kept = (tmp_path / "3.3.json").stat().st_mtime_ns
    assert run(["reproduce", "3.3", "--quick", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "3.3.json").stat().st_mtime_ns == kept, "measured once"
    capsys.readouterr()
    before = (tmp_path / "3.1.csv").read_bytes()
    assert run(["reproduce", "3.1", "--quick", "--out", str(tmp_path)]) == 0
    assert (
        "0 cells done now" in capsys.readouterr().out
        and (tmp_path / "3.1.csv").read_bytes() == before
    )
    assert run(["reproduce", "--quick", "--out", str(tmp_path), "--forecast"]) == 0
    assert "0 of" in capsys.readouterr().out
    assert run(["reproduce", "9", "--out", str(tmp_path)]) == 2


def test_claims_about_learning_can_fail():
    """An RF below its curve, a RAF that does not get there, a ReLU-RAF beyond RAF, a floor that is
    broken: all disagree.
    """
    import pandas

    common = {
        "data": "gaussian",
        "d": 8,
        "n": 40,
        "train": 10,
        "update": "retrain",
        "penalty": None,
        "bound": 0.0,
    }

    def told(rf_error, raf_error, alignments, penalised_error, bound=0.0):
        rows = []
        for map_name, error, A in zip(
            ("rf", "raf", "relu-raf"), (rf_error, raf_error, 1.0), alignments, strict=True
        ):
            one = common | {
                "map": map_name,
                "error": error,
                "gamma": 0.5,
                "alignment": A,
                "bound": bound,
            }
            rows += [one | {"loss": loss} for loss in ("align", "direct")]
        rows.append(
            common
            | {
                "map": "raf",
                "loss": "penalised",
                "penalty": 1.0,
                "error": penalised_error,
                "gamma": 0.5,
                "alignment": 0.0,
            }
        )
        return {one.claim: one.verdict for one in learning_findings(pandas.DataFrame(rows))}

    good = told(2.2, 0.0, (0.95, -0.5, 0.8), 0.1)
    assert set(good.values()) == {"agrees"} and len(good) == 5
    bad = told(0.0, 0.5, (0.95, 0.8, -0.5), 2.3)
    assert {claim for claim, verdict in bad.items() if verdict == "disagrees"} == set(list(bad)[:4])
    assert list(told(2.2, 0.0, (0.95, -0.5, 0.8), 0.1, bound=0.5).values())[-1] == "disagrees"


def test_claims_about_models_can_fail():
    by_kind = {
        figure.kind: figure for figure in FIGURES.values() if isinstance(figure, ModelFigure)
    }
    model = {"model": {"name": "m"}}
    figure, tried = by_kind["layers"], ([4, 5, 6, 2], [4, 5, 2, 2], [4, 5, 6, 0.9])
    layers = [
        model_finding(figure, model | {"factors": [1.0, *factors]}).verdict for factors in tried
    ]
    assert layers == ["agrees", "disagrees", "disagrees"]
    flat, drawn = [[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.0, 1.0]]
    for after, verdict in ((drawn, "disagrees"), (flat, "disagrees")):
        payload = model | {"tokens": ["a", "b"], "row": 1, "before": flat, "after": after}
        assert model_finding(by_kind["attracted"], payload).verdict == verdict, (
            "0.5 to 1 is not more than twice"
        )
    payload = model | {
        "tokens": ["a", "b"],
        "row": 1,
        "before": [[0.9, 0.1], [0.5, 0.5]],
        "after": drawn,
    }
    assert model_finding(by_kind["attracted"], payload).verdict == "agrees"
    same = model | {"a": {"answer": "x"}, "b": {"answer": "x"}, "kl_ab": 0.0}
    assert model_finding(by_kind["answers"], same).verdict == "disagrees"
    assert model_finding(by_kind["answers"], same | {"b": {"answer": "y"}}).verdict == "agrees"


def test_claims_can_fail():
    """Verdicts follow the numbers: a flat RF and a falling RAF disagree, and so does a certificate
    below its value.
    """
    import pandas

    rows = []
    for map_name, power in (("rf", 0.0), ("raf", -0.5), ("relu-raf", 0.0)):
        for n in (10, 20, 40):
            for trial in range(3):
                value = 3 * n**power * (1 + 0.001 * trial)
                point = {
                    "map": map_name,
                    "data": "gaussian",
                    "d": 8,
                    "depth": None,
                    "n": n,
                    "positions": "0",
                }
                rows.append(point | {"lower": value, "upper": value / 2})
    verdicts = {
        one.claim: one.verdict for one in findings(pandas.DataFrame(rows), ["IMDb: no network"])
    }
    assert list(verdicts.values()).count("disagrees") == 4 and verdicts["IMDb"] == "not measured"


def test_text_in_a_page_is_escaped(tmp_path):
    svg = tmp_path / "a.svg"
    svg.write_text('<?xml version="1.0"?><svg width="100pt" height="50pt"><g id="x"/></svg>')
    page = Page(
        "<script>",
        "a & b\x1b[2J",
        [Plate("<b>", svg, "c", ["a.svg"])],
        [],
        {"k": "<i>"},
        "wordsway '<x>'",
    )
    text = write_page(page, tmp_path / "index.html").read_text()
    assert (
        "<script>" not in text
        and "&lt;script&gt;" in text
        and "\x1b" not in text
        and "<i>" not in text
    )
