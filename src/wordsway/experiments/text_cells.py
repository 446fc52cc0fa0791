"""A text as a cell: every word of one text of a corpus, searched in a pretrained model."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from wordsway.errors import InputError, WordswayError, positive
from wordsway.experiments.cells import canonical
from wordsway.reading import word_spans
from wordsway.seeds import derive
from wordsway.text.clean import checked

if TYPE_CHECKING:
    from wordsway.models.probe import Probe
    from wordsway.text import Text

#: What tells these cells from those of a grid.
KIND = "words"
#: What a stored text means; raise it when the same content would give other numbers.
VERSION = 1
#: Bytes that a search may take beside the model. It decides how words are batched, so it is the
#: same everywhere.
MEMORY = 512 * 2**20
#: Tokens of a text that are read, and the effort of a search: about half a minute of one core per
#: text for MiniLM.
TOKENS, EFFORT = 64, 0.2
#: Seconds of one core per token that goes through MiniLM and back.
RATE = 6e-4
#: Hooks on a model's layers are the process's own: one search at a time.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class TextCell:
    """The words of one text in one model: the text with its id, the model with the hash of its
    files, and how to search.
    """

    text: str
    id: str
    model: str
    model_sha256: str
    layer: int
    reach: float = 1.0
    at: str = "words"
    effort: float = EFFORT
    tokens: int = TOKENS
    seed: int = 0

    def __post_init__(self) -> None:
        from wordsway.models.probe import EMBEDDING_STAGES
        from wordsway.probing.words import check

        positive("tokens", self.tokens)
        check(self.reach, self.effort)
        if self.at not in EMBEDDING_STAGES:
            raise InputError(
                f"a place among {', '.join(EMBEDDING_STAGES)}",
                repr(self.at),
                "words moves rows of the embedding matrix",
            )
        if self.layer < (1 if self.at == "input" else 0):
            raise InputError(
                "a layer behind the one that moves",
                f"layer {self.layer}",
                "take layer 1 or later, or move the words",
            )
        checked(self.text)

    @cached_property
    def sha256(self) -> str:
        """Of the whole text, also where it is cut."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything that decides the result, as JSON has it."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        numbers = {"reach": float(self.reach), "effort": float(self.effort)}
        return plain | numbers | {"kind": KIND, "sha256": self.sha256, "version": VERSION}

    @cached_property
    def key(self) -> str:
        """The cell's name: SHA-256 of its content."""
        return hashlib.sha256(canonical(self.content).encode()).hexdigest()

    @cached_property
    def own_seed(self) -> int:
        """From the seed and the content, without names: a text has the same numbers wherever it and
        the model lie.
        """
        return derive(
            self.seed,
            canonical(
                {name: value for name, value in self.content.items() if name not in ("id", "model")}
            ),
        )

    @classmethod
    def of(cls, content: dict[str, Any]) -> TextCell:
        """The cell of a stored content."""
        return cls(
            **{
                name: value
                for name, value in content.items()
                if name not in ("kind", "sha256", "version")
            }
        )

    def run(self) -> dict[str, Any]:
        """The words of the text's first tokens. One thread, so that they are the same for any
        number of workers.
        """
        from wordsway.probing.words import words
        from wordsway.runtime import single_thread

        with _ONE_AT_A_TIME, single_thread(True):
            probe = probe_of(self.model, self.model_sha256)
            text = probe.cut(self.text, self.tokens)
            how: dict[str, Any] = {
                "layer": self.layer,
                "reach": self.reach,
                "at": self.at,
                "effort": self.effort,
            }
            found = words(text, probe, **how, seed=self.own_seed, memory=MEMORY)
        kept = ("index", "word", "start", "end", "sensitivity")
        rows = [
            {name: getattr(word, name) for name in kept}
            | {"profile": list(word.profile), "noise": list(word.noise)}
            for word in found.words
        ]
        if not all(
            math.isfinite(value) for word in found.words for value in (*word.profile, *word.noise)
        ):
            raise WordswayError("the model gives numbers that are not finite for this text")
        about = {
            "layer": found.layer,
            "layers": found.layers,
            "status": found.status,
            "tokens": len(found.tokens),
        }
        return {"words": rows, **about, "characters": len(text), "seed": self.own_seed}


def text_cells(
    texts: Iterable[Text],
    probe: Probe,
    model: str,
    *,
    layer: int | str = "last",
    tokens: int = TOKENS,
    **how: Any,
) -> list[TextCell]:
    """Cells of these texts, each text once (by its characters), in their order; ``how`` is reach,
    at, effort, seed.

    ``model`` is the name by which a worker finds the model that ``probe`` holds.
    """
    number = probe.layers.number(layer)
    if probe.limit is not None and tokens > probe.limit:
        raise InputError(
            f"at most {probe.limit} tokens, the positions of {probe.files.name}",
            f"{tokens:,}",
            "take fewer --tokens",
        )
    once: dict[str, Text] = {}
    for text in texts:
        once.setdefault(text.sha256, text)
    return [
        TextCell(text.text, text.id, model, probe.files.digest, number, tokens=tokens, **how)
        for text in once.values()
    ]


@lru_cache(maxsize=2)
def probe_of(model: str, sha256: str) -> Probe:
    """The model, loaded once per process; its files have to be those that the cell means."""
    from wordsway.models.probe import Probe

    probe = Probe(model)
    if probe.files.digest != sha256:
        raise InputError(
            f"{model} with the files {sha256[:12]}…",
            f"other files ({probe.files.digest[:12]}…)",
            "use the same model on every machine",
        )
    return probe


@lru_cache(maxsize=64)
def model_bytes(model: str, sha256: str, tokens: int, layer: int) -> int:
    """Bytes of the model and of a search with it, from the sizes of its layers."""
    from wordsway.probing.search import at_once, row_bytes

    probe = probe_of(model, sha256)
    weights = sum(one.numel() * one.element_size() for one in probe.layers.model.parameters())
    return weights + at_once(probe, tokens, layer, MEMORY) * row_bytes(probe, tokens, layer)


def text_units(cell: TextCell) -> float:
    """Tokens through the model and back, from the characters of the text: words are counted, their
    tokens guessed.
    """
    from wordsway.probing.search import Effort
    from wordsway.probing.words import DRAWS

    words = max(1, min(len(word_spans(cell.text[: 40 * cell.tokens])), cell.tokens))
    tokens = min(cell.tokens, round(1.25 * words) + 2)
    words = min(words, max(1, round(tokens / 1.25)))
    return words * tokens * (Effort.of(words, tokens, cell.effort).passes + 0.4 * (DRAWS + 1))


def text_seconds(cells: list[TextCell]) -> float:
    """Seconds of one core for all of these texts, which share a model: one of middling cost is
    tried for a moment.
    """
    from wordsway.probing.words import forecast
    from wordsway.runtime import single_thread

    probe = probe_of(cells[0].model, cells[0].model_sha256)
    ranked = sorted(cells, key=lambda cell: (text_units(cell), cell.key))
    middle = len(ranked) // 2
    for cell in [*ranked[middle:], *ranked[:middle]]:
        try:
            with single_thread(True):
                text = probe.cut(cell.text, cell.tokens)
                cost = forecast(
                    text, probe, layer=cell.layer, at=cell.at, effort=cell.effort, memory=MEMORY
                )
        except InputError:  # a text that will fail
            continue
        return cost.seconds / text_units(cell) * sum(text_units(one) for one in cells)
    return 0.0
