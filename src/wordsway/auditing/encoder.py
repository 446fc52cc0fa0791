"""Texts through a model: the pooled vector of every layer, and the target by which texts are
compared.

Texts of equal length run together, and none is padded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from wordsway.auditing.background import RandomWords
from wordsway.auditing.edits.edit import overlap
from wordsway.models.encoders import BlackBox, PairScorer, TextEncoder, opened
from wordsway.models.heads import is_classifier
from wordsway.models.probe import Probe
from wordsway.probing.black_boxes import are_shares, checked_target, class_name, distances_of
from wordsway.probing.relative import same_width
from wordsway.probing.targets import LogitsTarget, PooledTarget, target_in
from wordsway.text.clean import checked

log = logging.getLogger("wordsway")
#: The width of a model whose configuration does not name it, for counting memory.
WIDTH = 2048


class Encoder:
    """A model, and the ``target`` by which two texts are compared (`wordsway.probing.targets`)."""

    def __init__(self, probe: Probe, target: int | str = "cosine") -> None:
        self.probe, self.pooling = probe, probe.pooling
        self.target = target_in(probe, target)

    @property
    def bytes_per_text(self) -> int:
        """What the vectors of one text take: L + 1 layers of d numbers."""
        width = getattr(self.probe.layers.model.config, "hidden_size", None) or WIDTH
        return 8 * (self.probe.layers.count + 1) * int(width)

    def describe(self) -> dict[str, Any]:
        """What a result records of the model."""
        return self.probe.describe() | {"pooling": self.pooling}

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Token ids, special tokens included."""
        return self.probe.ids_of(texts)

    def known(self, texts: Sequence[str]) -> tuple[int, int]:
        """Tokens of texts without special ones, and how many of them are unknown."""
        read = [one.reading(one.count) for one in self.probe.reader(texts)]
        tokens = [token for one in read for token in one.tokens if token.kind == "word"]
        return len(tokens), sum(token.unknown for token in tokens)

    @cached_property
    def words(self) -> RandomWords:
        """Random real words, by the tokens that they have for this model."""
        return RandomWords(lambda texts: [len(ids) for ids in self.probe.reader.ids(texts)])

    @torch.no_grad()
    def pooled(self, ids: Sequence[tuple[int, ...]]) -> torch.Tensor:
        """Pooled states of layers 0 … L, (B, L + 1, d) in float64, narrower ones padded."""
        return torch.stack(self.probe.by_length(ids, self._layers))

    def _layers(self, ids: torch.Tensor) -> torch.Tensor:
        states = self.probe.layers.every_hidden(ids)
        pipeline = self.probe.pipeline
        pooled = [pipeline.pooled(state).double() for state in states[:-1]]
        pooled.append(pipeline.embedding(states[-1]).double())
        return torch.stack(same_width(pooled), 1).cpu()

    @torch.no_grad()
    def vectors(
        self, ids: Sequence[tuple[int, ...]], pooled: torch.Tensor
    ) -> Sequence[torch.Tensor]:
        """What the target compares of each text; ``pooled`` are the texts' pooled states."""
        if isinstance(self.target, PooledTarget):
            return list(pooled[:, -1])
        return self.probe.by_length(ids, lambda batch: self.target.vectors(batch).cpu())

    def distances(
        self, ids: Sequence[tuple[int, ...]], vectors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """How far each of the texts 1 … B is from text 0 by the target, (B,)."""
        return self.target.distances(ids, vectors)

    def predictions(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """The label of each text and its probability; none without a classification head."""
        return LogitsTarget(self.probe).predictions(texts) if is_classifier(self.probe) else []

    def labels(self, vectors: Sequence[torch.Tensor]) -> list[str] | None:
        """The label that a classifier gives each text; None without a single one."""
        if not isinstance(self.target, LogitsTarget) or not self.target.exclusive:
            return None
        names = self.target.names
        return [names[int(one.argmax())] for one in vectors]


class BlackBoxEncoder:
    """A black box with the interface of `Encoder`: its tokens are whole texts, its only layer is
    the vector that it returns, and random words are matched by their number of characters.
    """

    #: Vectors of a few thousand numbers; more is not known before the first call.
    bytes_per_text = 2**15
    #: Whether a function returned what may be probabilities of classes.
    shares = False

    def __init__(self, box: TextEncoder, target: int | str = "cosine") -> None:
        self.box, self.target = box, checked_target(box, target)

    def describe(self) -> dict[str, Any]:
        return dict(self.box.describe()) | {"random_words": "of as many characters"}

    def tokens(self, texts: Sequence[str]) -> list[tuple[str]]:
        """The texts themselves."""
        return [(checked(text),) for text in texts]

    def known(self, texts: Sequence[str]) -> tuple[None, None]:
        """No tokens: a black box does not show them."""
        return None, None

    @cached_property
    def words(self) -> RandomWords:
        """Random real words, by their characters."""
        return RandomWords(lambda texts: [len(text) for text in texts])

    def pooled(self, tokens: Sequence[tuple[str]]) -> torch.Tensor:
        """The vectors (B, 1, d)."""
        found = torch.from_numpy(self.box.encode([text for (text,) in tokens]))
        own = isinstance(self.box, BlackBox) and self.box.kind == "function"
        if own and self.target != "logits" and not self.shares and all(map(are_shares, found)):
            self.shares = True
            log.warning(
                "%s returns numbers that sum to 1: if they are probabilities of classes, compare "
                "labels with audit --target logits or wordsway.testing.assert_flips",
                self.box.name,
            )
        return found[:, None]

    def vectors(self, tokens: Sequence[tuple[str]], pooled: torch.Tensor) -> list[torch.Tensor]:
        """What the target compares: the vectors themselves."""
        return list(pooled[:, 0])

    def distances(
        self, tokens: Sequence[tuple[str]], vectors: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        return distances_of(self.box, self.target, torch.stack(list(vectors)))

    def predictions(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        """The class with the largest probability, and this; none without probabilities."""
        found = torch.from_numpy(self.box.encode(texts)) if self.shares else ()
        return [(class_name(one), float(one.max())) for one in found]

    def labels(self, vectors: Sequence[torch.Tensor]) -> list[str] | None:
        """The class with the largest score; None for other targets than logits."""
        return [class_name(one) for one in vectors] if self.target == "logits" else None


class ScoringEncoder(BlackBoxEncoder):
    """A scorer of pairs with the interface of `Encoder`: there are no vectors, and text b is as far
    from text a as its score falls below that of a with itself.

        distance(a, b) = s(a, a) − s(a, b)
    """

    bytes_per_text = 2**10

    def __init__(self, scorer: PairScorer, target: int | str = "cosine") -> None:
        super().__init__(scorer, target)  # type: ignore[arg-type]
        self.scorer = scorer

    def scores(self, tokens: Sequence[tuple[str]]) -> torch.Tensor:
        """The scores of the first text with itself and with each other one, (B,)."""
        pairs = [(tokens[0][0], text) for (text,) in tokens]
        return torch.from_numpy(self.scorer.scores(pairs))


AnyEncoder = Encoder | BlackBoxEncoder


def encoder_for(
    model: Any, target: int | str = "cosine", *, device: str = "cpu", twin: int | None = None
) -> AnyEncoder:
    """The encoder of a model given by name or as an object (`wordsway.models.encoders`)."""
    found = opened(model, device=device, twin=twin)
    if isinstance(found, Probe):
        return Encoder(found, target)
    if isinstance(found, PairScorer):
        return ScoringEncoder(found, target)
    return BlackBoxEncoder(found, target)


#: Models without understanding, with which scores are compared: their names in tables. A twin with
#: random weights is the third; it runs as any model does (`minilm:random`).
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
