"""Every number has its sentence, and a model its verdict."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from benchmarks import league
from examples import audit
from wordsway.auditing.result import EXPLAINED, REWORDING, ModelAudit
from wordsway.auditing.retrieval import Retrieval
from wordsway.auditing.scores import KindScore
from wordsway.auditing.table import LONGEST, read_table
from wordsway.core.errors import InputError
from wordsway.render.views.audit import few_texts, verdict


@pytest.mark.parametrize(("of", "names"), [(KindScore, {"kind"}), (Retrieval, {"kind", "role"})])
def test_every_number_is_explained(of: type, names: set[str]) -> None:
    ends = {"queries", "stays_low", "stays_high"}
    told = {field.name for field in fields(of)} - names - ends
    assert told <= set(EXPLAINED)
    assert audit("a text").to_dict()["explained"] == EXPLAINED


def _with(*kinds: tuple[str, float, float, float]) -> ModelAudit:
    model = audit("a text").models[0]
    scores = [
        replace(model.kinds[0], kind=kind, auc=auc, low=low, high=high)
        for kind, auc, low, high in kinds
    ]
    return replace(model, kinds=tuple(scores))


def test_the_verdict_names_the_best_and_the_worst_kind() -> None:
    said = verdict(
        _with(("modals", 0.6, 0.45, 0.7), ("names", 0.98, 0.9, 1), ("units", 0.9, 0.8, 1))
    )
    assert said.startswith("reacts more than to a harmless edit in 83 of 100 comparisons")
    assert "Most often: names (0.98); least often: modals (0.60, which may be chance)" in said
    assert said.endswith(REWORDING) and REWORDING in EXPLAINED["auc"]
    assert "Most often" not in verdict(_with(("modals", 0.9, 0.8, 1), ("names", 0.9, 0.8, 1)))
    assert "less than by chance" in verdict(_with(("units", 0.2, 0.1, 0.3)))
    assert "chance" not in verdict(_with(("units", 0.9, 0.8, 0.97)))


def test_a_few_texts_are_no_proof() -> None:
    found = audit("a text")
    assert few_texts(found) == ""
    model = replace(
        found.models[0], kinds=(replace(found.models[0].kinds[0], kind="units", texts=2),)
    )
    assert few_texts(replace(found, models=(model,))).endswith("the sentence above: units (2).")
    assert verdict(model) == "fewer than 20 texts of every kind, too few for a statement."
    both = replace(model, kinds=(*found.models[0].kinds, replace(model.kinds[0], auc=0.0)))
    assert "units" not in verdict(both)


def test_an_endless_line_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text(f"one text\n{'x ' * LONGEST}\n\n   \nanother\r\nlast", "utf-8")
    table = read_table(path)
    assert table.texts == ((1, "one text"), (5, "another"), (6, "last"))
    assert [(one.row, one.reason) for one in table.refused] == [
        (2, f"a text of {2 * LONGEST:,} characters, more than {LONGEST:,}")
    ]
    path.write_text("\n\n", "utf-8")
    with pytest.raises(InputError, match="an empty file"):
        read_table(path)


def test_the_tables_of_the_docs_are_read_off_an_audit() -> None:
    found = league.text(json.loads(audit("a text").to_json()))
    assert "| negation a text | 0.71 (0.65–0.77), 28 % |" in found and "40 of a kind" in found
    assert "| 0.45 0.71 | 0.44 (0.35–0.53) |" in found
