"""The results of probing a pretrained model: numbers with their witnesses, as all views show."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from wordsway.core.result import SequenceResult, json_fields, json_text, json_value, table
from wordsway.probing.real_words import RealWords
from wordsway.probing.search import CurvePoint
from wordsway.probing.tiers import TIERS
from wordsway.text.clean import STRAY

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Swap:
    """A real word in the place of another: ``change`` is the relative change that it causes,
    evaluated exactly.

    For a classifier ``label`` is the one predicted after the swap, ``probability`` that of the
    label before, and ``margin`` its logit minus the largest other one: negative where it flips.
    ``plausibility`` is the probability of the word in that place where a language model decided
    which words are likely (`wordsway.probing.plausible`), ``pieces`` the number of tokens that the
    word is made of. ``others`` counts further words with exactly the same effect, which are not
    listed (only of an encoder that only returns vectors, and not of the user's own list).
    """

    word: str
    change: float
    token: int
    label: str | None = None
    probability: float | None = None
    margin: float | None = None
    plausibility: float | None = None
    pieces: int = 1
    others: int = 0


@dataclass(frozen=True)
class Swaps(
    SequenceResult[Swap],
    items="swaps",
    brief="word target reached model",
    derived="reached exhaustive",
):
    """The vocabulary's words in one place of a text, those that move the target most first.

    ``target`` is "layer 6", "pooled", "cosine", "logits", …; ``worst`` the relative change by the
    worst Δ found (at most as long as the word's row), and ``reached`` the share of it that the best
    real word gets to. ``candidates`` words were screened and ``evaluated`` of them exactly; all of
    them: ``exhaustive``, nothing in the vocabulary does more. For a classifier ``label`` and
    ``probability`` are those of the text itself, ``flips`` counts the evaluated words that change
    the label, and words are ranked by the remaining margin, or, if only flips were requested, by
    the smallest change. ``searched``: the evaluated words were chosen by search, so ``flips`` is no
    rate. ``refused`` are words of the user's own list that cannot stand there.
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
    label: str | None = None
    probability: float | None = None
    flips: int | None = None
    only_flips: bool = False
    refused: tuple[str, ...] = ()
    plausible: str | None = None
    searched: bool = False

    @property
    def exhaustive(self) -> bool:
        return self.evaluated == self.candidates

    @property
    def reached(self) -> float | None:
        largest = max((swap.change for swap in self.swaps), default=None)
        return largest / self.worst if largest is not None and self.worst else None

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per real word, best first."""
        return table(self.swaps, Swap)


@dataclass(frozen=True)
class WordSway:
    """One word of the text, ``text[start:end]``, and how far changing it moves the target.

    Tiers that were not measured are None. ``mean_local`` (± ``mean_local_error``) and ``local`` are
    responses to small moves (`wordsway.probing.local`), ``real`` is what real words do in its place
    (`wordsway.probing.real_words`), ``curve`` the largest change found for each reach
    (`wordsway.probing.search`), and ``upper`` a ceiling that no Δ of any length exceeds
    (`wordsway.probing.ceiling`). ``sensitivity`` is the best lower end known at the requested
    reach, attained by ``delta`` (one row per token), ``profile`` the change of every layer 0 … L by
    the same Δ, ``noise`` the same for Gaussian noise as long (mean over draws), ``twin`` the
    profile in a twin of the model with random weights. ``radius`` is the length that Δ may have.
    ``unknown``: the word is not in the tokenizer's vocabulary and is read
    as [UNK]. ``joined`` words of the text share a token and are this one.
    """

    index: int
    word: str
    start: int
    end: int
    rows: tuple[int, ...]
    radius: float
    mean_local: float | None = None
    mean_local_error: float | None = None
    local: float | None = None
    local_converged: bool | None = None
    real: RealWords | None = None
    curve: tuple[CurvePoint, ...] | None = None
    upper: float | None = None
    sensitivity: float | None = None
    profile: tuple[float, ...] | None = None
    noise: tuple[float, ...] | None = None
    twin: tuple[float, ...] | None = None
    unknown: bool = False
    joined: int = 1
    delta: torch.Tensor | None = field(default=None, repr=False, compare=False)
    direction: torch.Tensor | None = field(default=None, repr=False, compare=False)

    _derived: ClassVar[tuple[str, ...]] = ("text", "pieces")

    @property
    def text(self) -> str:
        return self.word

    @property
    def pieces(self) -> int:
        """Tokens that the word is made of."""
        return len(self.rows)

    def score(self, tier: str) -> tuple[float, float] | None:
        """A tier's number and its standard error; None where it was not measured."""
        return TIERS[tier].score(self)

    def to_dict(self) -> dict[str, Any]:
        """All numbers, ready for JSON, without the witnesses."""
        return json_fields(self)


@dataclass(frozen=True)
class Words(SequenceResult[WordSway], items="words", brief="target tier model"):
    """Every requested word of a text, in the order of the text.

    ``target`` is what moves ("layer 6", "pooled", …) and ``layer`` of ``layers`` how deep it lies;
    ``tier`` is the one that names, colours and orders the words (`headline_tier`), ``tiers`` those
    that were measured, with ``passes`` and ``draws``, and ``partial`` those of them that only the
    words with the largest mean local have. ``scaling`` says how rows are weighted: "frobenius" by
    norm, "rows" equally (`wordsway.probing.targets`). ``reach`` is ρ: how long Δ may be, relative
    to a row of the word. ``tokens`` are the pieces that the model sees; ``status`` says whether
    searches converged. For a classifier ``label`` and ``probability`` are those of the text.
    """

    text: str
    words: tuple[WordSway, ...]
    tokens: tuple[str, ...]
    target: str
    layer: int
    layers: int
    tier: str
    tiers: tuple[str, ...]
    scaling: str
    passes: int
    draws: int
    reach: float
    at: str
    model: dict[str, Any]
    seed: int
    seconds: float
    peak_mb: float
    status: str
    versions: dict[str, str]
    swaps: tuple[Swaps, ...] = ()
    label: str | None = None
    probability: float | None = None
    cut: int | None = None
    partial: tuple[str, ...] = ()

    @property
    def top(self) -> WordSway:
        """The word with the largest number of the tier; `leaders` returns whether it leads."""
        return self.words[self.ranked[0]]

    @cached_property
    def by_flips(self) -> bool:
        """Whether words are ranked by the real words that flip the label: if any does."""
        real = [word.real for word in self.words if word.real is not None]
        return self.tier == "real-words" and any(one.flips for one in real)

    def rank_score(self, word: WordSway) -> tuple[float, float] | None:
        """The number by which a word is ranked, and its standard error."""
        if self.by_flips:
            return None if word.real is None else word.real.flip_share
        return word.score(self.tier)

    @cached_property
    def ranked(self) -> list[int]:
        """The places of the words, the largest number first; ties in the order of the text."""

        def key(place: int) -> tuple[float, float]:
            word, nothing = self.words[place], (-1.0, 0.0)
            ranked = (self.rank_score(word) or nothing)[0]
            return -ranked, -(word.score(self.tier) or nothing)[0]

        return sorted(range(len(self.words)), key=key)

    def to_dict(self, *, deltas: bool = False) -> dict[str, Any]:
        found = super().to_dict()
        for entry, word in zip(found["words"], self.words if deltas else (), strict=deltas):
            entry |= {"delta": json_value(word.delta), "direction": json_value(word.direction)}
        return found

    def to_json(self, *, deltas: bool = False, **options: Any) -> str:
        """One JSON document; ``deltas`` adds the witnesses."""
        return json_text(self.to_dict(deltas=deltas), **options)

    def frame(self) -> pandas.DataFrame:
        """A data frame with one row per word: every tier that was measured, and the layers' changes
        (``change_0`` … by the worst Δ, ``noise_0`` … by noise).
        """
        import pandas

        rows = []
        for word in self.words:
            row = {name: getattr(word, name) for name in _PLACE}
            row |= {f"real_{name}": getattr(word.real, name, None) for name in _REAL}
            row |= {"sensitivity": word.sensitivity, "upper": word.upper}
            for name in ("word", "real_worst_word"):
                row[name] = None if row[name] is None else STRAY.sub("�", row[name])
            layers = {"change": word.profile, "noise": word.noise, "twin": word.twin}
            for name, values in layers.items():
                row |= {f"{name}_{layer}": value for layer, value in enumerate(values or ())}
            rows.append(row)
        numbers = [*_PLACE[6:], *(f"real_{name}" for name in _REAL[:4]), "sensitivity", "upper"]
        frame = pandas.DataFrame(rows, columns=None if rows else ["index", "word", *numbers])
        return frame.astype(dict.fromkeys(numbers, float))


#: Columns of a frame: of a word itself, its first tiers, and real words in its place.
_PLACE = (
    *("index", "word", "start", "end", "pieces", "unknown"),
    *("mean_local", "mean_local_error", "local"),
)
_REAL = ("mean", "error", "q90", "worst", "worst_word")
