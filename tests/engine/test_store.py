"""A store that trusts nothing: whole records, checksums, entries of any kind in its way."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from jobs import GRID, Here, OnThese, cell, fake, filled, small_cells
from wordsway.cli.app import run
from wordsway.engine.run import run_jobs
from wordsway.engine.store import Record, Store, StoreError
from wordsway.engine.tables import export, without_facts
from wordsway.studies.sweep import sweep
from wordsway.studies.tables import cells_frame


def segment(folder: Path) -> Path:
    (path,) = (folder / "segments").glob("*.log")
    return path


def test_what_is_stored_is_found_again(tmp_path: Path) -> None:
    store = filled(tmp_path)
    table = cells_frame(store)
    for view in (store, Store(tmp_path)):
        assert len(view) == 6 and all(job.key in view for job in small_cells())
        assert cells_frame(view).equals(table)
    facts = cells_frame(store, facts=True)
    more = set(facts.columns) - set(table.columns)
    assert {"seconds", "host", "wordsway", "torch", "transformers"} <= more
    assert without_facts(facts).equals(table)
    paths = export(facts, tmp_path)
    assert pandas.read_parquet(paths[1]).equals(facts) and len(pandas.read_csv(paths[0])) == 6


def test_a_line_is_a_checksum_and_a_document(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    for line in segment(tmp_path).read_bytes().splitlines():
        head, _, document = line.partition(b" ")
        assert head.decode() == hashlib.sha256(document).hexdigest()
        assert set(json.loads(document)) == {"content", "outputs", "facts"}


def signed(document: str) -> bytes:
    return f"{hashlib.sha256(document.encode()).hexdigest()} {document}\n".encode()


#: Lines as a fault, a stranger or an attacker would leave them.
HARMS: dict[str, Callable[[bytes], bytes]] = {
    "flip": lambda line: line[:120] + bytes([line[120] ^ 1]) + line[121:],
    "empty": lambda line: b"\n",
    "foreign": lambda line: b"hello world\n",
    "binary": lambda line: b"\xff\xfe\x00\x01\n",
    "wrong type": lambda line: signed('{"content": [], "outputs": 3, "facts": null}'),
    "not a number": lambda line: signed('{"content": {"n": NaN}, "error": ""}'),
    "deep": lambda line: signed("[" * 100_000 + "]" * 100_000),
}


@pytest.mark.parametrize("harm", HARMS)
def test_an_invalid_line_is_reported_kept_and_computed_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: str
) -> None:
    filled(tmp_path)
    path = segment(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = HARMS[harm](lines[2])
    path.write_bytes(b"".join(lines))
    store = Store(tmp_path)
    assert len(store) == 5
    assert str(path) in caplog.text and "it will be recomputed" in caplog.text
    here = Here(fake)
    tally = run_jobs(small_cells(), store, OnThese(here))
    assert len(here.ran) == tally.done == 1 and path.read_bytes() == b"".join(lines)
    assert len(Store(tmp_path)) == 6


@pytest.mark.parametrize("bytes_lost", [1, 9, 300])
def test_a_torn_tail_loses_one_record(tmp_path: Path, bytes_lost: int) -> None:
    """A run killed while it writes: its last line is not whole, the next run has its own file."""
    filled(tmp_path)
    path = segment(tmp_path)
    torn = path.read_bytes()[:-bytes_lost]
    path.write_bytes(torn)
    store = Store(tmp_path)
    assert len(store) == 5
    assert run_jobs(small_cells(), store, OnThese(Here(fake))).done == 1
    assert path.read_bytes() == torn and len(Store(tmp_path)) == 6


def put(path: Path, kind: str) -> None:
    """Something that is no file, or no file that should be read."""
    if kind == "directory":
        path.mkdir()
        (path / "inside").write_text("")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to("nowhere")


@pytest.mark.parametrize("kind", ["directory", "pipe", "loop", "endless", "nowhere"])
def test_what_is_no_file_is_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """Nothing hangs, it is reported once, every cell is done in the end."""
    Store(tmp_path)
    put(tmp_path / "segments" / "x.log", kind)
    store = Store(tmp_path)
    tally = run_jobs(small_cells(3), store, OnThese(Here(fake)))
    assert tally.done == 3 and len(cells_frame(store)) == 3 and caplog.text.count("x.log") == 1
    assert len(Store(tmp_path)) == 3


def test_a_line_without_end_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("wordsway.engine.store.MOST_BYTES", 4096)
    Store(tmp_path)
    (tmp_path / "segments" / "x.log").write_bytes(b"x" * 10_000)
    assert len(Store(tmp_path)) == 0 and "longer than any record" in caplog.text


def test_failures_are_kept_until_the_job_is_done(tmp_path: Path) -> None:
    store, one = Store(tmp_path), small_cells(1)[0]
    store.fail(one.content, "no")
    assert Store(tmp_path).failures() == store.failures() == {one.key: "no"}
    store.add(Record(one.content, {}, {}))
    assert Store(tmp_path).failures() == store.failures() == {} and one.key in store


def test_two_runs_share_a_store(tmp_path: Path) -> None:
    """Cells that another run finished meanwhile are not run again."""
    mine, yours = Store(tmp_path), Store(tmp_path)
    cells = small_cells(8)
    here = Here(fake)

    def interfere(job: Any) -> Any:
        if job.key == here.ran[0]:
            for other in cells:
                if other.key != job.key and int(other.key, 16) % 2:
                    yours.add(Record(other.content, fake(other).outputs or {}, {}))
        return fake(job)

    here.function = interfere
    tally = run_jobs(cells, mine, OnThese(here))
    foreign = sum(int(job.key, 16) % 2 for job in cells if job.key != here.ran[0])
    assert len(here.ran) == 8 - foreign and tally.elsewhere == foreign and tally.left == 0
    assert len(mine) == 8 and len(cells_frame(mine)) == 8
    assert len(list((tmp_path / "segments").glob("*.log"))) == 2


def test_a_store_of_version_0_2_0_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "store" / "cells").mkdir(parents=True)
    assert len(Store(tmp_path / "store")) == 0 and "recomputed" in caplog.text
    caplog.clear()
    assert len(Store(tmp_path / "store")) == 0 and caplog.text == ""


def test_the_table_holds_what_the_folder_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two studies that share a folder: the last table has the cells of both."""
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here(fake))
    for n in (3, 4):
        study = tmp_path / f"{n}.toml"
        study.write_text(f"[[grid]]\nmap = 'raf'\nn = {n}\nd = 4\ncertificate = false")
        result = sweep(study, tmp_path / "out", workers=1)
    assert set(pandas.read_csv(result.tables[0])["n"]) == {3, 4} == set(result.frame()["n"])


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ESTALE, "mount its file system again"),
        (errno.EXDEV, "try again"),
        (errno.ENOSPC, "free some space there"),
    ],
    ids=lambda value: os.strerror(value) if isinstance(value, int) else None,
)
def test_a_write_that_fails_is_reported_as_the_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    """Nothing is left of it, and the next record is whole."""
    store, one = filled(tmp_path, 2), cell("raf", 3, 4)
    before = segment(tmp_path).read_bytes()
    with monkeypatch.context() as patch:

        def refuse(*_: object) -> None:
            raise OSError(number, "")

        patch.setattr(os, "fsync", refuse)
        expected = re.escape(f"cannot write to {tmp_path} ({os.strerror(number)}): {remedy}, or")
        with pytest.raises(StoreError, match=expected):
            store.add(Record(one.content, {}, {}))
    assert segment(tmp_path).read_bytes() == before and one.key not in store
    store.add(Record(one.content, {}, {}))
    assert len(Store(tmp_path)) == 3


def test_a_folder_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write to"):
        Store(tmp_path / "file" / "store")
    study = tmp_path / "s.toml"
    study.write_text(GRID)
    assert run(["sweep", str(study), "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """A real file system of 200 kB: cells that fit stay, the error is one line."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        store = Store(disk / "store")
        with pytest.raises(StoreError, match="No space left on device"):
            run_jobs(small_cells(2000), store, OnThese(Here(fake)))
        assert 10 < len(Store(disk / "store")) < 2000
    finally:
        subprocess.run(["umount", str(disk)], check=True)
