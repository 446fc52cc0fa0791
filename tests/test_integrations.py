"""Where people already are: an evaluator, assertions for tests, MTEB's format, an action."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tiny
import wordsway as ws
from tools.imports import ROOT
from wordsway import testing
from wordsway.core.errors import InputError
from wordsway.integrations.mteb import save_task_results
from wordsway.models.encoders import PairScorer

CASES = [
    ("The drug is safe.", "The medicine is safe.", "The drug is not safe."),
    ("He paid in March.", "In March he paid.", "He paid in April."),
]


def bag(texts: list[str]) -> np.ndarray:
    """Words, "not" ten times as heavy, without their order."""
    words = sorted({word for text in texts for word in text.lower().strip(".").split()})
    counts = [[text.lower().strip(".").split().count(word) for word in words] for text in texts]
    return np.array(counts) * [10.0 if word == "not" else 1.0 for word in words]


def test_an_encoder_that_notices_passes() -> None:
    testing.assert_notices(bag, CASES)
    testing.assert_notices(
        PairScorer("word", lambda pairs: [("not" not in b) for _, b in pairs]), CASES[:1]
    )


def test_one_that_does_not_is_reported_with_the_texts() -> None:
    def lengths(texts: list[str]) -> list[list[float]]:
        return [[len(text), 20.0] for text in texts]

    testing.assert_notices(lengths, CASES, at_least=0.0)
    with pytest.raises(AssertionError) as error:
        testing.assert_notices(lengths, [*CASES, ("It is.", "It was it.", "It is!")])
    message = str(error.value)
    assert "lengths notices 0 of 3" in message or "of 3 changes" in message
    assert "'It is!'" in message and "'It was it.'" in message


def test_a_vector_of_zeros_is_at_distance_1_from_others() -> None:
    """As in an audit, which has the same ties."""

    def first_is_zero(texts: list[str]) -> list[list[float]]:
        return [[float(text != CASES[0][0]), float("not" in text)] for text in texts]

    with pytest.raises(AssertionError, match=r"1 to the rewording .* 1 to the change"):
        testing.assert_notices(first_is_zero, CASES[:1])
    testing.assert_notices(first_is_zero, [("It is.", "So it is.", CASES[0][0])])


@pytest.mark.parametrize("cases", [[], [("a", "b")], [("a", "b", 3)]])
def test_cases_are_three_texts(cases: Any) -> None:
    with pytest.raises(InputError):
        testing.assert_notices(bag, cases)


def test_vectors_are_recorded_for_other_projects(tmp_path: Path) -> None:
    texts = [text for case in CASES for text in case]

    def fixed(texts: list[str]) -> list[list[float]]:
        return [[len(text) + 1 / 3, text.count("e") + 0.1] for text in texts]

    testing.record_vectors(fixed, texts, tmp_path / "vectors.json")
    testing.assert_same_vectors(fixed, tmp_path / "vectors.json")
    with pytest.raises(AssertionError, match=r"6 of 6 vectors differ, by up to 0\.1"):
        testing.assert_same_vectors(
            lambda texts: np.array(fixed(texts)) * 1.1, tmp_path / "vectors.json"
        )
    with pytest.raises(AssertionError, match="shape"):
        testing.assert_same_vectors(
            lambda texts: np.ones((len(texts), 3)), tmp_path / "vectors.json"
        )
    with pytest.raises(InputError, match="record it again"):
        testing.assert_same_vectors(fixed, tmp_path / "nothing.json")


def test_recorded_vectors_may_be_zero(tmp_path: Path) -> None:
    file = tmp_path / "fixtures" / "vectors.json"
    vectors = {"": [0.0, 0.0], "one": [1.0, 0.0], "two": [0.0, 2.0]}
    testing.record_vectors(lambda texts: [vectors[text] for text in texts], list(vectors), file)
    testing.assert_same_vectors(lambda texts: [vectors[text] for text in texts], file)
    changed = vectors | {"two": [0.0, 3.0]}
    with pytest.raises(AssertionError, match=r"1 of 3 vectors differ, by up to 0\.5 .*'two'"):
        testing.assert_same_vectors(lambda texts: [changed[text] for text in texts], file)
    changed = vectors | {"": [0.0, 3.0]}
    with pytest.raises(AssertionError, match=r"1 of 3 vectors differ, by up to 1 .*''"):
        testing.assert_same_vectors(lambda texts: [changed[text] for text in texts], file)


def test_results_have_the_shape_of_mteb(tmp_path: Path) -> None:
    found = ws.audit(bag_of_letters, texts=2, kinds=["negation"], draws=0)
    overall, path, about, *others = save_task_results(found, tmp_path)
    assert overall.name == "WordswayGoldOverall.json"
    # MTEB ignores folders without this file, and has no spaces in their names.
    identity = {"name": "bag_of_letters", "revision": "no_revision_available"}
    assert about.name == "model_meta.json" and json.loads(about.read_text()) == identity
    assert {one.parent.parent.name for one in others} == {"word_overlap"}
    assert json.loads(others[-1].read_text())["name"] == "word overlap"
    document = json.loads(path.read_text())
    assert path.stem == document["task_name"] == "WordswayGoldNegation"
    assert len(document["dataset_revision"]) == 64
    assert found.to_dict()["models"][0]["data_sha256"] == document["dataset_revision"]
    assert save_task_results(found, tmp_path)[1] == path
    more: dict[str, Any] = {"texts": 2, "kinds": ["negation"], "draws": 0, "baselines": False}
    with pytest.raises(InputError, match="another result"):
        save_task_results(ws.audit(bag_of_letters, target="pooled", **more), tmp_path)
    every = ws.audit(bag_of_letters, "everyday", **more)
    named = save_task_results(every, tmp_path, revision="r1", languages=["deu-Latn"])
    assert named[1].name == "WordswayEverydayNegation.json" and named[1].parent.name == "r1"
    (scores,) = document["scores"]["test"]
    score = found.models[0].kinds[0].levels["rewording"]
    assert scores["main_score"] == score.score and scores["level"] == "rewording"
    assert scores["low"] <= score.score <= scores["high"]
    assert {"hf_subset", "languages"} <= set(scores)
    assert {"dataset_revision", "mteb_version", "evaluation_time"} <= set(document)


def bag_of_letters(texts: list[str]) -> list[list[float]]:
    return [[text.count(letter) + 0.1 for letter in "aeinost"] for text in texts]


@pytest.mark.slow
def test_the_evaluator_logs_before_and_after_every_epoch(tmp_path: Path) -> None:
    """In a real fine-tuning run of a small model."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import Pooling

    from wordsway.integrations.evaluator import WordChangeEvaluator

    model = tiny.sentence_transformer(tmp_path, lambda: [Pooling(16, "mean")])
    columns = {"anchor": ["the film was good"] * 8, "positive": ["the plot was fine"] * 8}
    evaluator = WordChangeEvaluator(kinds=["negation"], texts=3)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(tmp_path / "out"),
        num_train_epochs=2,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        eval_strategy="epoch",
        eval_on_start=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = SentenceTransformerTrainer(
        model,
        arguments,
        train_dataset=Dataset.from_dict(columns),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    logged = [
        row["eval_wordsway_mean"]
        for row in trainer.state.log_history
        if "eval_wordsway_mean" in row
    ]
    assert len(logged) == 3
    assert evaluator.primary_metric == "wordsway_mean"
    now = evaluator(model, str(tmp_path / "scores"))
    assert now["wordsway_mean"] == now["wordsway_negation"] == logged[-1]
    assert now["wordsway_negation_low"] <= logged[-1] <= now["wordsway_negation_high"]
    assert now["wordsway_negation_texts"] == 3
    with (tmp_path / "scores" / "wordsway.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["negation"]) == logged[-1]


def test_the_action_calls_the_command_as_it_is() -> None:
    """Its options exist, and its inputs are used."""
    text = (ROOT / "action.yml").read_text()
    assert "using: composite" in text
    options = set(re.findall(r"(--[a-z-]+)", text.partition("pip install")[2]))
    helped = subprocess.run(
        [sys.executable, "-m", "wordsway", "audit", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert options and all(option in helped for option in options)
    inputs = re.findall(r"^  ([a-z-]+):$", text.partition("inputs:")[2].partition("runs:")[0], re.M)
    assert inputs and all(f"inputs.{name}" in text for name in inputs)
