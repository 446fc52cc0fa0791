"""Texts of a corpus, drawn by seed and embedded by a pretrained model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from wordsway import data
from wordsway.core.checks import Count, Seed, validated
from wordsway.core.errors import InputError, needs
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample, float64, rescaled
from wordsway.core.seeds import generator
from wordsway.models import Embedder
from wordsway.models.files import LIBRARIES, locate
from wordsway.studies.texts import Drawn, TextOptions, split
from wordsway.text import Corpus, Text, draw
from wordsway.text import corpus as open_corpus
from wordsway.text.corpora import unknown_corpus
from wordsway.text.files import expanded, path_exists
from wordsway.text.readers import all_files

#: The paper takes reviews of fewer tokens than this, and pads them to `PAPER_CONTEXT`.
PAPER_FEWER, PAPER_CONTEXT = 240, 256
DEFAULT_MODEL = "minilm"
#: Texts embedded, or read from the cache, at once.
AT_ONCE = 64


class CorpusTexts:
    """Distinct texts of a corpus, drawn by seed and embedded by a pretrained model, ``ahead`` of
    them at once. None: many will be requested, one after another, and each draw reads the whole
    corpus; so some more are drawn each time.
    """

    def __init__(
        self,
        name: str,
        n: int,
        d: int,
        seed: int,
        ahead: int | None,
        options: TextOptions,
        progress: Progress = silent,
    ) -> None:
        if options.padding == "paper":
            _within_paper(n)
        self.n, self.d, self.seed, self.options = n, d, seed, options
        # Texts are cut or padded to the paper's 256 tokens, or to what a longer n needs.
        context = next((size for size in (PAPER_CONTEXT, 512) if n <= size), n)
        least = n if options.padding == "none" else 0
        self.drawn = _drawn(name, context, seed, least, options, progress)
        self.many = ahead is None
        self._upto(ahead or 0)
        self.rows: dict[int, Any] = {}

    def draw(self, index: int) -> Drawn:
        text = self._upto(index + 1)[index]
        rows = self._rows(index)
        reading = self.drawn.embedder.tokens([text.text])[0].reading(self.n)
        label = self.drawn.corpus.label(text)
        about = {"id": text.id, "sha256": text.sha256, "label": label}
        return Drawn(Sample(rows, reading=reading), self.seed, about)

    def matrix(self, index: int) -> torch.Tensor:
        """X of text number ``index``, without its words."""
        return rescaled(float64(self._rows(index)))

    def _rows(self, index: int) -> Any:
        self._upto(index + 1)
        # With its neighbours, but not with all that another study of the corpus may have drawn.
        if index not in self.rows:
            start = index - index % AT_ONCE
            end = min(start + AT_ONCE, len(self.drawn.texts))
            numbers = [number for number in range(start, end) if number not in self.rows]
            texts = [self.drawn.texts[number].text for number in numbers]
            padding = "none" if self.options.padding == "none" else "pad"
            found = self.drawn.embedder.matrices(texts, self.n, self.d, padding=padding)
            # In float32 and without what n and d leave out.
            self.rows |= {number: rows.copy() for number, rows in zip(numbers, found, strict=True)}
        return self.rows[index]

    def _upto(self, count: int) -> list[Text]:
        if self.many and count > len(self.drawn.texts):
            with contextlib.suppress(InputError):  # the corpus may have no more
                return self.drawn.upto(-(-count // AT_ONCE) * AT_ONCE)
        return self.drawn.upto(count)

    def words_at(
        self, sample: Sample, count: int, seed: int
    ) -> Callable[[int], torch.Tensor] | None:
        """``count`` words of the model's vocabulary, drawn by seed, as they would be at a row of
        this text; None in deeper layers, where a row depends on its neighbours.
        """
        if self.options.layer not in ("input", "words") or sample.reading is None:
            return None
        text, embedder = sample.reading.text, self.drawn.embedder

        def words(row: int) -> torch.Tensor:
            pieces, rows = embedder.candidates(text, row, self.d)
            whole = [at for at, piece in enumerate(pieces) if piece.lstrip("Ġ▁").isalpha()]
            order = torch.randperm(len(whole), generator=generator(seed, "real words"))
            return rows[torch.tensor(whole)[order[:count]]]

        return words

    def label(self, index: int) -> int:
        """The label of text number ``index``, ±1."""
        label = self.drawn.corpus.label(self._upto(index + 1)[index])
        if label is None:
            raise InputError(
                "labelled texts", "a text without a label", "name the labels with --label-column"
            )
        return label

    def describe(self) -> dict[str, Any]:
        reviews = self.drawn.corpus
        about = {
            "corpus": reviews.name,
            "corpus_sha256": reviews.digest,
            "labels_sha256": reviews.labelling,
            "labels": dict(reviews.signs),
            "padding": self.options.padding,
            "read": reviews.faults.to_dict(),
        }
        return about | self.drawn.embedder.describe()


@dataclass
class _Draws:
    """The seed's order of a corpus, drawn as far as it was needed."""

    corpus: Corpus
    embedder: Embedder
    seed: int
    n: int
    padding: str
    texts: list[Text]

    def upto(self, count: int) -> list[Text]:
        if count > len(self.texts):
            self.texts = draw_texts(
                self.corpus, self.embedder, count, self.seed, n=self.n, padding=self.padding
            )
        return self.texts


