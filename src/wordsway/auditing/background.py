"""Where two texts differ, and random real words in that place as a baseline.

A random word has as many tokens as the word it stands for, as in the tier "real words" of
`wordsway words`: a model moves more if more of its rows change, and that effect is not of interest
here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import torch

from wordsway.core.reading import word_spans
from wordsway.core.seeds import generator
from wordsway.probing.differences import common, common_end, span_of
from wordsway.text.forms import takes_an
from wordsway.text.wordnet import wordnet

#: Uses in the tagged texts that a random word needs, and those of the rarer words that are taken
#: where fewer than `FEWEST` of the others have the right number of tokens.
USES, RARE, FEWEST = 15, 4, 20
ARTICLES = ("a", "an")


class Place(NamedTuple):
    """``before``, at ``start`` of the first text, becomes ``after``."""

    start: int
    before: str
    after: str

    def edited(self, text: str) -> str:
        return text[: self.start] + self.after + text[self.start + len(self.before) :]


def place_of(a: str, b: str) -> Place:
    """The one stretch of words in which two texts differ; other words before and behind it are
    common.

    >>> place_of("It is good.", "It is not good."), place_of("It is good.", "It is bad.")
    (Place(start=6, before='', after='not '), Place(start=6, before='good', after='bad'))
    """
    spans_a, spans_b = word_spans(a), word_spans(b)
    words_a, words_b = [a[i:j] for i, j in spans_a], [b[i:j] for i, j in spans_b]
    head, tail = common(words_a, words_b), common_end(words_a, words_b)
    left_a, right_a = span_of(spans_a, range(head, len(spans_a) - tail), len(a))
    left_b, right_b = span_of(spans_b, range(head, len(spans_b) - tail), len(b))
    if head + tail in (len(words_a), len(words_b)):
        # Something is put in or taken out: a space goes along, the one behind it if there is one.
        if tail:
            right_a = spans_a[len(spans_a) - tail][0]
            right_b = spans_b[len(spans_b) - tail][0]
        elif head:
            left_a = spans_a[head - 1][1]
            left_b = spans_b[head - 1][1]
    return Place(left_a, a[left_a:right_a], b[left_b:right_b])


@cache
def known_words(uses: int) -> tuple[str, ...]:
    """English words of usual length that occur at least that often in WordNet's tagged texts."""
    return tuple(word for word in wordnet().used(uses) if 3 <= len(word) <= 12)


class RandomWords:
    """Real words by their number of tokens; ``count`` gives the tokens of texts."""

    def __init__(self, count: Callable[[Sequence[str]], Sequence[int]]) -> None:
        self.count = count
        self._sizes: dict[tuple[str, bool], int] = {}
        self._pools: dict[tuple[int, bool], tuple[str, ...]] = {}

    def sizes(self, words: Sequence[str], first: bool) -> list[int]:
        """Tokens of each word, at the beginning of a text or inside it."""
        fresh = list(dict.fromkeys(word for word in words if (word, first) not in self._sizes))
        if fresh:
            texts = [f"{word} the" if first else f"the {word} the" for word in fresh]
            rest, *found = self.count(["the" if first else "the the", *texts])
            self._sizes |= {
                (word, first): size - rest for word, size in zip(fresh, found, strict=True)
            }
        return [self._sizes[word, first] for word in words]

    def pool(self, size: int, first: bool = False) -> tuple[str, ...]:
        """Words of ``size`` tokens; if there are too few, of one token less, and so on."""
        if (size, first) not in self._pools:
            self._pools[size, first] = self._pool(size, first)
        return self._pools[size, first]

    def _pool(self, size: int, first: bool) -> tuple[str, ...]:
        for uses in (USES, RARE):
            words = known_words(uses)
            spelled = [word.capitalize() for word in words] if first else words
            sizes = self.sizes(spelled, first)
            found = tuple(word for word, one in zip(words, sizes, strict=True) if one == size)
            if len(found) >= FEWEST:
                return found
        return self.pool(size - 1, first) if size > 1 else known_words(USES)


def background(text: str, place: Place, draws: int, seed: int, words: RandomWords) -> list[str]:
    """``draws`` texts with random real words in that place.

    Each word that the change puts in, or takes out where it puts none in, has its random word of as
    many tokens; punctuation stays, and so does an article that the change only adjusts ("a" to
    "an"). The words of the change are not drawn.

    >>> plain = RandomWords(lambda texts: [len(text.split()) for text in texts])
    >>> place = Place(6, "good", "bad")
    >>> [one.split()[:2] for one in background("It is good.", place, 2, 0, plain)]
    [['It', 'is'], ['It', 'is']]
    """
    start, before, after = place
    shown = after if after.strip() else before
    spans = [(a, b) for a, b in word_spans(shown) if shown[a].isalnum()] or [(0, len(shown))]
    article = len(spans) > 1 and shown[slice(*spans[0])].lower() in ARTICLES
    spans = spans[article:]
    own = {one[a:b].lower() for one in (shown, before) for a, b in word_spans(one)}
    drawn = generator(seed, "background", text, start, before, after)
    columns = []
    for a, b in spans:
        first = start + a == 0
        (size,) = words.sizes([shown[a:b]], first)
        pool = [word for word in words.pool(max(1, size), first) if word not in own]
        picks = torch.randint(len(pool), (draws,), generator=drawn).tolist()
        columns.append([pool[number] for number in picks])
    texts = []
    for row in zip(*columns, strict=True):
        put = shown
        for (a, b), word in reversed(list(zip(spans, row, strict=True))):
            put = put[:a] + word + put[b:]
        if article:
            put = put.replace(put.split()[0], "an" if takes_an(row[0]) else "a", 1)
        put = put[:1].upper() + put[1:] if shown[:1].isupper() and start == 0 else put
        texts.append(text[:start] + put + text[start + len(before) :])
    return texts
