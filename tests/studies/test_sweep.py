"""Means of a sweep: trials of one setting are averaged, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.stats import linregress

from jobs import Here, fake
from wordsway.cli.app import run
from wordsway.core.errors import InputError
from wordsway.engine.run import Tally
from wordsway.engine.store import Record, Store
from wordsway.engine.tables import writable
from wordsway.intervals import NOT_COMPARED, NOT_CONVERGED, not_converged_line
from wordsway.render.plot.chart import CERTIFIED
from wordsway.render.plot.pictures import view_figure
from wordsway.render.terminal import panel
from wordsway.render.views import view_of
from wordsway.studies.cells import Cell, FlipJob
from wordsway.studies.request import LearningOptions, Request
from wordsway.studies.spec import Study, parse_study
from wordsway.studies.sweep import Sweep
from wordsway.studies.tables import cells_frame
from wordsway.studies.texts import TextOptions

BASE = Request("attention", 6, 8, options={"heads": 2}, seed=1)
CORPUS = replace(BASE, data="reviews.csv")


def swept(folder: Path, records: list[Record]) -> Sweep:
    store = Store(folder / "store")
    for record in records:
        store.add(record)
    tally = Tally(total=len(records), before=0, done=len(records))
    return Sweep(Study("a study", ()), tally, folder, (), cells_frame(store))


def record(request: Request, trial: int, **more: Any) -> Record:
    cell = Cell(request, trial)
    outcome = fake(cell)
    assert outcome.outputs is not None
    return Record(cell.content | more, outcome.outputs, outcome.facts)


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, options={"heads": 4}),
        replace(BASE, options={"heads": 2, "temperature": 0.5}),
        replace(BASE, options={"heads": 2, "scores": "sigmoid"}),
        replace(BASE, options={"heads": 2, "mask": "causal"}),
        replace(BASE, options={"heads": 2, "pe": "rope"}),
        replace(BASE, options={"heads": 2, "weights": "low-rank"}),
        replace(BASE, options={"heads": 2, "residual": True}),
        replace(BASE, options={"heads": 2, "norm": "layer"}),
        replace(BASE, options={"heads": 2, "read_out": "mean"}),
        replace(BASE, radius=1.0),
        replace(BASE, effort=2.0),
        replace(BASE, certificate=False),
        replace(BASE, memory=2**30),
        replace(BASE, average=7),
        replace(BASE, positions="all"),
        CORPUS,
    ],
)
def test_settings_that_differ_are_told_apart(other: Request, tmp_path: Path) -> None:
    records = [record(each, trial) for each in (BASE, other) for trial in range(3)]
    means = swept(tmp_path, records).means()
    assert means["trials"].tolist() == [3, 3]
    assert len(set(means["mean"])) == 2


def test_ways_to_read_a_corpus_are_told_apart(tmp_path: Path) -> None:
    ways = [TextOptions(), TextOptions(padding="pad"), TextOptions(layer="last")]
    requests = [replace(CORPUS, texts=way) for way in ways]
    records = [record(each, trial) for each in requests for trial in range(2)]
    means = swept(tmp_path, records).means()
    assert dict(zip(means["texts"], means["trials"], strict=True)) == {
        "": 2,
        "layer=last": 2,
        "padding=pad": 2,
    }


def test_an_option_that_came_later_is_told_apart(tmp_path: Path) -> None:
    """Nothing lists the settings: whatever a cell's content holds is one."""
    records = [record(BASE, trial, brand_new=value) for value in "ab" for trial in range(3)]
    result = swept(tmp_path, records)
    means = result.means()
    assert means["brand_new"].tolist() == ["a", "b"] and means["trials"].tolist() == [3, 3]
    assert [row["brand_new"] for row in result.to_dict()["means"]] == ["a", "b"]


def test_seeds_and_trials_are_averaged(tmp_path: Path) -> None:
    records = [record(replace(BASE, seed=seed), trial) for seed in (1, 2) for trial in range(3)]
    means = swept(tmp_path, records).means()
    assert means["trials"].tolist() == [6]
    values = [each.outputs["lower"] for each in records]
    assert means["mean"][0] == pytest.approx(sum(values) / 6)
    names = ["map", "n", "measured", "trials", "mean", "sd", "upper", "not_converged"]
    assert list(means.columns) == names


