"""`reproduce` at toy size: figures, tables, a page; it resumes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jobs import Here
from wordsway import data
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.engine.store import Store
from wordsway.paper import learned_flips, reproduce
from wordsway.paper.figure import Figure, Sources
from wordsway.paper.learned_flips import LearnedFlips
from wordsway.paper.pretrained import AttractedAttention, restored
from wordsway.paper.reproduce import FIGURES
from wordsway.paper.sensitivity_curves import SensitivityCurves
from wordsway.probing.attract import Attracted, attract

SIZES: dict[str, Any] = {"n": (5, 8), "quick_n": (5, 8), "widths": (12,), "quick_widths": (12,)}


def smaller(figure: Figure[Any]) -> Figure[Any]:
    """The same code, small cells."""
    if isinstance(figure, SensitivityCurves):
        depths = (None,) if figure.depths == (None,) else (2, 3)
        return replace(figure, **SIZES, depths=depths)
    if isinstance(figure, LearnedFlips):
        panels = tuple(dict.fromkeys((name, 6) for name, _ in figure.panels))
        trains: dict[str, Any] = {"trains": (4, 9), "quick_trains": (9,)}
        return replace(figure, d=12, panels=panels, quick_panels=panels, **trains)
    return figure


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {name: smaller(figure) for name, figure in FIGURES.items()}
    monkeypatch.setattr(reproduce, "FIGURES", small)
    monkeypatch.setattr(learned_flips, "QUICK_WIDTH", 12)
    here = data.present("minilm")
    assert here is not None
    found = Sources(
        {12: ["gaussian", "imdb:minilm"]}, ["BERT-Base: not present"], {"minilm": here.digest}
    )
    monkeypatch.setattr("wordsway.paper.reproduce.find_sources", lambda **_: found)
    monkeypatch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())


@pytest.mark.slow
@pytest.mark.usefixtures("toy")
def test_reproduce_makes_figures_tables_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "--quick", "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Theorem" in out and str(tmp_path / "index.html") in out.replace("\n", "")
    names = {path.name for path in tmp_path.iterdir() if path.is_file()}
    grids = ["2-left", "2-right", "3.1", "3.2", "4-minilm", "5-minilm"]
    endings = ("png", "svg", "pdf", "csv")
    expected = {f"{name}.{kind}" for name in grids for kind in (*endings, "parquet")}
    models = ["1-left", "3.3", "3.4"]
    expected |= {f"{name}.{kind}" for name in models for kind in (*endings, "json")}
    assert names == {"index.html"} | expected
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 9 and "Paper, Theorem 5: RAF learns the flip" in page
    assert page.index("What the paper claims") < page.index("wordsway’s own checks")
    assert "An attracting Δ moves layers" in page
    assert "smollm2 is not present" in page and "not measured" in page and "BERT-Base" in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page), "self-contained"
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for name in ("seed", "versions", "computing time", "largest worker"):
        assert name in page
    before = (tmp_path / "3.1.csv").read_bytes()
    stored = len(Store(tmp_path / "store"))
    assert run(["reproduce", "3.1", "3.4", "--quick", "--out", str(tmp_path), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["done"], again["before"]) == (0, again["total"]) and len(again["figures"]) == 2
    assert (tmp_path / "3.1.csv").read_bytes() == before
    assert run(["reproduce", "--quick", "--out", str(tmp_path), "--forecast"]) == 0
    assert f"0 of {stored}" in capsys.readouterr().out
    assert run(["reproduce", "9", "--out", str(tmp_path)]) == 2
    capsys.readouterr()
    assert run(["reproduce", "1-right", "--out", str(tmp_path)]) == 1
    assert "not drawn: 1-right" in capsys.readouterr().err
    assert run(["reproduce", "1-right", "--out", str(tmp_path), "--forecast"]) == 0
    assert "smollm2 is not present" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_stored_measurement_is_the_result_again() -> None:
    figure = FIGURES["3.4"]
    assert isinstance(figure, AttractedAttention)
    found = attract(figure.text, token=figure.row, head=figure.head, seed=0)
    plain = json.loads(found.to_json())
    assert restored(Attracted, plain).to_dict() == restored(Attracted, found.to_dict()).to_dict()


def test_the_caption_of_figure_3_3_names_its_text(tmp_path: Path) -> None:
    """A paragraph by default, or a file; the text is part of the job, so another is measured."""
    path = tmp_path / "abstract.txt"
    path.write_text("One word\n  may change everything.\n")
    default, own = FIGURES["3.3"], reproduce.with_text([FIGURES["3.3"], FIGURES["3.4"]], path)
    found: Any = SimpleNamespace(model={"name": "m"}, row=42, head=0, tokens=range(200))
    assert "a paragraph of ours (“The old bridge" in default.caption(found)
    assert "abstract.txt (“One word may change everything.”)" in own[0].caption(found)
    assert own[1] is FIGURES["3.4"] and "title" in own[1].caption(found)
    here = Sources({}, models={"minilm": "a" * 64})
    assert own[0].jobs(here)[0].key != default.jobs(here)[0].key
    for content in (b"", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"abstract\.txt"):
            reproduce.with_text([default], path)


def test_a_forecast_counts_the_cells_on_data_that_the_run_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = FIGURES["3.1"]
    assert isinstance(figure, SensitivityCurves)
    figure = replace(figure, quick_n=(5,))
    monkeypatch.setattr(reproduce, "FIGURES", {"3.1": figure, "1-left": FIGURES["1-left"]})
    monkeypatch.setenv("WORDSWAY_HOME", str(tmp_path / "home"))
    assert run(["reproduce", "all", "--quick", "--forecast", "--json", "--out", str(tmp_path)]) == 0
    cost = json.loads(capsys.readouterr().out)
    sources = Sources({192: ["gaussian", "imdb:minilm"]})
    assert cost["cells"] == cost["left"] == len(figure.jobs(sources, quick=True))
    assert cost["downloads"] == ["imdb", "minilm"]
    assert "Figure 1-left: its cells are known once minilm is downloaded" in cost["missing"]
    assert not (tmp_path / "home").exists(), "nothing is downloaded"
