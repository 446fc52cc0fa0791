"""Real words in a word's place: the mean change over random whole words, evaluated exactly.

M words are drawn, put in the place of each word, and the changed sentences go through the model;
the mean, the 90 % quantile and the largest change are reported with the standard error of the mean.

A word is replaced by words of *as many tokens as it has*: with fewer, all later words would move to
other positions, and that, not the word, would decide. Words of one token are the vocabulary's own,
words of several those of WordNet (met in its tagged texts) that the tokenizer cuts into as many.
Draws are the same for every place with as many tokens that they fit (one random order), so that
differences between words are not differences between draws. Hidden states of the word's own rows
count as those of one row, by their mean square: a word does not win because it has more of them.
Punctuation marks are replaced by others: a word there would join its neighbour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from wordsway import data
from wordsway.core.errors import WordswayError
from wordsway.core.progress import Progress, silent
from wordsway.core.reading import Word
from wordsway.core.seeds import generator
from wordsway.models.probe import Probe
from wordsway.probing.candidates import Candidates, WordPlace, cased, signs, vocabulary
from wordsway.probing.targets import Outcome, Target
from wordsway.text.wordnet import wordnet

#: Spellings that are tokenised first, and most at a time, while draws are missing.
CHUNK, MOST = 48, 2048


@dataclass(frozen=True)
class RealWords:
    """Changes by ``draws`` random real words in one place: their mean with its standard ``error``,
    90 % quantile, and the largest one with its word.

    Of a classifier ``flips`` counts those after which it predicts another label, and ``flip`` is
    one of them; ``margin_change`` is their mean effect on the margin of the text's label (negative:
    the word supports this label), with its standard error. None for other targets.
    """

    mean: float
    error: float
    q90: float
    worst: float
    worst_word: str
    draws: int
    flips: int | None = None
    flip: str | None = None
    margin_change: float | None = None
    margin_error: float | None = None
    changes: tuple[float, ...] = field(default=(), repr=False)
    words: tuple[str, ...] = field(default=(), repr=False)

    @property
    def mostly_equal(self) -> bool:
        """Whether three quarters of four or more words cause exactly the same change."""
        count = len(self.changes)
        return count >= 4 and 4 * max(Counter(self.changes).values()) >= 3 * count

    @property
    def flip_share(self) -> tuple[float, float] | None:
        """The share of words that flip the label and its standard error, that of Agresti and Coull
        (positive even if none or all flip); None for other targets.
        """
        if self.flips is None:
            return None
        middle = (self.flips + 2) / (self.draws + 4)
        return self.flips / self.draws, (middle * (1 - middle) / (self.draws + 4)) ** 0.5


def real_words(
    target: Target,
    words: Sequence[Word],
    *,
    draws: int,
    seed: int = 0,
    size: int,
    progress: Progress = silent,
) -> list[RealWords | None]:
    """For each word the changes by random real words; None where nothing else can stand."""
    probe, encoded = target.probe, target.encoded
    order = _Order(probe, seed, progress)
    places = [order.draw(WordPlace(probe, encoded, word), draws) for word in words]
    values = _outcomes(target, words, places, size, progress)
    return [
        summarised(found.words, outcomes) if found.words else None
        for found, outcomes in zip(places, values, strict=True)
    ]


class _Order:
    """Random orders of the vocabulary's words, of known words of several tokens, and of signs."""

    def __init__(self, probe: Probe, seed: int, progress: Progress) -> None:
        self.probe, self.seed, self.progress = probe, seed, progress

    @cached_property
    def words(self) -> list[str]:
        return shuffled(vocabulary(self.probe, "words"), self.seed, "real words")

    @cached_property
    def known(self) -> list[str]:
        return shuffled(known_words(self.progress), self.seed, "known words")

    @cached_property
    def signs(self) -> list[str]:
        return shuffled(signs(self.probe), self.seed, "real signs")

    def draw(self, place: WordPlace, count: int) -> Candidates:
        """The first ``count`` of the order that can stand in this place, with as many tokens."""
        like, pieces = place.word.text, len(place.word.rows)
        letters = any(char.isalnum() for char in like)
        order = self.signs if not letters else self.words if pieces == 1 else self.known
        found = Candidates([], [])
        start, size = 0, CHUNK
        while start < len(order) and len(found) < count:
            some = order[start : start + size]
            names = dict.fromkeys(cased(name, like) if letters else name for name in some)
            more = place.encode([name for name in names if place.takes(name)], pieces=pieces)
            found = Candidates(found.words + more.words, found.ids + more.ids)
            start, size = start + size, min(2 * size, MOST)
        return Candidates(found.words[:count], found.ids[:count])