def test_a_grid_over_heads_and_temperature(tmp_path: Path) -> None:
    """The reported case: 25 settings of two trials each were one row of 50 trials."""
    study = parse_study(
        'trials = 2\n[[grid]]\nmap = "attention"\nn = 6\nd = 16\nheads = [1, 2, 4, 8, 16]\n'
        "temperature = [0.25, 0.5, 1.0, 2.0, 4.0]"
    )
    records = [record(cell.request, cell.trial) for cell in study.cells if isinstance(cell, Cell)]
    result = swept(tmp_path, records)
    means = result.means()
    assert len(means) == 25 and set(means["trials"]) == {2}
    assert {"heads", "temperature"} <= set(means.columns)
    console = Console(width=120)
    with console.capture() as shown:
        console.print(panel(result))
    assert "temperature" in shown.get() and len(shown.get().splitlines()) > 25


def test_tables_keep_the_order_of_the_grid(tmp_path: Path) -> None:
    study = parse_study(
        'pair_by = ["scores"]\n[[grid]]\nmap = "attention"\nn = [16, 4, 8]\nd = 8\nheads = 2\n'
        'scores = ["softmax", "relu/n", "linear/n"]'
    )
    records = [Record(cell.content, fake(cell).outputs or {}, {}) for cell in study.cells]
    result = replace(swept(tmp_path, records), study=study)
    order = ["softmax", "relu/n", "linear/n"]
    assert result.means()["n"].tolist() == [4] * 3 + [8] * 3 + [16] * 3
    assert result.means()["scores"].tolist() == 3 * order
    assert result.slopes()["scores"].tolist() == order
    assert set(result.differences()["scores_first"]) == {"softmax"}
    assert result.differences()["scores"].tolist() == 3 * order[1:]


def test_cells_that_learn_beside_cells_that_measure(tmp_path: Path) -> None:
    """One store may hold both: an error is not averaged with an S."""
    found = [record(BASE, trial) for trial in range(3)]
    for trial in range(2):
        learns = FlipJob(BASE, trial, (LearningOptions(9),))
        found.append(Record(learns.content, {"flips": [{"error": 0.25}]}, {}))
    result = swept(tmp_path, found)
    means = result.means().set_index("measured")
    assert means["trials"].to_dict() == {"S": 3, "error": 2}
    assert means["mean"]["error"] == 0.25
    axes = view_figure(view_of(result)).axes
    assert {part.get_ylabel() for part in axes} == {"word sensitivity S", "error after the change"}


def test_curves_of_a_picture_are_named_by_their_settings(tmp_path: Path) -> None:
    requests = [replace(BASE, n=n, options={"heads": heads}) for heads in (2, 4) for n in (6, 12)]
    result = swept(tmp_path, [record(each, trial) for each in requests for trial in range(2)])
    labels = view_figure(view_of(result)).axes[0].get_legend_handles_labels()[1]
    curves = [label for label in labels if label != CERTIFIED]
    assert curves == ["heads 2", "heads 4"]


def test_searches_that_did_not_converge_are_counted(tmp_path: Path) -> None:
    records = [record(BASE, trial) for trial in range(3)]
    statuses = ["converged", NOT_CONVERGED, NOT_CONVERGED]
    for each, status in zip(records, statuses, strict=True):
        each.outputs["status"] = status
    result = swept(tmp_path, records)
    assert result.not_converged == 2 == result.means()["not_converged"][0]
    said = shown(result)
    assert "2 of 3 searches did not converge: effort = 4 in the grid" in said
    assert "one group of starts" not in said


def test_advice_names_a_higher_effort_and_counts_searches_of_one_group(tmp_path: Path) -> None:
    records = [record(replace(BASE, effort=4.0), trial) for trial in range(3)]
    for each, status in zip(records, (NOT_COMPARED, NOT_CONVERGED, NOT_COMPARED), strict=True):
        each.outputs["status"] = status
    said = shown(swept(tmp_path, records))
    assert "3 of 3 searches did not converge at effort 4" in said and "effort = 4 in" not in said
    assert "2 of these had one group of starts" in said


