"""Scores: does a meaning-changing edit move the model more than a meaning-preserving one?

For text t let x_t be the change by its meaning-changing edit of a kind and y_t1, y_t2, … the
changes by its meaning-preserving edits. The text's share is

    a_t = mean over j of [x_t > y_tj] + ½ [x_t = y_tj],

the probability that the first moves the model more than one of the others; AUC is the mean of a_t
over texts, 0.5 for a model that does not separate them. Its 95 % interval is
Agresti and Coull's, for shares in [0, 1]: with z = 1.96, add z² ≈ 4 texts to the T measured ones,
half of them with share 0 and half with share 1, and take

    mean ± z · standard deviation / √(T + z²)

of all T + z² shares. It never has width zero, whatever the shares of a few texts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from wordsway.auditing.changes import EditEffect
from wordsway.auditing.edits.edit import Edit

T = TypeVar("T")
#: The 97.5 % quantile of a normal variable.
Z = 1.959964
#: With fewer texts a score is shown with its interval, and no sentence is based on it.
FEW = 20


@dataclass(frozen=True)
class Measured:
    """A text whose edits were measured in one model."""

    id: str
    text: str
    edits: tuple[Edit, ...]
    changes: tuple[EditEffect, ...]

    def with_role(self, role: str, kind: str | None = None) -> list[tuple[Edit, EditEffect]]:
        """Edits of a role (and a kind) with what they change."""
        return [
            (edit, change)
            for edit, change in zip(self.edits, self.changes, strict=True)
            if edit.role == role and kind in (None, edit.kind)
        ]


@dataclass(frozen=True)
class Score:
    """An AUC with its 95 % interval."""

    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class KindScore:
    """One kind of meaning-changing edits in one model.

    ``blind`` is the share of meaning-changing edits that move the model less than the median
    meaning-preserving edit of these texts. ``percentile`` is the mean of the percentiles among
    random words, the probability that a meaning-changing edit moves the model more than a random
    word in its place (in percent, with its 95 % interval), ``percentile_keeping`` that of the
    meaning-preserving edits of these texts.

    ``layers`` are the AUCs of layers 0 … L by the cosine distance of pooled states. ``heard`` is
    the first layer that separates the edits (its interval lies above ½), ``lost`` the layer behind
    the last one that does; None if there is no such layer.
    """

    kind: str
    texts: int
    auc: float
    low: float
    high: float
    median_turning: float
    median_keeping: float
    blind: float
    percentile: float | None
    percentile_low: float | None
    percentile_high: float | None
    percentile_keeping: float | None
    layers: tuple[Score, ...]
    heard: int | None
    lost: int | None


def kind_score(measured: Sequence[Measured], kind: str) -> KindScore | None:
    """Return the score of a kind; None if no text has such an edit."""
    shares: list[list[float]] = []
    beside: list[list[float]] = []
    turning: list[EditEffect] = []
    keeping: list[EditEffect] = []
    texts = 0
    for text in measured:
        kept = [change for _, change in text.with_role("keeping")]
        turned = [change for _, change in text.with_role("turning", kind)]
        if not kept or not turned:
            continue
        texts += 1
        per_edit = [_shares(one, kept) for one in turned]
        shares.append(np.mean(per_edit, axis=0).tolist())
        beside.append([one.percentile for one in turned if one.percentile is not None])
        turning += turned
        keeping += kept
    if not texts:
        return None
    scores = intervals(np.array(shares))
    middle = float(np.median([one.value for one in keeping]))
    layers = tuple(scores[1:])
    heard, lost = heard_and_lost(layers)
    return KindScore(
        kind,
        texts,
        scores[0].auc,
        scores[0].low,
        scores[0].high,
        float(np.median([one.value for one in turning])),
        middle,
        float(np.mean([one.value < middle for one in turning])),
        *_percentile(beside),
        _mean([one.percentile for one in keeping]),
        layers,
        heard,
        lost,
    )


def _shares(turned: EditEffect, kept: Sequence[EditEffect]) -> list[float]:
    """a_t by the target, then by every layer."""
    x = np.array([turned.value, *turned.distances])
    y = np.array([[one.value, *one.distances] for one in kept])
    return ((x > y) + 0.5 * (x == y)).mean(axis=0).tolist()


def intervals(shares: np.ndarray) -> list[Score]:
    """The mean of every column of (T, ·) shares in [0, 1], with the 95 % interval over texts.

    >>> [one] = intervals(np.array([[1.0], [1.0]]))
    >>> one.auc, round(one.low, 3), one.high
    (1.0, 0.29, 1.0)
    """
    added = Z * Z / 2
    count = len(shares) + 2 * added
    middle = (shares.sum(axis=0) + added) / count
    squares = (shares * shares).sum(axis=0) + added
    half = Z * np.sqrt((squares / count - middle * middle) / count)
    rows = zip(shares.mean(axis=0), middle - half, middle + half, strict=True)
    return [Score(*(max(0.0, min(1.0, round(float(one), 12))) for one in row)) for row in rows]


def heard_and_lost(layers: Sequence[Score]) -> tuple[int | None, int | None]:
    """Return the first layer that separates the edits, and the layer behind the last one that does.

    >>> scores = [Score(a, a - 0.05, a + 0.05) for a in (0.5, 0.7, 0.9, 0.5, 0.52)]
    >>> heard_and_lost(scores)
    (1, 3)
    """
    noticing = [at for at, score in enumerate(layers) if score.low > 0.5]
    if not noticing:
        return None, None
    last = noticing[-1]
    return noticing[0], last + 1 if last + 1 < len(layers) else None


def _percentile(
    values: Sequence[Sequence[float]],
) -> tuple[float | None, float | None, float | None]:
    """The mean of the texts' percentiles and its interval; Nones if there are none."""
    means = [[float(np.mean(some)) / 100] for some in values if some]
    if not means:
        return None, None, None
    (score,) = intervals(np.array(means))
    return 100 * score.auc, 100 * score.low, 100 * score.high


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