_DRAWS: dict[tuple[Any, ...], _Draws] = {}


def _drawn(
    name: str, context: int, seed: int, n: int, options: TextOptions, progress: Progress
) -> _Draws:
    """The draws of a corpus, a model and a seed, shared by all sizes that allow it."""
    key = (name, context, seed, n, options, stamp(name, options))
    if key not in _DRAWS:
        needs("models", *LIBRARIES)  # before the corpus is fetched
        source, model = source_and_model(name, options)
        if source not in data.CATALOGUE and not path_exists(source):
            raise unknown_corpus(source, "gaussian, ")
        texts = open_corpus(source, **options.columns, progress=progress)
        embedder = Embedder(model, options.layer, context=context, progress=progress)
        _DRAWS[key] = _Draws(texts, embedder, seed, n, options.padding, [])
    return _DRAWS[key]


def source_and_model(name: str, options: TextOptions) -> tuple[str, str]:
    """The corpus and the model that ``data`` and the options name together."""
    source, model = split(name)
    if options.model and model and options.model != model:
        raise InputError(
            "one model", f"{model} in --data and {options.model} as --model", "name it once"
        )
    return source, options.model or model or DEFAULT_MODEL


def stamp(name: str, options: TextOptions) -> tuple[Any, ...]:
    """A version of the data, which distinguishes it from earlier data under the same name."""
    source, model = source_and_model(name, options)
    return (data.home(), _version(source), _version(model))


def _version(name: str) -> tuple[Any, ...]:
    here = data.present(name) if name in data.CATALOGUE else None
    if here is not None:
        return (here.digest,)
    path = expanded(name)
    files = [path] if path.is_file() else sorted(all_files(path)) if path.is_dir() else []
    # Of a link itself, too: a broken link is reported on reading, if it matters.
    abouts = [(str(file), file.stat() if file.exists() else file.lstat()) for file in files]
    return tuple((file, about.st_mtime_ns, about.st_size) for file, about in abouts)


def is_here(name: str, options: TextOptions) -> bool:
    """Whether corpus and model are on this machine."""
    return all(
        data.present(part) is not None if part in data.CATALOGUE else path_exists(part)
        for part in source_and_model(name, options)
    )


def fingerprint(name: str, options: TextOptions) -> dict[str, str]:
    """The hashes of corpus and model, as finished cells record them."""
    return dict(_fingerprint(name, options, stamp(name, options)))


@lru_cache(maxsize=16)
def _fingerprint(name: str, options: TextOptions, version: Hashable) -> dict[str, str]:
    source, model = source_and_model(name, options)
    texts = open_corpus(source, **options.columns)
    for _ in texts:  # a whole pass, which makes the digest
        pass
    found = {"corpus_sha256": texts.digest, "labels_sha256": texts.labelling}
    return found | {"model_sha256": locate(model).digest}


def _within_paper(n: int) -> None:
    if n > PAPER_CONTEXT:
        raise InputError(
            f"n ≤ {PAPER_CONTEXT}, what the paper pads to", n, "take a smaller n, or --padding none"
        )


def draw_texts(
    texts: Corpus, embedder: Embedder, count: int, seed: int, *, n: int, padding: str
) -> list[Text]:
    """``count`` distinct texts by seed.

    none : texts of at least n tokens (special tokens count, as rows of X do)
    pad : any text
    paper : the paper's recipe: fewer than 240 tokens, labels balanced
    """

    def counts(some: list[Text]) -> list[int]:
        return [read.count for read in embedder.tokens([text.text for text in some])]

    if padding == "paper":
        _within_paper(n)
        return draw(
            texts,
            count,
            seed,
            accept=lambda some: [tokens < PAPER_FEWER for tokens in counts(some)],
            balanced=True,
            wanted=f"texts of fewer than {PAPER_FEWER} tokens",
        )
    if padding == "pad":
        return draw(texts, count, seed)
    return draw(
        texts,
        count,
        seed,
        accept=lambda some: [tokens >= n for tokens in counts(some)],
        # no tokenizer makes more pieces of a character
        promising=lambda text: (1 if text.isascii() else 4) * len(text) + 8 >= n,
        wanted=f"texts of at least n = {n} tokens",
    )


@validated
def paper_samples(
    n: Count,
    d: Count,
    count: Count,
    *,
    seed: Seed = 0,
    corpus: Any = "imdb",
    model: str | Path = DEFAULT_MODEL,
) -> list[tuple[Sample, int]]:
    """The paper's data: (X, y) of reviews with fewer than 240 tokens, balanced labels y = ±1.

    Input-layer embeddings of the review padded to 256 tokens, first n tokens, first d dimensions,
    rows rescaled to √d.
    """
    texts = corpus if isinstance(corpus, Corpus) else open_corpus(corpus)
    embedder = Embedder(model, context=PAPER_CONTEXT)
    drawn = draw_texts(texts, embedder, count, seed, n=n, padding="paper")
    samples = embedder.samples([text.text for text in drawn], n, d, padding="pad")
    return [
        (sample, texts.signs[text.kind or ""]) for sample, text in zip(samples, drawn, strict=True)
    ]
