"""Where the texts of a study come from: Gaussian rows, or a corpus through a pretrained model.

Drawing by seed gives every trial its own text; the first texts of many trials are those of few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wordsway import data
from wordsway.errors import InputError
from wordsway.sample import Sample
from wordsway.seeds import derive
from wordsway.text.readers import there

if TYPE_CHECKING:
    from wordsway.models import Embedder
    from wordsway.text import Corpus, Text

#: What to do with short texts: leave them out, pad them, or the paper's recipe.
PADDING = ("none", "pad", "paper")
#: The paper takes reviews of fewer tokens than this, and pads them to `PAPER_CONTEXT`.
PAPER_FEWER, PAPER_CONTEXT = 240, 256
DEFAULT_MODEL = "minilm"
#: Texts embedded, or read from the cache, at once.
AT_ONCE = 64
#: progress(what, done, total)
Fetching = Callable[[str, int, int], None]


@dataclass(frozen=True)
class TextOptions:
    """How a corpus is read and embedded; see `wordsway.text.corpora` and
    `wordsway.models.Embedder`.
    """

    model: str | None = None
    layer: str = "input"
    padding: str = "none"
    text_column: str | None = None
    label_column: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.padding not in PADDING:
            raise InputError(
                f"padding among {', '.join(PADDING)}",
                repr(self.padding),
                "none takes only texts of at least n tokens",
            )


@dataclass(frozen=True)
class Drawn:
    """A sample and where it came from: ``text`` names the review (id, SHA-256, label), None for
    Gaussian rows.
    """

    sample: Sample
    seed: int
    text: dict[str, Any] | None = None


class Source(Protocol):
    """Texts by trial."""

    def draw(self, index: int) -> Drawn:
        """The text of this trial."""

    def describe(self) -> dict[str, Any]:
        """What results record of the data."""


@dataclass(frozen=True)
class GaussianTexts:
    """Rows uniform on the sphere of radius √d, a new text for every trial."""

    n: int
    d: int
    seed: int

    def draw(self, index: int) -> Drawn:
        seed = derive(self.seed, "trial", index, "sample")
        return Drawn(Sample.gaussian(self.n, self.d, seed), seed)

    def describe(self) -> dict[str, Any]:
        return {"data": "gaussian"}


class CorpusTexts:
    """Distinct texts of a corpus, drawn by seed and embedded by a pretrained model, ``ahead`` of
    them at once.
    """

    def __init__(
        self,
        name: str,
        n: int,
        d: int,
        seed: int,
        ahead: int,
        options: TextOptions,
        fetching: Fetching | None = None,
    ) -> None:
        if options.padding == "paper":
            _within_paper(n)
        self.n, self.d, self.seed, self.options = n, d, seed, options
        self.drawn = _drawn(
            name, context_for(n), seed, n if options.padding == "none" else 0, options, fetching
        )
        self.drawn.upto(ahead)
        self.rows: dict[int, tuple[Any, Any]] = {}

    def draw(self, index: int) -> Drawn:
        corpus, text = self.drawn.corpus, self.drawn.upto(index + 1)[index]
        if (
            index not in self.rows
        ):  # with its neighbours, but not with all that another study of the corpus may have drawn
            start = index - index % AT_ONCE
            self._embed(
                [
                    at
                    for at in range(start, min(start + AT_ONCE, len(self.drawn.texts)))
                    if at not in self.rows
                ]
            )
        rows, reading = self.rows[index]
        sample = Sample(rows, reading=reading)
        return Drawn(
            sample, self.seed, {"id": text.id, "sha256": text.sha256, "label": corpus.label(text)}
        )

    def _embed(self, which: list[int]) -> None:
        """Rows of these texts, kept in float32 and without what n and d leave out."""
        padding = "none" if self.options.padding == "none" else "pad"
        read = self.drawn.embedder.readings(
            [self.drawn.texts[at].text for at in which], self.n, self.d, padding=padding
        )
        self.rows |= {
            at: (rows.copy(), reading) for at, (rows, reading) in zip(which, read, strict=True)
        }

    def label(self, index: int) -> int:
        """The label of text number ``index``, ±1."""
        label = self.drawn.corpus.label(self.drawn.upto(index + 1)[index])
        if label is None:
            raise InputError(
                "labelled texts", "a text without a label", "name the labels with --label-column"
            )
        return label

    def describe(self) -> dict[str, Any]:
        corpus = self.drawn.corpus
        about = {
            "corpus": corpus.name,
            "corpus_sha256": corpus.digest,
            "labels": dict(corpus.signs),
        }
        return (
            about
            | {"padding": self.options.padding, "read": corpus.faults.to_dict()}
            | self.drawn.embedder.describe()
        )


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
    name: str, context: int, seed: int, n: int, options: TextOptions, fetching: Fetching | None
) -> _Draws:
    """The draws of this corpus, model and seed, shared by all sizes that allow it: reading a corpus
    takes a second.
    """
    from wordsway.models import Embedder
    from wordsway.text import corpus

    key = (name, context, seed, n, options, data.home())
    if key not in _DRAWS:
        source, model = split(name)
        if options.model and model and options.model != model:
            raise InputError(
                "one model", f"{model} in --data and {options.model} as --model", "name it once"
            )
        chosen = options.model or model or DEFAULT_MODEL
        bar = (
            (lambda what: None)
            if fetching is None
            else (lambda what: lambda done, total: fetching(what, done, total))
        )
        columns = {
            "text_column": options.text_column,
            "label_column": options.label_column,
            "encoding": options.encoding,
        }
        texts = corpus(source, **columns, progress=bar(source))
        _DRAWS[key] = _Draws(
            texts,
            Embedder(chosen, options.layer, context=context, progress=bar(chosen)),
            seed,
            n,
            options.padding,
            [],
        )
    return _DRAWS[key]


def split(name: str) -> tuple[str, str | None]:
    """A corpus and a model out of ``imdb:mpnet``, ``imdb:/path/to/model`` or
    ``reviews.csv:minilm``.

    >>> split("imdb"), split("imdb:mpnet"), split("imdb:/models/mine")
    (('imdb', None), ('imdb', 'mpnet'), ('imdb', '/models/mine'))
    """
    if there(name) or ":" not in name:
        return name, None
    head, tail = (
        name.split(":", 1) if name.split(":", 1)[0] in data.CATALOGUE else name.rsplit(":", 1)
    )
    if not (head in data.CATALOGUE or there(head)):
        return name, None
    if not tail:
        raise InputError(
            "a model behind the colon", repr(name), f"write {head}:minilm, or {head} alone"
        )
    return head, tail


def context_for(n: int) -> int:
    """Tokens that texts are cut or padded to: the paper's 256, or what a longer n needs."""
    return next((size for size in (PAPER_CONTEXT, 512) if n <= size), n)