def test_the_basis_of_certificates_and_the_rows_are_named(tmp_path: Path) -> None:
    records = [record(replace(BASE, n=n), trial) for n in (4, 6, 8) for trial in range(2)]
    for place, each in enumerate(records):
        each.outputs["certificate"] = "float64" if place < 4 else "1 − 1e-9"
    assert "certified: float64 in 4 cells (n = 4 … 6)\n" in shown(swept(tmp_path, records[:4]))
    result = swept(tmp_path / "b", records)
    bases = "certified: 1 − 1e-9 in 2 cells (n = 8), float64 in 4 cells (n = 4 … 6)"
    assert bases in shown(result)
    assert "a study, attention, d = 8, row 0: means of S over trials" in shown(result)
    title = view_figure(view_of(result)).axes[0].get_title().replace("\n", " ")
    assert title.startswith("a study, attention, d = 8, row 0") and "1 − 1e-9 in 2 cells" in title


def test_pictures_of_many_settings_tell_bounds_and_bands_apart(tmp_path: Path) -> None:
    records = []
    for effort in range(1, 9):
        for n, S in ((4, 3.0), (8, 1.0), (16, 0.4), (32, 0.15)):
            for trial in range(2):
                records.append(record(replace(BASE, n=n, effort=effort / 8), trial))
                records[-1].outputs.update(lower=S * (1 + 0.02 * trial), upper=1.1 * S)
    axes = view_figure(view_of(swept(tmp_path, records))).axes[0]
    thin = [line.get_linestyle() for line in axes.lines if line.get_label() == CERTIFIED]
    assert thin == ["-"] * 6 + ["--"] * 2
    assert len(axes.collections) == 8, "a band for each curve"
    legend = axes.get_legend()
    assert legend is not None and len(legend.get_texts()) == 9
    low, top = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= top]
    assert min(ticks) < 0.15 and max(ticks) > 3.0


def test_maps_of_users_have_the_name_of_their_function(tmp_path: Path) -> None:
    requests = [replace(BASE, n=n, options={"heads": h}) for h in (2, 4) for n in (4, 6, 8)]
    result = swept(tmp_path, [record(each, 0) for each in requests])
    result = replace(result, cells=result.cells.assign(map="mine.maps:Cauchy"))
    assert "a study, Cauchy, d = 8" in shown(result) and "mine.maps" not in shown(result)
    assert result.means()["map"].unique().tolist() == ["mine.maps:Cauchy"]


def test_tables_of_an_interrupted_sweep_say_how_many_cells_they_have(tmp_path: Path) -> None:
    whole = swept(tmp_path, [record(replace(BASE, n=n), 0) for n in (4, 6, 8)])
    assert whole.complete and ": 3 of 3 cells" not in shown(whole)
    tally = replace(whole.tally, total=9, interrupted=True)
    part = replace(whole, tally=tally)
    assert not part.complete and not part.to_dict()["complete"]
    assert shown(part).count(": 3 of 9 cells") == 2, "means and slopes"
    assert "fewer than 10 trials have every n" in shown(part)
    short = swept(tmp_path / "short", [record(replace(BASE, n=n), 0) for n in (4, 6)])
    with pytest.raises(InputError, match=r"2 of 9 cells: run it again"):
        replace(short, tally=replace(short.tally, total=9, interrupted=True)).slopes()


def test_tables_without_a_cell_say_so(tmp_path: Path) -> None:
    tally = Tally(total=9, before=0, interrupted=True)
    empty = replace(swept(tmp_path, []), study=Study("a study", (), ("heads",)), tally=tally)
    assert empty.means().empty and shown(empty) and empty.to_dict()["differences"] == []
    for table in (empty.differences, empty.slopes, empty.variance):
        with pytest.raises(InputError, match=r"0 of 9 cells: run it again to resume"):
            table()


def test_the_default_objective_has_its_name(tmp_path: Path) -> None:
    requests = (BASE, replace(BASE, objective="largest-row"))
    means = swept(tmp_path, [record(each, 0) for each in requests]).means()
    assert means["objective"].tolist() == ["frobenius", "largest-row"]


@pytest.mark.parametrize("certified", [True, False])
@pytest.mark.parametrize("effort", ["effort=4 in Python", "effort = 4 in the grid"])
@pytest.mark.parametrize(("loose", "total"), [(1, 1), (1, 2), (59, 168), (1234, 4096)])
def test_searches_take_two_lines(loose: int, total: int, effort: str, certified: bool) -> None:
    assert len(wrap(not_converged_line(loose, total, effort, certified=certified), 80)) <= 2


