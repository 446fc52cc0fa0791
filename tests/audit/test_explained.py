"""Every number has its sentence, and a model its verdict."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.text import Text

from benchmarks import leaderboard
from examples import audit
from wordsway.auditing.edits.edit import Edit
from wordsway.auditing.result import ModelAudit, verdict
from wordsway.auditing.scores import (
    LevelScore,
    Measured,
    OverlapBin,
    intervals,
)
from wordsway.auditing.table import LONGEST, read_table
from wordsway.core.chart import Chart
from wordsway.core.errors import InputError
from wordsway.render.blocks import Fold, Span, Table
from wordsway.render.numbers import whole_percent
from wordsway.render.terminal import _cut
from wordsway.render.views.audit import audit_view, best_sentence, few_texts


def level(score: float, texts: int = 100) -> LevelScore:
    shares = np.array([[1.0]] * round(score * texts) + [[0.0]] * round((1 - score) * texts))
    (one,) = intervals(shares)
    return LevelScore(texts, one.auc, one.low, one.high, 0.5, ())


def model(name: str = "m", **scores: float) -> ModelAudit:
    """A model of one kind, without labels, with scores by level."""
    found = audit("a text").models[0]
    levels = {one: level(score) for one, score in scores.items()}
    kinds = (replace(found.kinds[0], levels=levels),)
    return replace(found, name=name, levels=levels, kinds=kinds, flips=())


def test_the_sentence_about_a_classifier_is_about_its_labels() -> None:
    """Large distances of logits are no praise for a classifier whose label never changes."""
    stuck = replace(audit("a text").models[0].flips[0], flips=0.0, low=0.0, high=0.1)
    said = verdict(replace(model(small=1.0, rewording=1.0), flips=(stuck,)))
    assert "labels that change where expected: negation a text 0 of 40" in said
    assert "tracks" not in said and "reacts" not in said


def test_the_sentence_about_the_issue_s_model() -> None:
    """The same model, as version 0.2.0 praised it and as it is."""
    beside = [model("word overlap", rewording=0.1)]
    said = verdict(model(small=0.91, rewording=0.12), beside)
    for part in ("0.91", "does not track the meaning", "12 of 100", "baselines 10"):
        assert part in said


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"small": 0.9, "rewording": 0.9}, "and tracks the meaning more often than not"),
        ({"small": 0.9, "rewording": 0.5}, "may or may not track the meaning"),
        ({"small": 0.5, "rewording": 0.1}, "does not react more to the word than to a harmless"),
        ({"rewording": 0.1}, "does not track the meaning"),
        ({"small": 0.9}, "No text has a rewording, so this says little about meaning."),
    ],
)
def test_a_sentence_says_what_the_intervals_allow(scores: dict[str, float], said: str) -> None:
    found = verdict(model("m", **scores))
    assert said in found
    assert ("only" in found) == (scores.get("rewording", 1) < 0.4)


def test_a_number_is_rounded_in_one_way() -> None:
    """0.225 was "22 of 100 comparisons" in the sentence and 0.23 in the table."""
    found = replace(model(), levels={"rewording": level(0.225, 200)})
    assert "23 of 100" in verdict(found) and "0.23 (" in f"{found.levels['rewording']:.2f}"
    assert whole_percent(22.5) == "23 %"
    beside = [model("word overlap", rewording=one) for one in (0.0, 0.125)]
    said = verdict(model(rewording=0.0), beside)
    assert "in none of 100 comparisons" in said and "baselines 0 to 12 of 100)" in said


def test_no_threshold_is_better_than_accepting_everything() -> None:
    best = {"threshold": 0.5, "accepted_changes": 1.0, "rejected_rewordings": 0.0, "sum": 1.0}
    assert best_sentence(best).endswith("than one that accepts everything.")


def test_the_best_and_the_worst_kind_are_named() -> None:
    found = model(rewording=0.5)
    kinds = [
        replace(found.kinds[0], kind=kind, levels={"rewording": level(score, texts)})
        for kind, score, texts in (("names", 0.9, 50), ("units", 0.1, 50), ("modals", 1.0, 10))
    ]
    said = verdict(replace(found, kinds=tuple(kinds)))
    assert said.endswith("Most often: names (0.90); least often: units (0.10).")


def test_a_few_texts_are_no_proof() -> None:
    found = audit("a text")
    assert few_texts(found) == ""
    few = {"small": level(0.5, 2)}
    kinds = (replace(found.models[0].kinds[0], kind="u", levels=few),)
    one = replace(found.models[0], kinds=kinds, flips=())
    assert few_texts(replace(found, models=(one,))).endswith("the sentences above: u (2).")
    assert "20 texts or more are needed" in verdict(replace(one, levels=few))
    beside = [model(rewording=0.0), model(rewording=0.25)]
    few["rewording"] = level(0.25, 12)
    assert verdict(replace(one, levels=few), beside) == (
        "places a rewording closer than the change in 0.25 (0.08 to 0.54) of comparisons on 12 "
        "texts (baselines 0.00 to 0.25). 20 texts or more are needed for a firm statement."
    )
    assert "No text has a rewording" not in verdict(replace(one, levels=few | {"small": level(1)}))


def reacting(count: int) -> ModelAudit:
    """A model that reacts more to the change than to a harmless edit in ``count`` of 100 texts."""
    edits = (
        Edit("It is good.", 6, "good", "bad", "antonyms", "turning"),
        Edit("It is good.", 6, "good", "fine", "synonyms", "keeping"),
    )
    effect = audit("a text").models[0].measured[0].changes[0]
    harmless = replace(effect, value=0.5)
    found = [
        Measured(str(at), "It is good.", edits, (replace(effect, value=moved), harmless))
        for at, moved in enumerate([1.0] * count + [0.0] * (100 - count))
    ]
    return replace(model(small=count / 100, rewording=0.1), measured=tuple(found))


def test_a_model_reacts_to_the_word_only_beyond_its_baselines() -> None:
    assert verdict(reacting(90), [reacting(60)]).startswith("reacts to the word (0.90")
    assert verdict(reacting(63), [reacting(44), reacting(65)]).startswith(
        "reacts to the word, but not clearly more than the baselines do (0.63 against harmless "
        "edits; baselines 0.44 to 0.65) and does not track the meaning"
    )


def test_the_baselines_of_another_model_do_not_count() -> None:
    one, twin = (
        replace(reacting(90), name="one"),
        replace(reacting(60), name="one:random", of="one"),
    )
    other = replace(reacting(95), name="other:random", of="other")
    found = replace(audit("a text"), models=(one,), baselines=(twin, other))
    assert found.verdict(one) == verdict(one, [twin]) != verdict(one, [twin, other])


@pytest.mark.parametrize(("texts", "points"), [((5, 4), [1]), ((4, 1), []), ((9, 9), [2])])
def test_a_chart_has_no_points_of_few_texts(texts: tuple[int, int], points: list[int]) -> None:
    found = audit("a text")
    bins = tuple(OverlapBin(0.2 * at, 0.3, count, 0.5, 0.4, 0.6) for at, count in enumerate(texts))
    model = replace(found.models[0], overlap=bins)
    folds = [
        block
        for block in audit_view(replace(found, models=(model,), baselines=())).blocks
        if isinstance(block, Fold) and block.title == "The score and common words"
    ]
    charts = [chart for fold in folds for chart in fold.blocks if isinstance(chart, Chart)]
    assert [len(chart.panels[0].curves[0].x) for chart in charts] == points


def test_labels_have_no_scores_by_layer() -> None:
    """Layers are measured on embeddings: their chart contradicted the table of labels."""
    found = audit("a text")
    (kind,) = found.kinds
    for target, panels in (("pooled", ["", kind]), ("logits", [""])):
        view = audit_view(replace(found, target=target))
        assert view.picture is not None
        assert [one.title for one in view.picture().panels] == panels  # type: ignore[union-attr]
        folds = {one.title: one.blocks for one in view.blocks if isinstance(one, Fold)}
        assert ("Scores of every kind by layer" in folds) == (target == "pooled")
        table = folds["Against harmless edits, in numbers"][1]
        assert isinstance(table, Table)
        assert ("layers" in [one.name for one in table.columns]) == (target == "pooled")
        assert {len(row) for row in table.rows} == {len(table.columns)}


@pytest.mark.parametrize("texts", [1, 4, 5])
def test_scores_of_few_texts_have_no_colour(texts: int) -> None:
    """One text with score 1.00 was the strongest cell of the table."""
    few, levels = model(), {"rewording": level(1.0, texts)}
    few = replace(few, levels=levels, kinds=(replace(few.kinds[0], levels=levels),))
    tables = [one for one in audit_view(replace(audit("t"), models=(few,))).blocks
              if isinstance(one, Table)]  # fmt: skip
    cell = tables[0].rows[0][1]
    assert isinstance(cell, Span) == (texts == 5)
    assert str(cell).endswith({1: ", 1 text", 4: ", 4 texts"}.get(texts, ""))


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
    found = leaderboard.text(json.loads(audit("a text").to_json()))
    assert "| negation a text | 0.21 (0.15–0.27) | 0.21 (0.15–0.27) |" in found
    assert "| 0.9 | 41 % / 51 % |" in found and "| 0.45 0.71 |" in found
    assert "| word overlap | 0.71 (0.65–0.77) | 0.21 (0.15–0.27) |" in found


def test_names_are_cut_in_the_middle() -> None:
    long = [Text(f"tiny-bert-{end}") for end in ("first", "second")]
    assert [str(_cut(one, 8)) for one in long] == ["tiny…rst", "tiny…ond"]
