"""How two prompts differ: in words, in which rows stand for each other, in what they predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import torch

from wordsway.core.reading import word_spans

#: Words of the differing part that are still compared one by one; beyond, it is one change.
MATCHED = 2000


@dataclass(frozen=True)
class WordEdit:
    """Words of a in whose place b has others; an empty side is an insertion or deletion."""

    a: str
    b: str
    a_words: tuple[int, ...]
    b_words: tuple[int, ...]
    a_span: tuple[int, int]
    b_span: tuple[int, int]


def word_edits(a: str, b: str) -> tuple[WordEdit, ...]:
    """The words that differ, in the order of the texts; words as in ``core.reading``.

    >>> [(edit.a, edit.b, edit.a_words) for edit in word_edits("I love her", "I love him")]
    [('her', 'him', (2,))]
    """
    spans_a, spans_b = word_spans(a), word_spans(b)
    words_a, words_b = [a[slice(*span)] for span in spans_a], [b[slice(*span)] for span in spans_b]
    start, stop = common(words_a, words_b), common_end(words_a, words_b)
    middle_a, middle_b = words_a[start : len(words_a) - stop], words_b[start : len(words_b) - stop]
    if max(len(middle_a), len(middle_b)) > MATCHED:
        codes = [("replace", 0, len(middle_a), 0, len(middle_b))]
    else:
        codes = list(SequenceMatcher(None, middle_a, middle_b, autojunk=False).get_opcodes())
    edits = []
    for kind, a1, a2, b1, b2 in codes:
        if kind != "equal":
            rows_a, rows_b = range(start + a1, start + a2), range(start + b1, start + b2)
            at_a, at_b = span_of(spans_a, rows_a, len(a)), span_of(spans_b, rows_b, len(b))
            edits.append(
                WordEdit(a[slice(*at_a)], b[slice(*at_b)], tuple(rows_a), tuple(rows_b), at_a, at_b)
            )
    return tuple(edits)


def span_of(spans: Sequence[tuple[int, int]], words: range, end: int) -> tuple[int, int]:
    """Characters from the first to the last word; for none, where they would stand."""
    if len(words):
        return spans[words[0]][0], spans[words[-1]][1]
    at = spans[words.start][0] if words.start < len(spans) else end
    return at, at


def common(a: Sequence[object], b: Sequence[object]) -> int:
    """How many items both begin with."""
    return next(
        (at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other),
        min(len(a), len(b)),
    )


def common_end(a: Sequence[object], b: Sequence[object]) -> int:
    """How many items both end with, beyond those that both begin with."""
    start = common(a, b)
    return common(a[start:][::-1], b[start:][::-1])


def line_up(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """Rows of a and b that stand for each other: all of them for equal lengths; else common prefix,
    common suffix, and the last ones.

    >>> line_up([1, 2, 3, 9], [1, 5, 6, 3, 9])
    [(0, 0), (2, 3), (3, 4)]
    >>> line_up([1, 2], [1, 3, 4])
    [(0, 0), (1, 2)]
    """
    if len(a) == len(b):
        return [(row, row) for row in range(len(a))]
    start, stop = common(a, b), common_end(a, b)
    ending = max(1, stop)
    # Where one prompt is the beginning of the other, its last row is met by the last row of the
    # other, not by its own copy.
    start = min(start, len(a) - ending, len(b) - ending)
    return [(row, row) for row in range(start)] + [
        (len(a) - row, len(b) - row) for row in range(ending, 0, -1)
    ]


def divergence(p: torch.Tensor, q: torch.Tensor) -> float:
    """KL(p‖q) = Σ p (log p − log q) in nats, from logarithms of probabilities in float64.

    >>> p, q = torch.tensor([[0.5, 0.5], [0.25, 0.75]]).double().log()
    >>> round(divergence(p, q), 12)  # ½ log 2 + ½ log ⅔
    0.143841036226
    """
    # Σ q − p = 0 makes every term p·(r − 1 + e^{−r}), r = log p − log q, which is ≥ 0: near p = q
    # nothing large cancels.
    r = p - q
    near = p.exp() * (r + torch.expm1(-r.clamp(-1, 1)))
    far = p.exp() * r - p.exp() + q.exp()
    return float(torch.where(r.abs() < 1, near, far).clamp_min(0).sum())
