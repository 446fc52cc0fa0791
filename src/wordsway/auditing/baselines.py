"""Models without understanding, beside which a score is read: word overlap and word vectors.

A twin with random weights is the third; it runs as any model does (`minilm:random`).
"""

from __future__ import annotations

import numpy as np
import torch

from wordsway.auditing.edits.edit import overlap
from wordsway.models.encoders import BlackBox, PairScorer
from wordsway.models.probe import Probe

#: Their names in tables.
OVERLAP, MEANS = "word overlap", "mean of word vectors"


def word_overlap() -> PairScorer:
    """A model that counts common words: the score of two texts is their `overlap`."""
    return PairScorer(OVERLAP, lambda pairs: [overlap(*pair) for pair in pairs])


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
