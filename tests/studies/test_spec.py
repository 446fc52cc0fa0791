"""Studies in TOML: a grid as data, and errors that name key, line and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs import CELLS, GRID
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.studies.cells import Cell
from wordsway.studies.spec import parse_study


def test_a_toml_study() -> None:
    study = parse_study(GRID, "mine")
    assert len(study.cells) == 3 * 2 * 2 + 2 == CELLS and study.name == "mine"
    requests = [cell.request for cell in study.cells if isinstance(cell, Cell)]
    assert len(requests) == CELLS and {request.seed for request in requests} == {3}
    assert {request.positions for request in requests} == {(0,), "all"}
    turned = parse_study(GRID.replace("[3, 4]", "[4, 3]"))
    assert turned.key == study.key, "a study is a set of cells"
    assert hash(study) and parse_study(GRID, "mine") == study


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ("data = 'imdb'", ["word:0"]),
        ("data = 'imdb'\npositions = 'first'", [0]),
        ("data = 'imdb'\ntrain = 4", [0]),
        ("", [0]),
    ],
)
def test_the_first_word_of_a_text_moves_by_default_as_in_measure(
    more: str, rows: list[int | str]
) -> None:
    study = parse_study(f"[[grid]]\nmap = 'raf'\nn = 9\nd = 4\n{more}")
    assert [cell.content["positions"] for cell in study.cells] == [rows]


def test_a_grid_may_span_the_radius() -> None:
    study = parse_study("[[grid]]\nmap = 'raf'\nn = 3\nd = 4\nradius = [1, 2.0]")
    assert [cell.request.radius for cell in study.cells if isinstance(cell, Cell)] == [1, 2.0]
    assert study.cells[0].content["radius"] == 1.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("speed = 1\n[[grid]]\nmap='rf'\nn=3\nd=2", "'speed' on line 1"),
        ("[[grid]]\nmap = 'rf'\nn = 3\nd = 2\nwidth = 5", "'width' on line 5"),
        (
            "[[grid]]\nmap = 'rf'\nn = '3'\nd = 2",
            "n ≥ 1, a whole number, got '3' on line 3",
        ),
        (
            "[[grid]]\nmap = 'rf'\nn = 3\nd = 2\n[[grid]]\nmap = 'foo'\nn = 3\nd = 2",
            "got 'foo' on line 6",
        ),
        ("[[grid]]\nmap = 'foo'\nn = 3\nd = 2", "a map among rf, drf, raf, relu-raf"),
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
        ("[[grid]]\nmap = 'raf'\nn = 3\nd = 2\nradius = 0", "radius between"),
        ("[[grid]]\nmap = 'raf'\nn = 3\nd = 2\nloss = 'direct'", "train with update, loss"),
        ("trials = 1000000000000\n[[grid]]\nmap = 'raf'\nn = 3\nd = 2", "at most"),
        ("trials = true\n[[grid]]\nmap = 'raf'\nn = 3\nd = 2", "on line 1"),
        ("[[grid]\nmap =", "TOML"),
    ],
)
def test_a_wrong_study_names_key_line_and_what_is_allowed(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError) as caught:
        parse_study(text)
    assert said in str(caught.value)
    (tmp_path / "s.toml").write_text(text)
    assert run(["sweep", str(tmp_path / "s.toml"), "--out", str(tmp_path / "out")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and said in err
