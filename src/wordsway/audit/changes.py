"""How far edits of one text move a model, beside random words in the same places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.audit.background import Place, background
from wordsway.audit.encoder import Encoder, cosine_distance, relative


@dataclass(frozen=True)
class Change:
    """What one edit does to a model.

    ``value`` is the change by the target, ``percentile`` the share of random real words in that
    place that do less (in percent, ties count half; None without any), ``typical`` their median.
    ``cosine`` compares the pooled embeddings. Per layer 0 … L: ``distances``, the cosine distance
    of the pooled states, and ``layers``, their relative change ‖v − u‖/‖u‖.
    """

    value: float
    percentile: float | None
    typical: float | None
    cosine: float
    distances: tuple[float, ...]
    layers: tuple[float, ...]

    @property
    def parts(self) -> int:
        """The layer in which the texts part: the one whose relative change has grown most over the
        layer before it.
        """
        growth = [after - before for before, after in itertools.pairwise(self.layers)]
        return 1 + growth.index(max(growth)) if growth else 0


def changes(
    encoder: Encoder, text: str, places: Sequence[Place], *, draws: int, seed: int
) -> list[Change]:
    """The change by each edit of a text; all texts run together."""
    edited = [text[: p.start] + p.after + text[p.start + len(p.before) :] for p in places]
    others = [one for place in places for one in background(text, place, draws, seed)]
    texts = [text, *edited, *others]
    unique = list(dict.fromkeys(texts))
    pooled, heads = encoder.pooled(unique), None
    if encoder.head is not None:
        heads = encoder.heads(unique)
    values = dict(zip(unique, [0.0, *encoder.changes(pooled, heads).tolist()], strict=True))
    rows = {one: number for number, one in enumerate(unique)}
    found = []
    for number, one in enumerate(edited):
        row = rows[one]
        beside = sorted(values[other] for other in others[number * draws : (number + 1) * draws])
        distances = cosine_distance(pooled[0], pooled[row])
        found.append(
            Change(
                values[one],
                percentile(values[one], beside),
                float(torch.tensor(beside, dtype=torch.float64).quantile(0.5)) if beside else None,
                1.0 - float(distances[-1]),
                tuple(distances.tolist()),
                tuple(relative(pooled[0], pooled[row]).tolist()),
            )
        )
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
