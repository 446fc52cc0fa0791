"""What to measure of the words of a text: one request for all entry points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from wordsway.core.checks import (
    Bytes,
    Count,
    OneOf,
    Positive,
    Reach,
    Seed,
    Several,
    check_fields,
)
from wordsway.core.errors import InputError
from wordsway.core.format import format_bytes
from wordsway.core.reading import Word
from wordsway.models.probe import EMBEDDING_STAGES, EncodedText
from wordsway.probing.candidates import VocabularyPart
from wordsway.probing.moves import MEMORY
from wordsway.probing.targets import check_target
from wordsway.probing.tiers import TIERS, headline_tier, in_order

#: Backward passes of mean local, and real words per place.
PASSES, DRAWS = 32, 32
EmbeddingStage = Annotated[str, OneOf(EMBEDDING_STAGES, "words moves rows of the embedding matrix")]


@dataclass(frozen=True, kw_only=True)
class _TargetRequest:
    """What all requests about a target have in common."""

    layer: int | str = "last"
    target: int | str = "layer"
    scaling: str = "auto"
    cut: bool = False
    seed: Seed = 0
    memory: Bytes = MEMORY

    def __post_init__(self) -> None:
        check_fields(self)
        check_target(self.wanted, self.scaling)
        if self.memory < 2**20:
            got = format_bytes(self.memory)
            raise InputError("a memory budget of at least 1 MiB", got, "leave it at 2 GiB")

    @property
    def wanted(self) -> int | str:
        """The target by the name that `wordsway.probing.targets.target_of` takes."""
        return self.layer if self.target == "layer" else self.target


@dataclass(frozen=True, kw_only=True)
class SwapRequest(_TargetRequest):
    """Which real words to try in the place of another; checked when it is made.

    Parameters
    ----------
    layer, target, scaling, cut, memory : as in `WordsRequest`
    top : how many words to return
    kind : "words" (whole, alphabetic, two letters or more) or "all" whole pieces of the vocabulary
    keep_case : capitalise as the word in the text is
    among : candidates of your own instead of the vocabulary; they may have several tokens
    exhaustive : evaluate every candidate exactly, without a screen: a proof for the vocabulary
    flip : of a classifier, only words that change its label, the smallest change first
    plausible : only words likely in that place, by the model's own masked or next-token head, else
        by another language model (`wordsway.probing.plausible.HELPERS`)
    worst_case : also search the worst Δ, to tell how much of it a real word reaches
    """

    top: Count = 10
    kind: VocabularyPart = "words"
    keep_case: bool = True
    among: Iterable[str] | None = None
    exhaustive: bool = False
    flip: bool = False
    plausible: bool = False
    worst_case: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.flip and self.target != "logits":
            got = f"target {self.target}"
            raise InputError("a classifier's logits to flip", got, "add --target logits")


@dataclass(frozen=True, kw_only=True)
class WordsRequest(_TargetRequest):
    """What to measure of every word; checked when it is made, before a model is loaded.

    Parameters
    ----------
    layer : the layer whose hidden states are compared: 0 … L, "input" or "last"
    target : "layer", or "all" layers, "pooled", "cosine", "logits" of a classifier, "next-token" of
        a causal model (`wordsway.probing.targets`); or a layer's name
    scaling : how rows are weighted: "frobenius" by their norm, "rows" equally, "auto" equally if a
        few rows hold most of the norm
    cut : keep the beginning of a text that is longer than the model can read
    memory : bytes that the work may take in addition to the model
    tiers : what to measure among "mean-local", "local", "real-words", "curve"; by default the first
        three on short texts, and on long ones the first, with real words for as many words as take
        a few seconds
    colour : the tier that names the word that moves the model most, and colours and orders all
        words (`headline_tier`); it is measured in addition to the default tiers. By default mean
        local, unless only other tiers are requested; of logits, real words
    word : the word, or words, to measure, by number (from 0) or spelling; all by default
    reach : ρ, Δ may be ρ times as long as a row of the word's embedding; giving one measures the
        curve up to it. Without, ``sensitivity`` is what the worst small direction attains at ρ = 1,
        where `local` was measured
    at : "words" moves rows of the embedding matrix (`inputs_embeds`), "input" rows of
        hidden_states[0]
    passes, draws : backward passes of mean local, and real words per place
    twin : also measure a twin of the model with random weights
    effort : how long to search the curve
    """

    tiers: str | Several[str] | None = None
    colour: str | None = None
    word: int | str | Sequence[int | str] | None = None
    reach: Reach | None = None
    at: EmbeddingStage = "words"
    passes: Count = PASSES
    draws: Count = DRAWS
    twin: bool = False
    effort: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for tier in [*self.requested, *([] if self.colour is None else [self.colour])]:
            if tier not in TIERS:
                expected = f"a tier among {', '.join(TIERS)}"
                raise InputError(expected, repr(tier), "leave it out for the default")

    @property
    def requested(self) -> tuple[str, ...]:
        return (self.tiers,) if isinstance(self.tiers, str) else tuple(self.tiers or ())

    @property
    def headline(self) -> str:
        """The tier that names, colours and orders the words; real words for a classifier, whose
        label small moves do not change.
        """
        if self.target == "logits" and self.colour is None and self.planned is None:
            return "real-words"
        return headline_tier(self.requested, self.colour, self.reach)

    @property
    def planned(self) -> tuple[str, ...] | None:
        """The requested tiers in their order; a reach requests the curve. None: the default tiers
        of the text, with that of ``colour``.
        """
        if not self.requested and self.reach is None:
            return None
        named = [self.colour] if self.colour else []
        return in_order([*self.requested, *named, *(["curve"] if self.reach is not None else [])])

    def words_of(self, encoded: EncodedText) -> list[Word]:
        """The requested words of a text, each once."""
        if self.word is None:
            return list(encoded.words)
        given: Any = self.word
        one = isinstance(given, str) or not hasattr(given, "__len__")
        named = [given] if one else list(given)
        if not named:
            raise InputError("a word of the text", "none", "name one, or leave word out for all")
        return list(dict.fromkeys(encoded.word(which) for which in named))
