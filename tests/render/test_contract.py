"""Every result in every medium: the contract that a new one inherits by a line in `EXAMPLES`."""

from __future__ import annotations

import csv
import io
import json
import pkgutil
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import isabstract
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import pandas
import pytest
from rich.console import Console

import wordsway
from examples import EXAMPLES, PLAIN, WORDS, Example
from numbers_in import numbers_in_data, numbers_in_figure, numbers_in_text, says
from pages import HARMFUL, HOSTILE, Page, printed
from wordsway.core.errors import InputError
from wordsway.core.escape import csv_cell
from wordsway.core.result import Result, SequenceResult
from wordsway.data.fetch import Catalogue
from wordsway.engine.forecast import SweepForecast
from wordsway.maps.proof import Verification
from wordsway.paper.reproduce import Reproduction
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison
from wordsway.probing.results import Words
from wordsway.render import blocks as b
from wordsway.render import files, tables
from wordsway.render.files import WRITERS, save
from wordsway.render.html import page
from wordsway.render.plot import figure
from wordsway.render.terminal import render
from wordsway.studies.forecast import Forecast
from wordsway.studies.sweep import Sweep

TEXTS = {
    "plain": PLAIN,
    "hostile": HOSTILE.replace("\ud800", ""),
    "markup": '[/b] [link=x]y[/link] =HYPERLINK("x") +1+1 @SUM(1) -2+3 \tcmd|x',
    "long": " ".join(["one two three four five six"] * 30),
}
FORBIDDEN_TAGS = {"img", "link", "iframe", "object", "embed", "base", "form", "video", "image"}
KINDS = pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
HARMFUL_TEXTS = pytest.mark.parametrize("name", ["hostile", "markup"])
#: Results without a picture.
UNDRAWN = (Verification, Forecast, SweepForecast, Reproduction, Catalogue)
#: Pictures take long to draw: every other result is drawn as SVG, and one with bars, matrices,
#: texts and curves each as PNG and PDF.
DRAWN = (Words, Attracted, Comparison, Sweep)
PICTURES = (".svg", ".png", ".pdf")
FILES = pytest.mark.parametrize(
    ("kind", "ending"),
    [
        pytest.param(kind, ending, id=f"{kind.__name__}-{ending}")
        for kind in EXAMPLES
        for ending in WRITERS
        if ending not in PICTURES or kind in DRAWN or (ending == ".svg" and kind not in UNDRAWN)
    ],
)


def every_result() -> set[type[Result]]:
    """All results of the package, wherever they are defined."""
    for module in pkgutil.walk_packages(wordsway.__path__, "wordsway."):
        if not module.name.endswith("__main__"):
            import_module(module.name)

    def below(kind: type[Result]) -> Iterator[type[Result]]:
        for child in kind.__subclasses__():
            ours = child.__module__.startswith("wordsway.") and child is not SequenceResult
            if ours and not isabstract(child):
                yield child
            yield from below(child)

    return set(below(Result))


@pytest.mark.slow
def test_every_result_has_an_example() -> None:
    missing = {kind.__name__ for kind in every_result() - set(EXAMPLES)}
    assert not missing, "add a line to EXAMPLES in tests/support/examples.py"


def made(kind: type[Result], name: str = "plain") -> Result:
    return EXAMPLES[kind].make(TEXTS[name])


# The same numbers everywhere


def views(result: Result) -> dict[str, list[float]]:
    """What every medium says."""
    found = {
        "terminal, 80 columns": numbers_in_text(printed(result, 80)),
        "terminal, 120 columns": numbers_in_text(printed(result, 120)),
        "notebook": numbers_in_text(" ".join(Page(result._repr_html_()).read)),
        "page": numbers_in_text(" ".join(Page(page(result)).read)),
        "json": numbers_in_data(json.loads(result.to_json())),
    }
    drawn = {} if isinstance(result, UNDRAWN) else {"picture": numbers_in_figure(figure(result))}
    return found | drawn


@KINDS
def test_every_medium_says_the_same_numbers(kind: type[Result]) -> None:
    example: Example = EXAMPLES[kind]
    for medium, numbers in views(made(kind)).items():
        missing = [wanted for wanted in example.shown if not says(numbers, wanted)]
        assert not missing, medium


@KINDS
def test_files_hold_the_same_numbers(kind: type[Result], tmp_path: Path) -> None:
    result = made(kind)
    exact = json.loads(result.to_json())
    assert json.loads(save(result, tmp_path / "a.json").read_text("utf-8")) == exact
    document = save(result, tmp_path / "a.html").read_text("utf-8")
    pattern = r'<script type="application/json" id="result">(.*?)</script>'
    (data,) = re.findall(pattern, document, flags=re.DOTALL)
    assert json.loads(data) == exact
    frame = result.frame()
    back = pandas.read_parquet(save(result, tmp_path / "a.parquet"))
    pandas.testing.assert_frame_equal(back, frame, check_dtype=False)
    text = save(result, tmp_path / "a.csv").read_text("utf-8")
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == len(frame) + 1
    numbers = [float(cell) for row in rows for cell in row if _is_number(cell)]
    assert not [wanted for wanted in EXAMPLES[kind].tabled if not says(numbers, wanted)]


