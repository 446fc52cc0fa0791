"""Where texts come from: Gaussian rows or a corpus; few trials have the first texts of many."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Protocol

import torch

from wordsway import data
from wordsway.core.checks import OneOf, check_fields
from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.core.seeds import derive, generator
from wordsway.text.files import Encoding, path_exists

#: What to do with short texts: leave them out, pad them, or the paper's recipe.
PADDING = ("none", "pad", "paper")
Padding = Annotated[str, OneOf(PADDING, "none takes only texts of at least n tokens")]


@dataclass(frozen=True)
class TextOptions:
    """How a corpus is read (`wordsway.text.corpora`) and embedded (`wordsway.models.Embedder`)."""

    model: str | None = None
    layer: str = "input"
    padding: Padding = "none"
    text_column: str | None = None
    label_column: str | None = None
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def columns(self) -> dict[str, Any]:
        """How a file is read."""
        return {
            "text_column": self.text_column,
            "label_column": self.label_column,
            "encoding": self.encoding,
        }

    @property
    def content(self) -> dict[str, Any]:
        """What a cell's name keeps of them."""
        return asdict(self)


@dataclass(frozen=True)
class Drawn:
    """A sample, its seed, and its review (id, SHA-256, label); None for Gaussian rows."""

    sample: Sample
    seed: int
    text: dict[str, Any] | None = None


class Source(Protocol):
    """Texts by number."""

    def draw(self, index: int) -> Drawn:
        """The text of this number."""

    def describe(self) -> dict[str, Any]:
        """What results record of the data."""


class LabelledSource(Source, Protocol):
    """Texts by number, with their labels ±1."""

    def matrix(self, index: int) -> torch.Tensor:
        """X of the text of this number, as `draw` has it; nothing else of it is made."""

    def label(self, index: int) -> int:
        """The label of a text, without drawing it."""


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


class LabelledGaussianTexts:
    """Gaussian texts labelled by a linear teacher, y = sign ⟨w, vec X⟩ with w drawn from the seed;
    labels alternate. The first ones are kept once they were drawn, as many as ``keep`` bytes hold.
    """

    def __init__(self, n: int, d: int, seed: int, *, keep: int = 0) -> None:
        self.n, self.d, self.seed = n, d, seed
        self._kept: dict[int, torch.Tensor] = {}
        self._room = keep // (8 * n * d)
        self.teacher = torch.randn(
            n, d, dtype=torch.float64, generator=generator(seed, "teacher", n, d)
        )

    def draw(self, index: int) -> Drawn:
        about = {"id": f"gaussian:{index}", "sha256": None, "label": self.label(index)}
        sample = Sample(self.matrix(index), rescale=False)
        return Drawn(sample, self._seed(index), about)

    def matrix(self, index: int) -> torch.Tensor:
        if index in self._kept:
            return self._kept[index]
        X = Sample.gaussian(self.n, self.d, self._seed(index)).X
        # X and −X are equally likely, so turning X balances the labels and nothing else.
        X = -X if float((X * self.teacher).sum()) * self.label(index) < 0 else X
        if index < self._room:
            self._kept[index] = X
        return X

    def _seed(self, index: int) -> int:
        return derive(self.seed, "lesson", index)

    def label(self, index: int) -> int:
        return (-1, 1)[index % 2]

    def describe(self) -> dict[str, Any]:
        return {"data": "gaussian", "labels": "a linear teacher"}


def split(name: str) -> tuple[str, str | None]:
    """A corpus and a model out of ``imdb:mpnet``, ``imdb:/path/to/model`` or
    ``reviews.csv:minilm``.

    >>> split("imdb"), split("imdb:mpnet"), split("imdb:/models/mine")
    (('imdb', None), ('imdb', 'mpnet'), ('imdb', '/models/mine'))
    """
    if path_exists(name) or ":" not in name:
        return name, None
    head, tail = (
        name.split(":", 1) if name.split(":", 1)[0] in data.CATALOGUE else name.rsplit(":", 1)
    )
    if not (head in data.CATALOGUE or path_exists(head)):
        return name, None
    if not tail:
        raise InputError(
            "a model behind the colon", repr(name), f"write {head}:minilm, or {head} alone"
        )
    return head, tail