def known_words(progress: Progress = silent) -> tuple[str, ...]:
    """English words from WordNet; none where it is not here and cannot be fetched."""
    try:
        if data.present("wordnet") is None:
            data.get("wordnet", progress=progress)
        return wordnet().used()
    except WordswayError:
        return ()


def shuffled(items: Sequence[str], seed: int, name: str) -> list[str]:
    """The items in the random order of a seed and a name."""
    return [
        items[at] for at in torch.randperm(len(items), generator=generator(seed, name)).tolist()
    ]


def _outcomes(
    target: Target,
    words: Sequence[Word],
    places: Sequence[Candidates],
    size: int,
    progress: Progress,
) -> list[list[Outcome]]:
    """All places side by side, in batches of texts of equal length."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for row, found in enumerate(places):
        for draw, ids in enumerate(found.ids):
            # Rows of words of one token have equal weight, whichever was replaced.
            whose = -1 if len(words[row].rows) == 1 and len(ids) == target.encoded.n else row
            groups.setdefault((len(ids), whose), []).append((row, draw))
    outcomes: dict[tuple[int, int], Outcome] = {}
    for _, members in sorted(groups.items()):
        for start in range(0, len(members), size):
            batch = members[start : start + size]
            texts = torch.tensor([places[row].ids[draw] for row, draw in batch])
            some = target.outcomes(texts, words[batch[0][0]])
            outcomes |= dict(zip(batch, some, strict=True))
            progress("trying real words", len(outcomes), sum(map(len, places)))
    return [[outcomes[row, at] for at in range(len(found))] for row, found in enumerate(places)]


def order_of(names: Sequence[str], found: Mapping[int, Outcome], flip: bool) -> list[int]:
    """The words to show by number, first ones first; ``flip``: only those that flip the label."""
    if flip:
        kept = [at for at, one in found.items() if one.flips]
        return sorted(kept, key=lambda at: (found[at].change, names[at]))
    return sorted(found, key=lambda at: (-found[at].effect, names[at]))


def summarised(names: Sequence[str], found: Sequence[Outcome]) -> RealWords:
    """Mean, standard error, quantile and the largest of the changes; changes of the margin."""
    changes = tuple(outcome.change for outcome in found)
    mean, error = _mean(changes)
    values = torch.tensor(changes, dtype=torch.float64)
    top = int(values.argmax())
    flips = [name for name, outcome in zip(names, found, strict=True) if outcome.flips]
    margins = [one.margin_change for one in found if one.margin_change is not None]
    margin_change, margin_error = _mean(margins) if margins else (None, None)
    return RealWords(
        mean=mean,
        error=error,
        q90=float(values.quantile(0.9)),
        worst=float(values[top]),
        worst_word=names[top],
        draws=len(found),
        flips=len(flips) if margins else None,
        flip=flips[0] if flips else None,
        margin_change=margin_change,
        margin_error=margin_error,
        changes=changes,
        words=tuple(names),
    )


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error; of one value, its size."""
    found = torch.tensor(values, dtype=torch.float64)
    count = len(found)
    error = float(found.std()) / count**0.5 if count > 1 else abs(float(found[0]))
    return float(found.mean()), error
