"""Pages of figures tell the truth about themselves: one run, one record, one version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import record
from benchmarks.record import Record, Stamp, measure

PARTS = ("first", "second", "third")


def run(place: Path, fail_at: str = "") -> tuple[list[str], Record | None]:
    """Measure three parts; which of them were measured, and the record."""
    called: list[str] = []

    def part(name: str) -> str:
        if name == fail_at:
            raise KeyboardInterrupt
        called.append(name)
        return f"figures of {name} in call {len(called)}\n"

    parts = {name: (name.title(), lambda name=name: part(name)) for name in PARTS}
    try:
        return called, measure(parts, lambda line: None, place)
    except KeyboardInterrupt:
        return called, None


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(tmp_path):
    place = tmp_path / "deeper" / "unfinished.json"
    assert run(place, fail_at="third") == (["first", "second"], None)
    called, found = run(place)
    assert called == ["third"]
    assert list(found.sections) == ["First", "Second", "Third"]
    assert Record.read(place) == found


def test_a_run_of_another_source_starts_anew(tmp_path, monkeypatch):
    place = tmp_path / "unfinished.json"
    run(place, fail_at="third")
    monkeypatch.setattr(record, "source_hash", lambda: "another")
    called, found = run(place)
    assert called == list(PARTS)
    assert found.stamp.source == "another"


def test_a_page_shows_its_record_and_its_stamp():
    stamp = replace(Stamp.now(), wordsway="9.8.7", source="0123456789ab")
    page = Record(stamp, {"How fast": "| a | 3 s |"}, {"How fast": 62.0}).page()
    assert page.startswith("# Performance\n")
    assert "## How fast\n\n| a | 3 s |\n" in page
    assert "wordsway 9.8.7 (source 0123456789ab)" in page and "measured in 1 min 2 s" in page


@pytest.mark.parametrize("changed", ["src/wordsway/a.py", "benchmarks/b.py"])
def test_the_source_is_all_that_is_measured_and_what_measures(tmp_path, monkeypatch, changed):
    monkeypatch.setattr(record, "ROOT", tmp_path)
    for name in ("src/wordsway/a.py", "benchmarks/b.py", "docs/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    before = record.source_hash()
    (tmp_path / "docs/c.py").write_text("x = 2\n")
    assert record.source_hash() == before
    (tmp_path / changed).write_text("x = 2\n")
    assert record.source_hash() != before
