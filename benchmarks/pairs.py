"""`pairs` against plain encoding of the distinct texts, on a table of yours.

    python -m benchmarks pairs FILE.csv [MODEL]

The table has the columns text_a and text_b, such as SICK's 9,927 pairs. Plain encoding is the
method ``encode`` of sentence-transformers on every distinct text. Both run in this process, in
turns, and the quicker of `ROUNDS` counts; loading the model does not.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from pathlib import Path

import wordsway as ws
from wordsway.models.files import locate
from wordsway.models.probe import Probe

ROUNDS = 2


def rows_of(path: Path) -> list[tuple[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["text_a"], row["text_b"]) for row in csv.DictReader(file)]


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def table(path: Path, model: str = "minilm") -> str:
    """Seconds of both, and their ratio."""
    from sentence_transformers import SentenceTransformer

    rows = rows_of(path)
    texts = list(dict.fromkeys(text for row in rows for text in row))
    probe = Probe(model)
    theirs = SentenceTransformer(str(locate(model).folder), device="cpu")
    plain, ours = [], []
    for _ in range(ROUNDS):
        plain.append(seconds(lambda: theirs.encode(texts, show_progress_bar=False)))
        ours.append(seconds(lambda: ws.pairs(rows, models=probe, draws=0)))
    ratio = min(ours) / min(plain)
    return (
        f"{len(rows):,} pairs, {len(texts):,} distinct texts, {model}: "
        f"plain encoding {min(plain):.1f} s, pairs {min(ours):.1f} s, ratio {ratio:.2f}"
    )
