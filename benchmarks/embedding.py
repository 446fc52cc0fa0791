"""Reviews through the input layer of a model, and reading them back."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import wordsway as ws
from benchmarks.fresh import ROOT
from wordsway.data import home


def page(models: Sequence[str] = ("minilm", "mpnet")) -> str:
    """1,000 reviews through the input layer of each model that is here, in fresh processes and an
    empty cache.
    """
    lines = [
        "| model | 1,000 reviews × 256 tokens to layer 0 | reading them back, checksums verified |",
        "|---|---|---|",
    ]
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "data").symlink_to(home() / "data", target_is_directory=True)
            environment = os.environ | {"WORDSWAY_HOME": folder}
            command = [sys.executable, "-m", "benchmarks", "embed", model]
            times = [
                float(
                    subprocess.run(
                        command,
                        capture_output=True,
                        text=True,
                        check=True,
                        cwd=ROOT,
                        env=environment,
                    ).stdout
                )
                for _ in range(2)
            ]
        lines.append(f"| {model} | {times[0]:.1f} s | {times[1]:.2f} s |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(
        [
            "A text is run through a model once and kept. Loading the model is part of the first "
            "column; each cell is a fresh process.",
            "",
            *lines,
        ]
    )


def embed(model: str) -> float:
    texts = [text.text for text in ws.draw(ws.corpus("imdb"), 1000, seed=0)]
    embedder = ws.Embedder(model)
    started = time.perf_counter()
    embedder.rows(texts)
    return time.perf_counter() - started