@dataclass(frozen=True)
class BlindSpot:
    """A meaning-changing edit that moves the model less than a meaning-preserving one."""

    kind: str
    text: str
    edited: str
    start: int
    before: str
    after: str
    change: float
    percentile: float | None
    keeping: str
    keeping_before: str
    keeping_after: str
    keeping_change: float

    @property
    def ratio(self) -> float:
        """How many times further the meaning-preserving edit moves the model."""
        return self.keeping_change / max(self.change, 1e-12)


def blind_spots(measured: Sequence[Measured], count: int = 10) -> tuple[BlindSpot, ...]:
    """Return the meaning-changing edits that move the model least, compared with a
    meaning-preserving edit of the same text.
    """
    found = []
    for text in measured:
        kept = text.with_role("keeping")
        if not kept:
            continue
        other, most = max(kept, key=lambda pair: (pair[1].value, pair[0].kind))
        for edit, change in text.with_role("turning"):
            if change.value < most.value:
                about = (edit.kind, edit.text, edit.edited, edit.start, edit.before, edit.after)
                beside = (other.kind, other.before, other.after, most.value)
                found.append(BlindSpot(*about, change.value, change.percentile, *beside))
    found.sort(key=lambda spot: (-spot.ratio, spot.text))
    return tuple(distinct(found, lambda spot: spot, count))


def distinct(found: Iterable[T], edit_of: Callable[[T], Any], count: int) -> list[T]:
    """Return the first ``count`` items, one per text and per pair of words, so that neither fills
    the list.
    """
    chosen: list[T] = []
    seen: set[object] = set()
    for item in found:
        edit = edit_of(item)
        words = (edit.before.lower(), edit.after.lower())
        if edit.text not in seen and words not in seen:
            chosen.append(item)
        seen |= {edit.text, words}
    return chosen[:count]
