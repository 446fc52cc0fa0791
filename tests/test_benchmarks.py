"""Pages of figures are what their record has: one run, one version, one day."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchmarks import probing, probing_page, record
from benchmarks.__main__ import parts
from benchmarks.record import PICTURES, Part, Record, Section, Stamp, measure
from wordsway.version import __version__

PARTS = ("first", "second", "third")


def run(place: Path, fail_at: str = "") -> tuple[list[str], Record | None]:
    """Measure three parts; which of them were measured, and the record."""
    called: list[str] = []

    def part(name: str) -> str:
        if name == fail_at:
            raise KeyboardInterrupt
        called.append(name)
        (place.parent / f"{name}.png").touch()  # a picture may be drawn by the very first part
        return f"figures of {name} in call {len(called)}\n"

    some = {name: Part(name.title(), lambda name=name: part(name)) for name in PARTS}
    try:
        return called, measure(some, lambda line: None, place)
    except KeyboardInterrupt:
        return called, None


def test_a_run_that_was_interrupted_goes_on_where_it_stopped(tmp_path):
    place = tmp_path / "deeper" / "unfinished.json"
    assert run(place, fail_at="third") == (["first", "second"], None)
    called, found = run(place)
    assert called == ["third"]
    assert [section.heading for section in found.sections.values()] == ["First", "Second", "Third"]
    assert Record.read(place) == found


def test_a_run_of_another_source_starts_anew(tmp_path, monkeypatch):
    place = tmp_path / "unfinished.json"
    run(place, fail_at="third")
    monkeypatch.setattr(record, "source_hash", lambda: "another")
    called, found = run(place)
    assert called == list(PARTS)
    assert found.stamp.source == "another"


def test_a_page_shows_its_record_and_its_stamp():
    stamp = replace(Stamp.now(), wordsway="9.8.7", source="0123456789ab", date="2026-11-17")
    part = Part("How fast", lambda count: f"{count} draws", 3)
    assert part.measure() == "3 draws" and part.measure(7) == "7 draws"
    section = Section(part.heading, "| a | 3 s |", part.command("speed"), 62.0)
    page = Record(stamp, {"speed": section}).page()
    assert page.startswith("# Performance\n")
    assert "## How fast\n\n| a | 3 s |\n\n*`python -m benchmarks speed 3`, 1 min 2 s*\n" in page
    assert "wordsway 9.8.7 (source 0123456789ab)" in page
    assert "measured on 2026-11-17 in 1 min 2 s" in page


def test_the_remains_of_another_form_are_left_alone(tmp_path):
    place = tmp_path / "unfinished.json"
    for remains in ("{}", "[", '{"stamp": {"wordsway": "0.0.1"}, "sections": {"a": {}}}'):
        place.write_text(remains)
        assert run(place)[0] == list(PARTS)


def test_a_run_is_published_with_its_pictures(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in record.PICTURES:
        (tmp_path / name).write_bytes(b"drawn")
    found = Record(Stamp.now(), {"a": Section("A", "b", "c", 1.0)})
    found.publish(tmp_path / "docs", tmp_path)
    assert Record.read(tmp_path / "docs/performance.json") == found
    assert told_apart(tmp_path / "docs") == []
    (tmp_path / "docs" / record.PICTURES[0]).write_bytes(b"by hand")
    (tmp_path / "docs/performance.md").write_text(found.page() + "by hand")
    assert told_apart(tmp_path / "docs") == ["performance.md", *record.PICTURES]


def told_apart(docs: Path) -> list[str]:
    """What is not as the record in ``docs`` has it."""
    found = Record.read(docs / "performance.json")
    shown = (docs / "performance.md").read_text("utf-8")
    page = [] if shown == found.page() else ["performance.md"]
    digests = {name: hashlib.sha256((docs / name).read_bytes()).hexdigest() for name in PICTURES}
    return page + [name for name, digest in digests.items() if found.pictures[name] != digest]


def test_the_figures_of_the_page_are_those_of_one_dated_run():
    """A dated measurement: it names its version and its day, which need not be the current ones."""
    found = Record.read(record.NOTES / "performance.json")
    assert told_apart(record.NOTES) == [], "changed by hand"
    stamp, shown = found.stamp, (record.NOTES / "performance.md").read_text("utf-8")
    assert date(2026, 11, 17) <= date.fromisoformat(stamp.date) <= date.today()
    measured, current = (
        [int(part) for part in version.split(".")] for version in (stamp.wordsway, __version__)
    )
    assert len(measured) == 3 and measured <= current
    assert re.fullmatch("[0-9a-f]{12}", stamp.source)
    assert f"wordsway {stamp.wordsway} (source {stamp.source})" in shown
    assert f"measured on {stamp.date} in" in shown
    asked = [part.command(name) for name, part in parts(record.NOTES).items()]
    assert [section.command for section in found.sections.values()] == asked, "other parts"


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


#: What `benchmarks.probing` tells of each case.
FOUND: dict[str, dict[str, Any]] = {
    "command": {"short": [3.1, 3.3, 3.2], "twenty": [5.0, 5.5, 6.0]},
    "long": {
        "tokens": 398,
        "words": 394,
        "seconds": 5.81,
        "correlation": 0.9912,
        "command": [8.0, 8.1, 8.3],
    },
    "determined": {
        f"{kind} {tier}": {"mean": 0.9934, "least": 0.981, "seconds": 1.26, "texts": 5}
        for kind in ("reviews", "sentences")
        for tier in probing.TIERS
    },
    "curve": {"words": 15, "small": 0.9812, "large": 0.97, "at least": 14, "median": 1.214},
    "ceiling": {"minilm": {"median": 1.4321, "words": 10}},
    "prefix": {
        "tokens": 300,
        "rows": [201, 249, 299],
        "candidates": 16,
        "seconds": 6.12,
        "whole": 28.4,
        "ratio": 4.64,
        "off": 9.1e-7,
    },
    "swaps": {
        "swaps": [
            {
                "sentence": "The film was not at all",
                "word": "bad",
                "candidates": 21721,
                "seconds": 8.71,
                "best": 0.8047,
                "true": 0.8047,
                "exhaustive": 78.3,
            }
        ]
    },
}


def test_sections_on_real_models_read_as_sentences_and_tables(monkeypatch):
    monkeypatch.setattr(probing_page, "fresh", lambda case, count, what: FOUND[case])
    sections = [
        probing_page.commands(),
        probing_page.determined(5),
        probing_page.curve(5),
        probing_page.ceiling(5),
        probing_page.prefix(16),
        probing_page.swaps(1),
    ]
    for section in sections:
        first, *_ = section.splitlines()
        assert first.endswith((".", "words.")) and not set("{}[]") & set(section)
        rows = [line.count("|") for line in section.splitlines() if line.startswith("|")]
        assert len(set(rows)) <= 1, "a row has as many cells as its table"
    assert "| reviews | mean local | 0.993 | 0.981 | 1.3 s |" in sections[1]
    assert '| `wordsway words "I love her much"`, 4 words | 3.2 s | 3.1 to 3.3 s |' in sections[0]
    assert "4.6 times as fast, with the same values to 9e-07" in sections[4]
    assert "| 0.805, 8.7 s | 0.805, 78 s | 100% |" in sections[5]