# Hostile text is harmless


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize(
    ("name", "width"), [("plain", 120), ("hostile", 80), ("markup", 120), ("long", 80)]
)
def test_the_terminal_is_not_driven_and_fits(kind: type[Result], name: str, width: int) -> None:
    result = made(kind, name)
    for colours in (False, True):
        drawn = printed(result, width, colours=colours)
        assert "\x1b]8" not in drawn, "a link that markup made"
        view = re.sub("\x1b\\[[0-9;]*m", "", drawn)
        assert not HARMFUL.search(view)
        wide = Console(width=999)
        lines = view.replace("[", "(").splitlines()
        assert all(wide.measure(line).maximum <= width for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_numbers_are_never_cut(width: int) -> None:
    """A column of numbers is shown whole, or left out and named."""
    columns = [b.Column("model", "text"), *(b.Column(f"number {at:02}") for at in range(12))]
    table = b.Table(columns, [["a model", *(f"0.12345 ({at:02})" for at in range(12))]])
    drawn = " ".join(printed(render([table]), width).split())
    for at in range(12):
        left_out = f"number {at:02}" in drawn.partition("not shown:")[2]
        assert (f"0.12345 ({at:02})" in drawn) != left_out
    assert ("not shown" in drawn) == (width < 200)


def test_texts_are_cut_before_numbers() -> None:
    columns = [b.Column("map", "text"), b.Column("setting", "text"), *map(b.Column, "abcd")]
    table = b.Table(columns, [["a module:its function", "all of it", *["0.12345"] * 4]])
    for width in range(61, 69):
        lines = printed(render([table]), width).splitlines()
        assert lines[1].split()[-4:] == ["0.12345"] * 4
    assert lines[1].startswith("a module:its function  all of it  ")


@KINDS
def test_markup_is_text(kind: type[Result]) -> None:
    """A word "[/b]" neither raises nor vanishes, in a terminal or in a page."""
    result = made(kind, "markup")
    shown = printed(result, 120)
    assert "[/b]" in shown
    for document in (result._repr_html_(), page(result)):
        assert "[/b]" in "".join(Page(document).read)


@pytest.mark.slow
@KINDS
@HARMFUL_TEXTS
def test_html_is_well_formed_and_harmless(kind: type[Result], name: str) -> None:
    result = made(kind, name)
    for document, scripts in ((result._repr_html_(), 0), (page(result), int(kind is Words))):
        assert not HARMFUL.search(document)
        read = Page(document)
        assert read.open == []
        assert not {tag for tag, _ in read.tags} & FORBIDDEN_TAGS
        assert not [key for _, attributes in read.tags for key in attributes if key[:2] == "on"]
        running = [
            attributes
            for tag, attributes in read.tags
            if tag == "script" and attributes.get("type") != "application/json"
        ]
        assert len(running) == scripts
        assert not read.attributes("src")
        visible = re.sub(r'<script type="application/json".*?</script>', "", document, flags=re.S)
        style = "".join(re.findall(r'style="[^"]*"|<style>.*?</style>', visible, flags=re.S))
        assert not re.search(r"https?:|url\((?!#)|@import", style)
        assert all(re.match(r"#|[\w.-]+$", href) for href in read.attributes("href"))


@KINDS
@HARMFUL_TEXTS
def test_no_cell_is_computed(kind: type[Result], name: str, tmp_path: Path) -> None:
    """Neither a cell nor a column's name of a CSV file begins like a formula, unless it is a
    number.
    """
    text = save(made(kind, name), tmp_path / "a.csv").read_text("utf-8")
    for row in csv.reader(io.StringIO(text)):
        for cell in row:
            assert csv_cell(cell) == cell or cell.startswith("'")
            assert not re.match(r"\s*[=+@＝＋－＠].", cell) or _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Files


def test_a_result_without_a_picture_is_not_drawn(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a result with a picture"):
        made(Forecast).save(tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@FILES
def test_files_are_whole_and_equal_results_give_equal_bytes(
    kind: type[Result], ending: str, tmp_path: Path
) -> None:
    """Whatever the user has set: the second picture is drawn under other rcParams."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = save(made(kind, "hostile"), tmp_path / "new" / f"a{ending}")
        with matplotlib.rc_context({"font.size": 22, "axes.grid": True, "figure.dpi": 40}):
            second = made(kind, "hostile").save(str(tmp_path / f"b{ending.upper()}"))
    content = first.read_bytes()
    assert content == second.read_bytes()
    left = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert left == [f"a{ending}", f"b{ending.upper()}"]
    starts = {".html": b"<!do", ".png": b"\x89PNG", ".pdf": b"%PDF", ".parquet": b"PAR1"}
    assert content.startswith(starts.get(ending, b""))
    if ending == ".svg":
        tags = {tag.tag.rpartition("}")[2] for tag in ElementTree.fromstring(content).iter()}
        assert "text" in tags, "letters stay letters"
        assert not tags & {"script", "foreignObject", "a"}
        assert not HARMFUL.search(content.decode())


@pytest.mark.parametrize("ending", WRITERS)
def test_a_failure_leaves_the_old_file(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"old")

    class Failing:
        @staticmethod
        def save(result: Result, unfinished: Path, kind: str) -> None:
            unfinished.write_bytes(b"half")
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "medium", lambda name: Failing)
    with pytest.raises(InputError, match="No space left on device"):
        save(made(Words), path)
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_other_endings_and_places_are_refused(tmp_path: Path) -> None:
    result = made(Words)
    with pytest.raises(InputError, match=r"\.html, \.svg, \.png, \.pdf, \.json, \.csv, \.parquet"):
        save(result, tmp_path / "a.docx")
    for name in ("html", "a\0.json"):
        with pytest.raises(InputError, match="ends in"):
            save(result, tmp_path / name)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="in its way, or choose another folder"):
        save(result, tmp_path / "file" / "a.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="in its way, or choose another folder"):
        save(result, tmp_path / "folder.json")


# The object itself


@KINDS
def test_repr_is_short(kind: type[Result]) -> None:
    for name in TEXTS:
        shown = repr(made(kind, name))
        assert shown.startswith(f"{kind.__name__}(") and len(shown) <= 160
        assert not HARMFUL.search(shown)


@KINDS
def test_sequences_are_their_items(kind: type[Result]) -> None:
    result: Any = made(kind)
    if isinstance(result, SequenceResult):
        items = getattr(result, kind._items)  # type: ignore[attr-defined]
        assert len(result) == len(items) and list(result) == list(items)
        assert result[0] is items[0] and result[-1] is items[-1] and bool(result)


# What nobody wrote a view for


@dataclass(frozen=True)
class Unseen(Result):
    """A result of somebody else's."""

    word: str
    table: bool = True

    def to_dict(self) -> dict[str, Any]:
        return {"word": self.word, "value": 0.4567}

    def frame(self) -> pandas.DataFrame:
        if not self.table:
            return super().frame()
        return pandas.DataFrame([{f"word {self.word}": self.word, "value": 0.4567}] * 50)


@pytest.mark.parametrize(
    ("word", "table"), [("plain", False), *((word, True) for word in ("plain", *WORDS))]
)
def test_a_result_without_a_view_is_a_table(word: str, table: bool, tmp_path: Path) -> None:
    result = Unseen(word, table)
    shown = printed(result, 80)
    assert "Unseen" in shown and "0.4567" in shown and not HARMFUL.search(shown)
    assert "0.4567" in "".join(Page(result._repr_html_()).read)
    assert Page(page(result)).open == []
    if table:
        tables.save(result, tmp_path / "a.csv", "csv")
        heads = next(csv.reader((tmp_path / "a.csv").open(encoding="utf-8")))
        assert not heads[0].startswith("=")


# Nothing global


def run_python(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_importing_and_drawing_changes_nothing_global(tmp_path: Path) -> None:
    run_python(f"""
import importlib, pkgutil, sys, warnings, logging
import matplotlib
matplotlib.use("svg")
matplotlib.rcParams["font.size"] = 17
before, filters = dict(matplotlib.rcParams), list(warnings.filters)
import wordsway, wordsway.render
for module in pkgutil.walk_packages(wordsway.render.__path__, "wordsway.render."):
    importlib.import_module(module.name)
from wordsway.core.chart import Chart, Curve, Panel
for ending in ("png", "svg", "pdf"):
    Chart([Panel("x", [Curve("y", [1, 2], [3, 4])])]).save({str(tmp_path)!r} + "/a." + ending)
assert matplotlib.get_backend() == "svg"
assert dict(matplotlib.rcParams) == before
assert "matplotlib.pyplot" not in sys.modules
""")


@pytest.mark.slow
def test_a_view_loads_only_what_it_shows() -> None:
    run_python("""
import sys
import wordsway.render.plot, wordsway.render.html, wordsway.render.terminal
import wordsway.render.views.words
assert not {"wordsway.studies", "wordsway.paper"} & set(sys.modules)
""")


def test_a_table_needs_no_view_and_no_picture() -> None:
    run_python("""
import sys
import wordsway.render.files
assert not {"matplotlib", "rich", "pandas"} & set(sys.modules)
""")