def test_both_ends_of_an_interval_are_shown_or_neither(tmp_path: Path) -> None:
    records = [
        record(replace(BASE, n=n, options={"heads": heads}), trial)
        for n in (4, 6, 8)
        for heads in (1, 2)
        for trial in range(3)
    ]
    result = swept(tmp_path, records)
    result = replace(result, study=replace(result.study, pair_by=("heads",)))
    for width in range(50, 170, 10):
        text = shown(result, width)
        assert width < 80 or "not shown: certified, these" not in text, "left out after errors"
        assert not re.search(r"\b(low|high|certified_(low|high))\b", text)
    assert "certified, these draws" in text, "those of slopes also count sampling error"
    row = result.slopes().iloc[0]
    ends = [text.split(", ") for text in re.findall(r"\[(-?\d[^]]*)\]", shown(result))]
    low, high = row["certified_low"], row["certified_high"]
    assert any(
        float(one) <= low <= float(one) + 0.01 and float(two) - 0.01 <= high <= float(two)
        for one, two in ends
    ), "rounded outwards"


def test_an_undecided_law_is_none_in_every_table(tmp_path: Path) -> None:
    """pandas would make it NaN next to a name."""
    records = []
    for heads, curve in ((1, [1.0, 0.5, 0.25]), (2, [1.0, 0.5, 0.3])):
        for n, S in zip((4, 8, 16), curve, strict=True):
            for trial in range(12 if heads == 1 else 3):
                records.append(record(replace(BASE, n=n, options={"heads": heads}), trial))
                records[-1].outputs["lower"] = S * (1 + 0.001 * trial)
    result = swept(tmp_path, records)
    assert result.slopes()["law"].tolist() == ["power", None]
    assert [row["law"] for row in result.to_dict()["slopes"]] == ["power", None]


def test_slopes_have_a_standard_error(tmp_path: Path) -> None:
    result = swept(tmp_path, [record(replace(BASE, n=n), 0) for n in (4, 6, 8)])
    row = result.slopes().iloc[0]
    expected = linregress(np.log([4, 6, 8]), np.log(result.means()["mean"])).stderr
    assert row["error"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("curve", "line"), [([1.0, 0.5, 0.25], True), ([1.0, 0.9, 0.2], False)], ids=["line", "curve"]
)
def test_a_curve_is_not_taken_for_a_rate(curve: list[float], line: bool, tmp_path: Path) -> None:
    """Three trials of a spread of ± 2 % at n = 4, 8, 16."""
    records = []
    for n, S in zip((4, 8, 16), curve, strict=True):
        for trial, factor in enumerate((0.98, 1.0, 1.02)):
            records.append(record(replace(BASE, n=n), trial))
            records[-1].outputs["lower"] = S * factor
    result = swept(tmp_path, records)
    assert (result.slopes()["line_p"][0] > 0.05) == line
    said = " ".join(shown(result).split())
    assert ("not a line in log n" not in said) == line
    assert "average over the measured n (4 … 16), not a rate" in said
    assert "no bend was detected" in said and "loose certificates widen it" in said


def test_a_note_on_laws_is_shown_with_its_column(tmp_path: Path) -> None:
    records = [
        record(replace(BASE, n=n, options={"heads": heads}), trial)
        for n in (4, 6, 8)
        for heads in (2, 4)
        for trial in range(2)
    ]
    result = swept(tmp_path, records)
    assert "law " in shown(result) and "undecided" in shown(result)
    narrow = shown(result, 60)
    assert "not shown:" in narrow and "undecided" not in narrow
    assert "measured  " not in shown(result, 80), "it has one value"


def test_a_folder_for_results_is_not_named_like_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"grid\.html: pass a folder, such as --out \S*grid"):
        writable(tmp_path / "my" / "grid.html")
    assert not (tmp_path / "my").exists()
    for name in ("run-v0.3", "scale=0.5"):
        assert writable(tmp_path / name).is_dir()


def test_the_command_draws_the_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[[grid]]\nmap = "raf"\nn = [3, 4]\nd = 4\neffort = 0.1\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wordsway.engine.run.LocalWorkers", lambda *_: Here())
        assert run(["sweep", str(grid), "--out", str(tmp_path / "out")]) == 0
    picture = tmp_path / "out" / "sweep.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"picture: {picture}" in capsys.readouterr().err


def shown(result: Sweep, width: int = 160) -> str:
    console = Console(width=width)
    with console.capture() as printed:
        console.print(panel(result))
    return printed.get()
