"""How far edits of texts move a model, compared with random words in the same places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from wordsway.auditing.background import Place, background
from wordsway.auditing.encoder import AnyEncoder, ScoringEncoder
from wordsway.core.errors import InputError
from wordsway.probing.relative import cosine_distance, relative

#: A text, the places of its edits, and the number of leading edits to compare with random words.
EditedText = tuple[str, Sequence[Place], int]


@dataclass(frozen=True)
class EditEffect:
    """The effect of one edit on a model.

    ``value`` is the change of the target, ``percentile`` the share of random real words in that
    place that change it less (in percent, ties count half; None without random words), ``typical``
    the median change by random words. ``cosine`` compares the pooled embeddings. Per layer 0 … L:
    ``distances``, the cosine distance of the pooled states, and ``layers``, their relative change
    ‖v − u‖/‖u‖. ``label`` and ``edited_label`` are those of a classifier, before and after the
    edit, and ``flips`` is whether they differ; None for other models.
    """

    value: float
    percentile: float | None
    typical: float | None
    cosine: float
    distances: tuple[float, ...]
    layers: tuple[float, ...]
    label: str | None = None
    edited_label: str | None = None

    @property
    def flips(self) -> bool | None:
        return None if self.label is None else self.label != self.edited_label

    @property
    def parts(self) -> int | None:
        """The layer whose relative change exceeds that of the layer before it most."""
        growth = [after - before for before, after in itertools.pairwise(self.layers)]
        return 1 + growth.index(max(growth)) if growth else None


def changes_of(
    encoder: AnyEncoder,
    texts: Sequence[EditedText],
    *,
    draws: int,
    seed: int,
) -> list[list[EditEffect] | InputError]:
    """Return the effects of the edits of each text, or the error if the text cannot be read.

    All texts share batches, and texts with the same tokens are encoded once.
    """
    cases = [_case(encoder, *text, draws, seed) for text in texts]
    unique = _distinct(cases)
    if not unique:
        return [case for case in cases if isinstance(case, InputError)]
    if isinstance(encoder, ScoringEncoder):
        return [
            case if isinstance(case, InputError) else _scored(case, encoder.scores(case.ids))
            for case in cases
        ]
    rows = {ids: number for number, ids in enumerate(unique)}
    pooled = encoder.pooled(unique)
    vectors = encoder.vectors(unique, pooled)
    found: list[list[EditEffect] | InputError] = []
    for case in cases:
        if isinstance(case, InputError):
            found.append(case)
            continue
        own = [rows[ids] for ids in case.ids]
        mine = [vectors[row] for row in own]
        values = with_ties(encoder.distances(case.ids, mine).tolist(), mine)
        found.append(_changes(case, pooled[own], values, encoder.labels(mine)))
    return found


def tokens_of(
    encoder: AnyEncoder, texts: Sequence[EditedText], *, draws: int, seed: int
) -> list[tuple[Any, ...]]:
    """The distinct texts, in tokens, that `changes_of` would encode."""
    return _distinct([_case(encoder, *text, draws, seed) for text in texts])


def _distinct(cases: Sequence[_Case | InputError]) -> list[tuple[Any, ...]]:
    read = [case for case in cases if not isinstance(case, InputError)]
    return list(dict.fromkeys(ids for case in read for ids in case.ids))


@dataclass(frozen=True)
class _Case:
    """Tokens of a text, its edits, and ``draws`` random words for the first ``compared``."""

    ids: list[tuple[Any, ...]]
    edits: int
    compared: int
    draws: int


def _case(
    encoder: AnyEncoder, text: str, places: Sequence[Place], compared: int, draws: int, seed: int
) -> _Case | InputError:
    try:
        own = encoder.tokens([text, *(place.edited(text) for place in places)])
        others = [
            one
            for place in places[:compared]
            for one in (background(text, place, draws, seed, encoder.words) if draws else ())
        ]
        return _Case([*own, *encoder.tokens(others)], len(places), compared, draws)
    except InputError as error:
        return error


def _changes(
    case: _Case, pooled: torch.Tensor, values: Sequence[float], labels: Sequence[str] | None
) -> list[EditEffect]:
    states = pooled[: 1 + case.edits]
    distances = cosine_distance(states[:1], states[1:])
    by_layer = [
        with_ties(column.tolist(), states[:, layer].unbind())
        for layer, column in enumerate(distances.T)
    ]
    layers = relative(states[:1], states[1:])
    found = []
    for number in range(case.edits):
        first = case.edits + number * case.draws
        beside = values[first : first + case.draws] if number < case.compared else []
        found.append(
            EditEffect(
                values[number],
                percentile(values[number], beside),
                median(beside) if beside else None,
                1.0 - float(distances[number, -1]),
                tuple(column[number] for column in by_layer),
                tuple(layers[number].tolist()),
                *((labels[0], labels[1 + number]) if labels else ()),
            )
        )
    return found


def _scored(case: _Case, scores: torch.Tensor) -> list[EditEffect]:
    """The effects of edits on a model that scores pairs: how far the score of (text, edited text)
    is below that of (text, text). ``cosine`` is the former score.
    """
    falls = (scores[0] - scores[1:]).tolist()
    whole = abs(float(scores[0])) or 1.0
    return [
        replace(one, cosine=float(score), distances=(fall,), layers=(abs(fall) / whole,))
        for one, score, fall in zip(
            _changes(case, torch.ones(len(scores), 1, 1), falls, None),
            scores[1:],
            falls,
            strict=False,
        )
    ]


#: Distances that differ by less than this many units in the last place of the vectors are equal.
ULPS = 256


def with_ties(values: Sequence[float], vectors: Sequence[torch.Tensor]) -> list[float]:
    """The values, those that differ by rounding of the vectors alone replaced by the least of them.

    The tolerance is relative: `ULPS` units of single precision if it represents all vectors
    exactly, whatever their dtype, and of double precision otherwise.

    >>> with_ties([0.3, 0.1, 0.3 + 1e-8], [torch.ones(2, dtype=torch.float64)])
    [0.3, 0.1, 0.3]
    """
    single = all(torch.equal(one.double(), one.float().double()) for one in vectors)
    tolerance = ULPS * torch.finfo(torch.float32 if single else torch.float64).eps
    found = list(values)
    order = sorted(range(len(found)), key=found.__getitem__)
    for one, two in itertools.pairwise(order):
        if values[two] - values[one] <= tolerance * abs(values[two]):
            found[two] = found[one]
    return found


def percentile(value: float, beside: Sequence[float]) -> float | None:
    """The share of ``beside`` below ``value``, in percent; ties count half.

    >>> percentile(2.0, [1.0, 2.0, 3.0, 4.0]), percentile(2.0, [])
    (37.5, None)
    """
    if not beside:
        return None
    below = sum(one < value for one in beside) + 0.5 * sum(one == value for one in beside)
    return 100.0 * below / len(beside)
