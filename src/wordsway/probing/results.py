"""What probing a pretrained model says: numbers with their witnesses; every view shows these and no
others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import torch

from wordsway.result import SequenceResult, fields_of
from wordsway.text.clean import STRAY

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Swap:
    """A real word in the place of another: ``change`` is the relative change that it causes,
    evaluated exactly.
    """

    word: str
    change: float
    token: int


@dataclass(frozen=True)
class Swaps(SequenceResult[Swap], items="swaps", brief="word target reached model"):
    """The vocabulary's words in one place of a text, those that move the target most first.

    ``target`` is "layer 6", "pooled" or "logits"; ``worst`` the relative change by the worst Δ
    found (at most the word's own norm), and ``reached`` the share of it that the best real word
    gets to. ``candidates`` words were screened and ``evaluated`` of them exactly.
    """

    text: str
    index: int
    word: str
    target: str
    swaps: tuple[Swap, ...]
    candidates: int
    evaluated: int
    worst: float | None
    model: dict[str, Any]
    seed: int
    seconds: float
    versions: dict[str, str]

    @property
    def reached(self) -> float | None:
        return self.swaps[0].change / self.worst if self.swaps and self.worst else None

    def to_dict(self) -> dict[str, Any]:
        return fields_of(self) | {
            "swaps": [fields_of(swap) for swap in self.swaps],
            "reached": self.reached,
        }

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per real word, best first."""
        import pandas

        return pandas.DataFrame(
            [fields_of(swap) for swap in self.swaps], columns=[one.name for one in fields(Swap)]
        )


@dataclass(frozen=True)
class WordSway:
    """One word of the text, ``text[start:end]``, and how far moving its embedding moves the model.

    ``sensitivity`` is the relative change of the chosen layer's hidden states by ``delta`` (one row
    per token of the word), whose norm is at most ``radius``; ``profile`` is the change of every
    layer 0 … L by the same Δ, ``noise`` the same for Gaussian noise of the same norm (mean over
    draws), and ``twin`` the profile of the worst Δ in a twin of the model with random weights,
    where that was asked for.
    """

    index: int
    word: str
    start: int
    end: int
    rows: tuple[int, ...]
    sensitivity: float
    profile: tuple[float, ...]
    noise: tuple[float, ...]
    radius: float
    twin: tuple[float, ...] | None = None
    delta: torch.Tensor | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Words(SequenceResult[WordSway], items="words", brief="layer layers reach model"):
    """Every searched word of a text, in the order of the text, with its profile over the layers.

    ``layer`` of ``layers`` was searched; ``reach`` is ρ, the share of the word's own norm that Δ
    may have; ``tokens`` are the pieces that the model sees. ``status`` says whether the searches
    converged.
    """

    text: str
    words: tuple[WordSway, ...]
    tokens: tuple[str, ...]
    layer: int
    layers: int
    reach: float
    at: str
    model: dict[str, Any]
    seed: int
    seconds: float
    peak_mb: float
    status: str
    versions: dict[str, str]
    swaps: tuple[Swaps, ...] = ()

    @property
    def top(self) -> WordSway:
        """The word that moves the layer most."""
        return max(self.words, key=lambda one: one.sensitivity)

    def to_dict(self, *, deltas: bool = False) -> dict[str, Any]:
        words = [
            fields_of(word)
            | {"delta": word.delta.tolist() if deltas and word.delta is not None else None}
            for word in self.words
        ]
        if not deltas:
            for word in words:
                word.pop("delta")
        return fields_of(self) | {"words": words, "swaps": [one.to_dict() for one in self.swaps]}

    def to_json(self, *, deltas: bool = False, **options: Any) -> str:
        """One JSON document; ``deltas`` adds the witnesses."""
        return json.dumps(
            self.to_dict(deltas=deltas), ensure_ascii=False, allow_nan=False, **options
        )

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per word and layer: change by the worst Δ, by noise, and in the
        twin.
        """
        import pandas

        rows = [
            {
                "index": word.index,
                "word": STRAY.sub("�", word.word),
                "start": word.start,
                "end": word.end,
                "layer": layer,
                "change": change,
                "noise": word.noise[layer],
                "twin": None if word.twin is None else word.twin[layer],
                "searched": layer == self.layer,
            }
            for word in self.words
            for layer, change in enumerate(word.profile)
        ]
        columns = ["index", "word", "start", "end", "layer", "change", "noise", "twin", "searched"]
        return pandas.DataFrame(rows, columns=columns).astype({"twin": float})
