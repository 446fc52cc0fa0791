"""From a text to a sample: the rows of X are a model's token embeddings, rescaled to √d."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from wordsway.core.checks import Count, validated
from wordsway.core.errors import InputError, positive
from wordsway.core.progress import Progress, silent
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample
from wordsway.models.cache import VERSION, Cache
from wordsway.models.files import locate
from wordsway.models.layers import ModelLayers
from wordsway.models.load import Loading
from wordsway.models.tokens import Reader, Tokens
from wordsway.text.clean import checked

#: What to do with a text of fewer than n tokens.
PADDING = ("none", "pad")
#: The paper's: tokens that a text is padded or cut to before its first n are taken.
CONTEXT = 256
#: Tokens per batch of a forward pass, and texts per file of the cache.
BATCH_TOKENS, SHARD = 8192, 64


class Embedder:
    """A pretrained model as a maker of samples.

    Parameters
    ----------
    model : a name of the catalogue ("minilm", "mpnet") or a folder that `save_pretrained` wrote
    layer : "input" (or 0: hidden_states[0], what the paper uses), a layer's number, "last", or
        "words" for bare word
        vectors without position and normalisation
    context : tokens that a text is cut or padded to before the model sees it
    cache : keep embeddings on disk
    """

    @validated
    def __init__(
        self,
        model: str | Path = "minilm",
        layer: int | str = "input",
        *,
        context: Count = CONTEXT,
        cache: bool = True,
        device: torch.device | str = "cpu",
        progress: Progress = silent,
    ) -> None:
        self.files = locate(model, progress)
        self.context = context
        self.layer = "input" if str(layer) == "0" else str(layer)
        self.device = checked_device(device)
        self.reader = Reader(self.files, self.context)
        self.cached = cache
        self._layers: ModelLayers | None = None
        if self.layer not in ("input", "words"):
            self.layer = (
                "last"
                if self.layer == "last"
                else str(self.layers.number(self.layer, ", or words"))
            )

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def layers(self) -> ModelLayers:
        """The model itself, loaded when first needed: cached texts never need it."""
        if self._layers is None:
            self._layers = ModelLayers(self.files, Loading(device=str(self.device)))
        return self._layers

    def describe(self) -> dict[str, Any]:
        """What a result records of the embedding."""
        return {
            "model": self.name,
            "model_sha256": self.files.digest,
            "layer": self.layer,
            "context": self.context,
            "cache_version": VERSION,
            **{name: version(name) for name in ("transformers", "tokenizers")},
        }

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        for text in texts:
            checked(text)
        return self.reader(texts)

    def rows(self, texts: Sequence[str], *, padded: bool = True) -> list[np.ndarray]:
        """The embeddings of each text in float32, read from the cache where they are.

        ``padded`` gives context × d with the padding's rows. Otherwise a text's own rows: the input
        layer treats each token alone, so they are the same ones; behind it texts run one by one, as
        they would without any padding.
        """
        alone = not padded and self.layer not in ("input", "words")
        cache = (
            Cache(self.files.digest[:32], f"{self.layer}-{self.context}{'-alone' if alone else ''}")
            if self.cached
            else None
        )
        found = cache.read(texts) if cache else {}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        for start in range(0, len(missing), SHARD):
            some = missing[start : start + SHARD]
            fresh = dict(zip(some, self._run(some, alone), strict=True))
            if cache:
                cache.write(fresh)
            found |= fresh
        rows = [found[text] for text in texts]
        if padded or alone:
            return rows
        return [one[: read.count] for one, read in zip(rows, self.tokens(texts), strict=True)]

    def _run(self, texts: Sequence[str], alone: bool) -> list[np.ndarray]:
        tokens = self.tokens(texts)
        size = 1 if alone else max(1, BATCH_TOKENS // self.context)
        rows: list[np.ndarray] = []
        for start in range(0, len(tokens), size):
            batch = tokens[start : start + size]
            counts = torch.tensor([item.count for item in batch])
            ids = torch.tensor([item.ids for item in batch])[
                :, : int(counts.max()) if alone else None
            ]
            mask = (torch.arange(ids.shape[1])[None] < counts[:, None]).long()
            rows += list(self._states(ids, mask).float().cpu().numpy())
        return rows

    def _states(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The layer's rows (B, n, d) of token ids (B, n)."""
        if self.layer == "words":
            return self.layers.words(ids)
        return self.layers.hidden(self.layers.number(self.layer), ids, mask)

    def candidates(
        self, text: str, row: int, d: int | None = None
    ) -> tuple[list[str], torch.Tensor]:
        """Every piece of the vocabulary, and the row of X that it would be at place ``row`` of this
        text, rescaled to √d.

        For the input layer and bare word vectors, where a row depends on its own token and place
        alone.
        """
        if self.layer not in ("input", "words"):
            raise InputError(
                "the input layer or bare word vectors",
                self.layer,
                "deeper layers mix words; pass layer='input'",
            )
        vocabulary = self.reader.tokenizer.get_vocab(with_added_tokens=True)
        size = self.layers.model.get_input_embeddings().num_embeddings
        pieces = sorted(
            (piece for piece, number in vocabulary.items() if number < size),
            key=vocabulary.__getitem__,
        )
        prefix = torch.tensor(self.tokens([text])[0].ids[: row + 1])
        numbers = torch.tensor([vocabulary[piece] for piece in pieces])
        rows = []
        for part in numbers.split(max(1, BATCH_TOKENS // len(prefix))):
            ids = prefix.repeat(len(part), 1)
            ids[:, row] = part
            states = self._states(ids, torch.ones_like(ids))
            rows.append(states[:, row, :d].to(torch.float64))
        return pieces, _to_sphere(torch.cat(rows))

    def sample(
        self, text: str, n: int | None = None, d: int | None = None, *, padding: str = "none"
    ) -> Sample:
        """The first n tokens (default: all) and d dimensions of a text, rows rescaled to √d."""
        return self.samples([text], n, d, padding=padding)[0]

    def samples(
        self,
        texts: Sequence[str],
        n: int | None = None,
        d: int | None = None,
        *,
        padding: str = "none",
    ) -> list[Sample]:
        """One sample per text.

        ``padding="none"`` refuses texts of fewer than n tokens; ``"pad"`` fills them up with the
        model's padding token, embedded like any other, as the paper does.
        """
        found = self.matrices(texts, n, d, padding=padding)
        return [
            Sample(rows.astype(np.float64), reading=one.reading(n or one.count))
            for one, rows in zip(self.tokens(texts), found, strict=True)
        ]

    def matrices(
        self,
        texts: Sequence[str],
        n: int | None = None,
        d: int | None = None,
        *,
        padding: str = "none",
    ) -> list[np.ndarray]:
        """The rows alone; cached padded texts are not even tokenised, which is slower."""
        if padding not in PADDING:
            raise InputError(
                f"padding among {', '.join(PADDING)}",
                repr(padding),
                "pad fills short texts up, none refuses them",
            )
        if n is not None and positive("n", n) > self.context:
            raise InputError(f"n ≤ {self.context}, the context", n, "pass a larger context")
        if isinstance(texts, str):
            raise InputError("a list of texts", "one string", "pass [text], or use sample(text)")
        texts = list(texts)
        if not texts:
            return []
        if n is not None and padding == "pad":
            counts, tokens = [n] * len(texts), []
            for text in texts:
                checked(text)
        else:
            tokens = self.tokens(texts)
            counts = [n or one.count for one in tokens]
        for one in tokens:
            if n is not None and one.count < n and padding == "none":
                shown = " ".join(one.text.split())
                raise InputError(
                    f"a text of at least n = {n} tokens",
                    f"{one.count} tokens in “{shown[:40]}{'…' if len(shown) > 40 else ''}”",
                    "take a smaller n or a longer text, or pad short ones (--padding pad)",
                )
        rows = self.rows(texts, padded=padding == "pad")
        if d is not None and positive("d", d) > rows[0].shape[1]:
            raise InputError(
                f"d ≤ {rows[0].shape[1]}, the width of {self.name}",
                d,
                "take a smaller d, or a wider model such as mpnet (768)",
            )
        return [matrix[:count, :d] for count, matrix in zip(counts, rows, strict=True)]


def _to_sphere(rows: torch.Tensor) -> torch.Tensor:
    """Rows rescaled to √d; a row of zeros (an unused piece) stays."""
    return rows * (rows.shape[1] ** 0.5 / rows.norm(dim=1, keepdim=True).clamp_min(1e-300))
