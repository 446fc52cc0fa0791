"""A fine-tuning run of MiniLM with `WordChangeEvaluator`, for docs/how-to/fine-tuning.md.

    python -m benchmarks training

Triples (text, rewording, change) of the fields `TRAINED` of the package's gold texts are the
training data; the evaluator measures those of `HELD_OUT`, before the first epoch and after each.
"""

from __future__ import annotations

import csv
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from wordsway.core.chart import Chart, Curve, Panel
from wordsway.integrations.evaluator import WordChangeEvaluator
from wordsway.models.files import locate

EPOCHS, BATCH, RATE = 4, 16, 2e-5
#: Curves of the picture; one per colour.
SHOWN = ("mean", "negation", "antonyms", "numbers", "quantifiers", "names")
TRAINED, HELD_OUT = ("everyday", "support", "finance"), "medical"


def triples() -> dict[str, list[str]]:
    """The columns of the training data."""
    with resources.files("wordsway.auditing").joinpath("gold.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["field"] in TRAINED]
    names = {"anchor": "text", "positive": "heavy", "negative": "change"}
    return {name: [row[column] for row in rows] for name, column in names.items()}


def trained(evaluator: Any, folder: str) -> list[dict[str, float]]:
    """What the trainer logged at every evaluation."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    model = SentenceTransformer(str(locate("minilm").folder), device="cpu")
    arguments = SentenceTransformerTrainingArguments(
        output_dir=folder,
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        eval_strategy="epoch",
        eval_on_start=True,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        seed=0,
    )
    trainer = SentenceTransformerTrainer(
        model,
        arguments,
        train_dataset=Dataset.from_dict(triples()),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
    )
    trainer.train()
    return [row for row in trainer.state.log_history if f"eval_{evaluator.primary_metric}" in row]


def picture(path: Path) -> list[dict[str, float]]:
    """Draw the curves, and return what was logged."""
    with tempfile.TemporaryDirectory() as folder:
        logged = trained(WordChangeEvaluator(HELD_OUT), folder)
    chart(logged).save(path)
    return logged


def chart(logged: list[dict[str, float]]) -> Chart:
    """The curves of the mean and of some kinds."""
    epochs = range(len(logged))
    curves = [
        Curve(kind, epochs, [row[f"eval_wordsway_{kind}"] for row in logged], colour=number)
        for number, kind in enumerate(SHOWN)
    ]
    title = "MiniLM, fine-tuned with changed texts as hard negatives"
    return Chart([Panel(title, curves, x_label="epoch", y_label="score of the audit")])
