"""Files that are there whole, or not at all."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import pytest

from wordsway.core import atomic as module
from wordsway.core.atomic import atomic, remove_stale


def leftover(folder: Path, age: float, name: str | None = None) -> Path:
    path = folder / (name or f".table.csv.{uuid.uuid4().hex}.part")
    path.write_text("half")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_what_a_killed_process_left_is_removed_once_it_is_old(tmp_path: Path) -> None:
    day = 24 * 3600
    old, young = leftover(tmp_path, day), leftover(tmp_path, 60)
    (tmp_path / "inner").mkdir()
    others = [
        leftover(tmp_path, day, "mine.part"),
        leftover(tmp_path, day, ".notes.part"),
        leftover(tmp_path, day, "table.csv"),
        leftover(tmp_path / "inner", day),
    ]
    with atomic(tmp_path / "new.csv") as partial:
        partial.write_text("whole")
    assert not old.exists()
    assert young.exists(), "somebody may be writing to it"
    assert all(path.exists() for path in others), "not made by us, or not here"
    assert (tmp_path / "new.csv").read_text() == "whole"


def test_links_and_folders_are_left_alone(tmp_path: Path) -> None:
    target = leftover(tmp_path, 10**6, "target")
    link = tmp_path / f".a.{uuid.uuid4().hex}.part"
    link.symlink_to(target)
    folder = tmp_path / f".b.{uuid.uuid4().hex}.part"
    folder.mkdir()
    assert remove_stale(tmp_path, seconds=-(10**9)) == 0
    assert link.is_symlink() and folder.is_dir() and target.exists()
    assert remove_stale(tmp_path / "nowhere") == 0


def test_a_folder_is_looked_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Path] = []
    monkeypatch.setattr(module, "remove_stale", lambda folder: calls.append(folder))
    for number in range(3):
        with atomic(tmp_path / str(number)) as partial:
            partial.write_text("")
    assert calls == [tmp_path]
