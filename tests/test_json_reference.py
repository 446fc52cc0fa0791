"""docs/reference/json.md names every field of the JSON of every command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas
import pytest

from examples import EXAMPLES, PLAIN
from experiment_examples import sweep, tally
from tools.dist import ROOT
from wordsway.auditing.pairs import Pairs
from wordsway.auditing.result import Audit
from wordsway.core.chart import Chart
from wordsway.core.result import Result
from wordsway.data.fetch import Catalogue
from wordsway.engine.forecast import SweepForecast
from wordsway.intervals import Sensitivity
from wordsway.learning.results import FlipResult
from wordsway.lengths.result import Length
from wordsway.maps.proof import Verification
from wordsway.paper.reproduce import Reproduction
from wordsway.probing.attention import AttentionMaps
from wordsway.probing.attract import Attracted
from wordsway.probing.compare import Comparison
from wordsway.probing.corpus import CorpusWords
from wordsway.probing.results import Swaps, Words
from wordsway.studies.flips import FlipTrials
from wordsway.studies.forecast import Forecast
from wordsway.studies.measure import Measurement
from wordsway.studies.spec import Study
from wordsway.studies.sweep import Sweep

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
#: The result of each command, and the lists in it whose records the page describes in full.
COMMANDS: dict[str, tuple[type[Result], list[str]]] = {
    "measure": (Measurement, ["trials", "trials.words"]),
    "sweep": (Sweep, ["means"]),
    "verify": (Verification, []),
    "learn": (FlipTrials, []),
    "words": (Words, ["words"]),
    "swap": (Swaps, ["swaps"]),
    "audit": (
        Audit,
        ["refused", "models"]
        + [f"models.{name}" for name in ("kinds", "thresholds", "overlap", "blind_spots")]
        + [f"models.{name}" for name in ("retrieval", "same_answers", "failed", "flips")],
    ),
    "pairs": (Pairs, ["pairs", "pairs.models", "kinds", "refused"]),
    "length": (Length, []),
    "compare": (Comparison, ["layers"]),
    "attention": (AttentionMaps, ["texts"]),
    "attract": (Attracted, []),
    "corpus": (CorpusWords, []),
    "reproduce": (Reproduction, ["findings"]),
}
#: Results whose JSON may change.
OTHERS = {Sensitivity, FlipResult, Forecast, SweepForecast, Catalogue, Chart}


def named(command: str) -> set[str]:
    """The names in the row of a command, and those of all results above the table."""
    (row,) = re.findall(rf"^\| `{command}` \|.*$", PAGE, re.MULTILINE)
    start = PAGE.index("| command |")
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", PAGE[:start] + row))))


def records(document: Any, path: str) -> list[dict[str, Any]]:
    """The records at a path such as ``pairs.models``."""
    found = [document]
    for name in path.split(".") if path else []:
        found = [entry for one in found for entry in one[name]]
    return found


def test_every_result_is_on_the_page_or_may_change() -> None:
    assert {kind for kind, _ in COMMANDS.values()} | OTHERS == set(EXAMPLES)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_field(command: str) -> None:
    kind, lists = COMMANDS[command]
    document = json.loads(EXAMPLES[kind].make(PLAIN).to_json())
    known = named(command)
    for path in ["", *lists]:
        fields = set().union(*records(document, path))
        fields = {re.sub(r"^(average|real)_(?!words).*", r"\1_mean", name) for name in fields}
        assert fields <= known, f"{command} {path}: {sorted(fields - known)}"


def test_the_tables_of_a_sweep_have_every_field_and_null_where_there_is_no_number(
    tmp_path: Path,
) -> None:
    rows = [
        {
            "key": f"{n} {warm} {trial}",
            "map": "raf",
            "n": n,
            "temperature": warm,
            "seed": 0,
            "trial": trial,
            "status": "converged",
        }
        | {"lower": warm * (1 + trial / 9) / n, "upper": None}
        for n in (4, 8, 16)
        for warm in (1.0, 2.0)
        for trial in range(2)
    ]
    study = Study("warm", (), ("temperature",))
    found = Sweep(study, tally(), tmp_path, (), pandas.DataFrame(rows)).to_dict()
    known = named("sweep") | {"temperature", "temperature_first"}
    for name in ("means", "slopes", "differences"):
        assert found[name] and all(row.keys() <= known for row in found[name])
    for row in found["slopes"]:
        assert row["floor_error"] is row["law"] is row["certified_low"] is None
    for row in found["differences"]:
        assert row["certified_high"] is None and row["difference"] > 0


def test_a_paired_sweep_with_one_setting_has_no_differences() -> None:
    found = sweep(PLAIN)
    one = Sweep(Study("one", (), ("temperature",)), tally(), found.folder, (), found.cells)
    assert one.to_dict()["differences"] == []
