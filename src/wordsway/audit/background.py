"""Where two texts differ, and random real words in that place: what any word would do there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import torch

from wordsway.audit.forms import takes_an
from wordsway.probing.differences import common, common_end
from wordsway.reading import word_spans
from wordsway.seeds import generator
from wordsway.text.wordnet import wordnet

#: Uses in the tagged texts that a random word needs: about three thousand are known that well.
USES = 15
ARTICLES = ("a", "an")


class Place(NamedTuple):
    """``before``, at ``start`` of the first text, becomes ``after``."""

    start: int
    before: str
    after: str


def place_of(a: str, b: str) -> Place:
    """The one stretch of words in which two texts differ; other words before and behind it are
    common.

    >>> place_of("It is good.", "It is not good."), place_of("It is good.", "It is bad.")
    (Place(start=6, before='', after='not '), Place(start=6, before='good', after='bad'))
    """
    spans_a, spans_b = word_spans(a), word_spans(b)
    words_a, words_b = [a[i:j] for i, j in spans_a], [b[i:j] for i, j in spans_b]
    head, tail = common(words_a, words_b), common_end(words_a, words_b)
    left_a, right_a = _stretch(spans_a, head, tail, len(a))
    left_b, right_b = _stretch(spans_b, head, tail, len(b))
    if head + tail in (len(words_a), len(words_b)):
        # Something is put in or taken out: a space goes along, the one behind it if there is one.
        if tail:
            right_a = spans_a[len(spans_a) - tail][0]
            right_b = spans_b[len(spans_b) - tail][0]
        elif head:
            left_a = spans_a[head - 1][1]
            left_b = spans_b[head - 1][1]
    return Place(left_a, a[left_a:right_a], b[left_b:right_b])


def _stretch(spans: Sequence[tuple[int, int]], head: int, tail: int, end: int) -> tuple[int, int]:
    """Characters of the words between the first ``head`` and the last ``tail``."""
    left = spans[head][0] if head < len(spans) else end
    last = len(spans) - tail
    return left, spans[last - 1][1] if last > head else left


@cache
def common_words() -> tuple[str, ...]:
    """Frequent English words, from WordNet's own counts, sorted."""
    uses: dict[str, int] = {}
    for line in (wordnet().folder / "index.sense").read_text("latin-1").splitlines():
        word = line.partition("%")[0]
        if word.isalpha() and 3 <= len(word) <= 12:
            uses[word] = uses.get(word, 0) + int(line.rpartition(" ")[2])
    return tuple(sorted(word for word, count in uses.items() if count >= USES))


def background(text: str, place: Place, draws: int, seed: int) -> list[str]:
    """``draws`` texts with random real words in that place.

    As many words as the change puts in, and as it takes out where it puts none in; an article that
    the change only adjusts ("a" to "an") stays an article. The words of the change are not drawn.

    >>> [one.split()[:2] for one in background("It is good.", Place(6, "good", "bad"), 2, seed=0)]
    [['It', 'is'], ['It', 'is']]
    """
    start, before, after = place
    shown = after if after.strip() else before
    words = [shown[i:j] for i, j in word_spans(shown)] or [shown]
    kept = words[0] if len(words) > 1 and words[0].lower() in ARTICLES else None
    count = len(words) - (kept is not None)
    own = {word.lower() for word in (*words, *before.split())}
    pool = [word for word in common_words() if word not in own]
    drawn = generator(seed, "background", text, start, before, after)
    picks = torch.randint(len(pool), (draws, count), generator=drawn).tolist()
    capital = start == 0 and shown[:1].isupper()
    lead = " " if shown.startswith(" ") else ""
    space = " " if shown.endswith(" ") else ""
    texts = []
    for row in picks:
        chosen = [pool[number] for number in row]
        if kept is not None:
            chosen.insert(0, "an" if takes_an(chosen[0]) else "a")
        put = f"{lead}{' '.join(chosen)}{space}"
        put = put[:1].upper() + put[1:] if capital else put
        texts.append(text[:start] + put + text[start + len(before) :])
    return texts
