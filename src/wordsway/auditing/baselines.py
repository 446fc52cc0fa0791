"""Models without understanding, beside which a score is read: word overlap and word vectors.

A twin with random weights is the third; it runs as any model does (`minilm:random`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from wordsway.auditing.changes import EditEffect
from wordsway.auditing.edits.edit import Edit
from wordsway.models.encoders import BlackBox
from wordsway.models.probe import Probe

#: Their names in tables.
OVERLAP: tuple[str, dict[str, Any]] = (
    "word overlap",
    {"name": "word overlap", "type": "baseline: 1 − Jaccard's index of the texts' words"},
)
MEANS = "mean of word vectors"


def overlap_effects(edits: Sequence[Edit]) -> tuple[EditEffect, ...]:
    """What edits change for a model that counts common words: 1 − overlap."""
    return tuple(
        EditEffect(1 - one.overlap, None, None, one.overlap, (1 - one.overlap,), (1 - one.overlap,))
        for one in edits
    )


def word_means(probe: Probe) -> BlackBox:
    """The mean of a model's own input embeddings of a text's tokens, special ones left out."""
    table = probe.layers.model.get_input_embeddings()

    @torch.no_grad()
    def encode(texts: list[str]) -> np.ndarray:
        rows = []
        for one in probe.reader(texts):
            tokens = one.reading(one.count).tokens
            ids = [at for at, token in zip(one.ids, tokens, strict=False) if token.kind == "word"]
            chosen = torch.tensor(ids or list(one.ids[: one.count]), device=probe.layers.device)
            rows.append(table(chosen).double().mean(0).cpu().numpy())
        return np.stack(rows)

    return BlackBox(MEANS, f"baseline: input embeddings of {probe.files.name}", encode)
