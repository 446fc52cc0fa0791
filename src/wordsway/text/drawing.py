"""Drawing texts by seed, in one pass and bounded memory, whatever the order of the file.

Each text gets the key SHA-256(seed, SHA-256 of the text); the draw takes texts in the order of
their keys. So a draw depends on the seed and on which texts there are, not on their order; no text
comes twice, even if the file repeats it; and the first texts of a larger draw are the smaller draw.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from wordsway.core.checks import Count, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.seeds import check_seed
from wordsway.text.corpora import Corpus, Text
from wordsway.text.corpora import corpus as opened

#: Candidates held per pass, at least; each pass that does not suffice holds eight times more.
POOL = 256


@validated
def draw(
    corpus: Any,
    count: Count,
    seed: Seed,
    *,
    accept: Callable[[list[Text]], list[bool]] = lambda texts: [True] * len(texts),
    promising: Callable[[str], bool] = lambda text: True,
    balanced: bool = False,
    wanted: str = "texts",
) -> list[Text]:
    """The first ``count`` acceptable texts of the seed's order; ``balanced`` alternates labels −1,
    +1, −1, …

    ``promising`` is a cheap test of the characters, applied to every text; ``accept`` may be
    expensive, and sees only candidates, in batches.

    >>> from wordsway.text.corpora import corpus
    >>> numbers = corpus([str(number) for number in range(100)])
    >>> draw(numbers, 3, seed=0) == draw(numbers, 10, seed=0)[:3]
    True
    """
    corpus = corpus if isinstance(corpus, Corpus) else opened(corpus)
    shares = {-1: (count + 1) // 2, 1: count // 2} if balanced else {0: count}
    found: dict[int, list[Text]] = {side: [] for side in shares}
    pool, after, taken = max(POOL, 4 * count), dict.fromkeys(shares, -1), set[str]()
    short = {side for side, share in shares.items() if share}
    while short:
        candidates, full = _smallest(corpus, seed, pool, after, promising, balanced)
        if (
            count > corpus.faults.texts - corpus.faults.empty
        ):  # said before anything expensive is tried
            raise _too_few(corpus, 0, count, corpus.faults.texts - corpus.faults.empty, wanted)
        for side in sorted(short):
            for batch in _batches(candidates[side], 2 * (shares[side] - len(found[side]))):
                fresh = [
                    text for _, text in batch if text.sha256 not in taken
                ]  # a text may stand under both labels
                for text, fine in zip(fresh, accept(fresh), strict=True):
                    if fine and len(found[side]) < shares[side]:
                        found[side].append(text)
                        taken.add(text.sha256)
                if len(found[side]) == shares[side]:
                    break
            if candidates[side]:
                after[side] = candidates[side][-1][0]
        missing = {side for side in short if len(found[side]) < shares[side]}
        for side in missing - full:
            raise _too_few(corpus, side, shares[side], len(found[side]), wanted)
        short = missing
        pool *= 8
    if not balanced:
        return found[0]
    return [found[(-1, 1)[number % 2]][number // 2] for number in range(count)]


def _too_few(corpus: Corpus, side: int, share: int, found: int, wanted: str) -> InputError:
    which = {-1: " with label −1", 1: " with label +1"}.get(side, "")
    total = corpus.faults.texts - corpus.faults.empty
    return InputError(
        f"{share} different {wanted}{which} in {corpus.name}",
        f"{found} among {total:,}",
        "draw fewer, or take a smaller n",
    )


def _smallest(
    corpus: Corpus,
    seed: int,
    pool: int,
    after: dict[int, int],
    promising: Callable[[str], bool],
    balanced: bool,
) -> tuple[dict[int, list[tuple[int, Text]]], set[int]]:
    """Per label (or 0) the ``pool`` texts with the smallest keys beyond ``after``, sorted by key;
    and the labels with more.
    """
    heaps: dict[str | None, list[tuple[int, Text]]] = {}
    held: dict[str | None, set[int]] = {}
    prefix = f"{check_seed(seed)}:".encode()
    for text in corpus:
        if not promising(text.text):
            continue
        side = text.kind if balanced else None
        label = (
            corpus.signs.get(text.kind or "") if balanced else 0
        )  # unknown in the first pass, which takes all
        bound = -1 if label is None else after[label]
        key = int.from_bytes(hashlib.sha256(prefix + text.sha256.encode()).digest()[:16], "big")
        heap, keys = heaps.setdefault(side, []), held.setdefault(side, set())
        if key <= bound or key in keys or (len(heap) == pool and key > -heap[0][0]):
            continue
        keys.add(key)
        if len(heap) < pool:
            heapq.heappush(heap, (-key, text))
        else:
            keys.discard(-heapq.heappushpop(heap, (-key, text))[0])
    if balanced and (None in heaps or len(corpus.signs) < 2):
        got = "texts without a label" if None in heaps else f"{len(corpus.signs)} kinds"
        raise InputError(
            f"labels of two kinds in {corpus.name}, to balance them",
            got,
            "name the labels with --label-column",
        )
    named = {
        (corpus.signs[kind] if balanced and kind is not None else 0): heap
        for kind, heap in heaps.items()
    }
    full = {side for side, heap in named.items() if len(heap) == pool}
    return {
        side: sorted(((-key, text) for key, text in named.get(side, [])), key=lambda pair: pair[0])
        for side in after
    }, full


def _batches(items: list[tuple[int, Text]], size: int) -> Iterator[list[tuple[int, Text]]]:
    size = max(8, size)
    for start in range(0, len(items), size):
        yield items[start : start + size]
