"""Published tables through `wordsway pairs`: what others measured, with the same verb.

    python -m benchmarks external sick.csv semantoneg.csv condaqa_sentences.csv [--model NAME …]

Each file has the columns text_a,text_b,kind,label (docs/notes/audit.md names their sources and
licences). What is computed follows from the labels:

    a number        human relatedness: Spearman's correlation with the cosine (SICK-R of MTEB)
    turns, keeps    items of three rows with one text: the share in which the row that keeps the
                    meaning has the largest cosine (SemAntoNeg)
    keeps, turns, scope   the share of comparisons, over texts, in which the change moves the
                    model more than the paraphrase (CondaQA), with its 95 % interval
"""

from __future__ import annotations

import csv
import itertools
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import wordsway as ws
from benchmarks.probing import rank_correlation
from wordsway.auditing.scores import intervals
from wordsway.core.progress import Progress, silent

Rows = Sequence[Mapping[str, str]]


def spearman(rows: Rows, cosines: Sequence[float]) -> str:
    """The rank correlation of human relatedness and the cosine."""
    found = rank_correlation([float(row["label"]) for row in rows], cosines)
    return f"Spearman {found:.6f} over {len(rows):,} pairs"


def best_of_three(rows: Rows, cosines: Sequence[float]) -> str:
    """How often the row that keeps the meaning is the closest of its item."""
    right = []
    for start in range(0, len(rows), 3):
        item = range(start, start + 3)
        (kept,) = (at for at in item if rows[at]["label"] == "keeps")
        right.append([float(all(cosines[kept] > cosines[at] for at in item if at != kept))])
    (score,) = intervals(np.array(right))
    ends = f"{score.low:.3f} to {score.high:.3f}"
    return f"{score.auc:.4f} ({ends}) of {len(right):,} items right, 0.3333 by chance"


def against_paraphrases(rows: Rows, cosines: Sequence[float]) -> str:
    """How often a change moves the model more than a paraphrase of the same text."""
    by_text: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row, cosine in zip(rows, cosines, strict=True):
        by_text[row["text_a"]][row["label"]].append(cosine)
    lines = []
    for label in ("turns", "scope"):
        shares = [
            [np.mean([(c < k) + 0.5 * (c == k) for c in found[label] for k in found["keeps"]])]
            for found in by_text.values()
            if found[label] and found["keeps"]
        ]
        (score,) = intervals(np.array(shares))
        ends = f"{score.low:.2f} to {score.high:.2f}"
        lines.append(f"{label} {score.auc:.3f} ({ends}) over {len(shares):,} texts")
    return ", ".join(lines)


def measure(path: Path, model: str, progress: Progress = silent) -> str:
    """One table in one model."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = ws.pairs([(row["text_a"], row["text_b"]) for row in rows], None, model, draws=0,
                     progress=progress)  # fmt: skip
    cosines = {pair.row: pair.models[0].cosine for pair in found}
    cosines |= {one.row: 1.0 for one in found.refused if "are the same" in one.reason}
    if len(cosines) != len(rows):
        sys.exit(f"{path.name}: {found.refused[0]}")
    values = [cosines[row] for row in range(1, len(rows) + 1)]
    labels = {row["label"] for row in rows}
    if labels == {"turns", "keeps"}:
        return best_of_three(rows, values)
    if "keeps" in labels:
        return against_paraphrases(rows, values)
    return spearman(rows, values)


def main(arguments: Sequence[str], progress: Progress = silent) -> None:
    """Print a line per file and model."""
    models = [two for one, two in itertools.pairwise(arguments) if one == "--model"]
    files = [Path(one) for one in arguments if one.endswith(".csv")]
    if not files:
        sys.exit("name the files: python -m benchmarks external sick.csv …")
    for path in files:
        for model in models or ["minilm", "mpnet"]:
            print(f"{path.name}, {model}: {measure(path, model, progress)}", flush=True)