def _within_paper(n: int) -> None:
    if n > PAPER_CONTEXT:
        raise InputError(
            f"n ≤ {PAPER_CONTEXT}, what the paper pads to", n, "take a smaller n, or --padding none"
        )


def draw_texts(
    corpus: Corpus, embedder: Embedder, count: int, seed: int, *, n: int, padding: str
) -> list[Text]:
    """``count`` distinct texts by seed.

    none : texts of at least n tokens (special tokens count, as rows of X do)
    pad : any text
    paper : the paper's recipe: fewer than 240 tokens, labels balanced
    """
    from wordsway.text import draw

    if padding == "paper":
        _within_paper(n)
        return draw(
            corpus,
            count,
            seed,
            accept=lambda texts: [
                one.count < PAPER_FEWER for one in embedder.tokens([text.text for text in texts])
            ],
            balanced=True,
            wanted=f"texts of fewer than {PAPER_FEWER} tokens",
        )
    if padding == "pad":
        return draw(corpus, count, seed)
    return draw(
        corpus,
        count,
        seed,
        accept=lambda texts: [
            one.count >= n for one in embedder.tokens([text.text for text in texts])
        ],
        promising=lambda text: (
            (1 if text.isascii() else 4) * len(text) + 8 >= n
        ),  # no tokenizer makes more pieces of a character
        wanted=f"texts of at least n = {n} tokens",
    )


def paper_samples(
    n: int,
    d: int,
    count: int,
    *,
    seed: int = 0,
    corpus: Any = "imdb",
    model: str | Path = DEFAULT_MODEL,
) -> list[tuple[Sample, int]]:
    """The paper's data: (X, y) of reviews with fewer than 240 tokens, balanced labels y = ±1.

    Input-layer embeddings of the review padded to 256 tokens, first n tokens, first d dimensions,
    rows rescaled to √d.
    """
    from wordsway.models import Embedder
    from wordsway.text import Corpus
    from wordsway.text import corpus as opened

    texts = corpus if isinstance(corpus, Corpus) else opened(corpus)
    embedder = Embedder(model, context=PAPER_CONTEXT)
    drawn = draw_texts(texts, embedder, count, seed, n=n, padding="paper")
    samples = embedder.samples([text.text for text in drawn], n, d, padding="pad")
    return [
        (sample, texts.signs[text.kind or ""]) for sample, text in zip(samples, drawn, strict=True)
    ]
