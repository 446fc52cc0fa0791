"""Scores: is a rewording closer to a text than a change of its meaning?

For text t let x_t be the change by its meaning-changing edit of a kind and y_t1, y_t2, … the
changes by its meaning-preserving edits of a level. The text's share is

    a_t = mean over j of [x_t > y_tj] + ½ [x_t = y_tj],

the probability that the first moves the model more than one of the others. The score of the level
is the mean of a_t over texts, 0.5 for a model that does not separate them. Levels:

    small      one harmless edit: made by a rule, or a rewording of one word
    several    all harmless edits that a text allows, at once
    light      a rewording of 1 to 4 words, in a user's table at most half of the text's
    heavy      a rewording of most words
    rewording  every rewording: light, heavy, made by a rule, or from a user's table

A 95 % interval is Agresti and Coull's, for shares in [0, 1]: with z = 1.96, add z² ≈ 4 texts to the
T measured ones, half of them with share 0 and half with share 1, and take

    mean ± z · standard deviation / √(T + z²)

of all T + z² shares. Its width is positive even if all T shares are equal.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wordsway.auditing.changes import EditEffect
from wordsway.auditing.edits.edit import Edit
from wordsway.core.format import rounded
from wordsway.core.result import json_fields, json_value

#: The 97.5 % quantile of a normal variable.
Z = 1.959964
#: With fewer texts a score is shown with its interval, but not mentioned in the summary.
FEW = 20


#: Meaning-preserving edits by level.
LEVELS: dict[str, Callable[[Edit], bool]] = {
    "small": lambda edit: (
        edit.strength == "small" or (edit.strength == "light" and edit.words_changed == 1)
    ),
    "several": lambda edit: edit.strength == "several",
    "light": lambda edit: edit.strength == "light",
    "heavy": lambda edit: edit.strength == "heavy",
    "rewording": lambda edit: edit.strength in ("light", "heavy", "rewording"),
}
#: Overlaps match if they differ by less than this.
MATCHED = 0.1
#: Bins of the overlap of the change minus that of the rewording.
BINS = (-1.0, -MATCHED, MATCHED, 0.3, 0.5, 1.0)
Compared = Callable[[Edit, Edit], bool]


@dataclass(frozen=True)
class Measured:
    """A text whose edits were measured in one model."""

    id: str
    text: str
    edits: tuple[Edit, ...]
    changes: tuple[EditEffect, ...]

    def with_role(self, role: str, kind: str | None = None) -> list[tuple[Edit, EditEffect]]:
        """Return the edits of a role (and a kind), each with its effect."""
        return [
            (edit, change)
            for edit, change in zip(self.edits, self.changes, strict=True)
            if edit.role == role and kind in (None, edit.kind)
        ]

    def keeping(self, level: str) -> list[tuple[Edit, EditEffect]]:
        """Return the meaning-preserving edits of a level, each with its effect."""
        return [pair for pair in self.with_role("keeping") if LEVELS[level](pair[0])]


class Score(NamedTuple):
    """An AUC with its 95 % interval."""

    auc: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return self._asdict()


@dataclass(frozen=True)
class Share:
    """A share of comparisons, or of texts, with its 95 % interval over ``texts``."""

    texts: int
    score: float
    low: float
    high: float

    def __format__(self, digits: str) -> str:
        ends = (rounded(one, int(digits[1])) for one in (self.score, self.low, self.high))
        return "{} ({} to {})".format(*ends)


@dataclass(frozen=True)
class LevelScore(Share):
    """The score of one level.

    ``overlap`` is the median overlap of the meaning-preserving edits with their texts. ``layers``
    are the scores of layers 0 … L by the cosine distance of pooled states. ``heard`` is the first
    layer that separates the edits (its interval lies above ½), ``lost`` the layer after the last
    one that does; None if there is no such layer.
    """

    overlap: float
    layers: tuple[Score, ...]

    @property
    def heard(self) -> int | None:
        return heard_and_lost(self.layers)[0]

    @property
    def lost(self) -> int | None:
        return heard_and_lost(self.layers)[1]


def text_shares(
    measured: Sequence[Measured],
    level: str,
    kind: str | None = None,
    compared: Compared = lambda changed, kept: True,
) -> dict[tuple[str, str], list[float]]:
    """a_t of the target and of every layer per text, over edits that ``compared`` accepts."""
    found: dict[tuple[str, str], list[float]] = {}
    for text in measured:
        kept = text.keeping(level)
        rows = []
        for edit, change in text.with_role("turning", kind):
            beside = [other for one, other in kept if compared(edit, one)]
            if beside:
                rows.append(_shares(change, beside))
        if rows:
            found[text.id, text.text] = np.mean(rows, axis=0).tolist()
    return found


def level_score(
    measured: Sequence[Measured],
    level: str,
    kind: str | None = None,
    compared: Compared = lambda changed, kept: True,
) -> LevelScore | None:
    """Return the score of a level; None if no text has edits to compare."""
    shares = text_shares(measured, level, kind, compared)
    if not shares:
        return None
    first, *layers = intervals(np.array(list(shares.values())))
    overlaps = [
        edit.overlap
        for text in measured
        if (text.id, text.text) in shares
        for edit, _ in text.keeping(level)
    ]
    return LevelScore(len(shares), *first, float(np.median(overlaps)), tuple(layers))


def level_scores(measured: Sequence[Measured], kind: str | None = None) -> dict[str, LevelScore]:
    found = {level: level_score(measured, level, kind) for level in LEVELS}
    return {level: score for level, score in found.items() if score is not None}


def matched_overlap(measured: Sequence[Measured], kind: str | None = None) -> LevelScore | None:
    """Return the score of rewordings among edits whose overlaps differ by less than `MATCHED`."""
    return level_score(
        measured, "rewording", kind, lambda one, two: abs(one.overlap - two.overlap) < MATCHED
    )


@dataclass(frozen=True)
class OverlapBin:
    """The score over edits whose difference of overlaps lies between ``least`` and ``most``."""

    least: float
    most: float
    texts: int
    score: float
    low: float
    high: float


def by_overlap(measured: Sequence[Measured]) -> tuple[OverlapBin, ...]:
    """Return the score of rewordings as a curve over the difference of overlaps."""
    found = []
    for at, (least, most) in enumerate(itertools.pairwise(BINS)):

        def inside(change: Edit, kept: Edit, at: int = at) -> bool:
            return int(np.digitize(change.overlap - kept.overlap, BINS[1:-1])) == at

        score = level_score(measured, "rewording", compared=inside)
        if score is not None:
            found.append(OverlapBin(least, most, score.texts, score.score, score.low, score.high))
    return tuple(found)


Cosines = list[list[float]]


def cosines(
    measured: Sequence[Measured], kind: str | None = None, level: str = "rewording"
) -> tuple[Cosines, Cosines]:
    """Cosines of changed and of reworded texts with their originals, of texts with both."""
    changed: Cosines = []
    kept: Cosines = []
    for text in measured:
        some = text.with_role("turning", kind)
        others = text.keeping(level)
        if some and others:
            changed.append([effect.cosine for _, effect in some])
            kept.append([effect.cosine for _, effect in others])
    return changed, kept


def median_cosine(found: Cosines) -> float | None:
    """The median of all cosines; None if there are none."""
    return float(np.median(np.concatenate(found))) if found else None


@dataclass(frozen=True)
class KindScore:
    """One kind in one model, at every level that has texts.

    ``median_turning`` and ``median_keeping`` are the median changes by meaning-changing edits and
    by small meaning-preserving ones of the same texts, ``blind`` the share of the former below the
    latter. ``percentile`` is the mean of the percentiles among random words, the probability that a
    meaning-changing edit moves the model more than a random word in its place (in percent, with its
    95 % interval), ``percentile_keeping`` that of the small edits. ``cosine_change`` and
    ``cosine_rewording`` are the median cosines of changed and of reworded texts. Numbers without
    texts are None.
    """

    kind: str
    levels: Mapping[str, LevelScore]
    median_turning: float | None
    median_keeping: float | None
    blind: float | None
    percentile: float | None
    percentile_low: float | None
    percentile_high: float | None
    percentile_keeping: float | None
    cosine_change: float | None
    cosine_rewording: float | None
    matched: LevelScore | None

    @property
    def small(self) -> LevelScore | None:
        return self.levels.get("small")

    @property
    def texts(self) -> int:
        """The largest number of texts of any level."""
        return max(score.texts for score in self.levels.values())

    def to_dict(self) -> dict[str, Any]:
        """The fields; those of the small level also under their names of version 0.2.0."""
        names = {"auc": "score"} | {name: name for name in ("low", "high", "heard", "lost")}
        small = {name: getattr(self.small, field, None) for name, field in names.items()}
        small |= {"texts": getattr(self.small, "texts", 0)}
        return json_fields(self) | small | {"layers": json_value(getattr(self.small, "layers", ()))}


def kind_score(measured: Sequence[Measured], kind: str) -> KindScore | None:
    """Return the scores of a kind; None if no text has such an edit and one to compare it with."""
    levels = level_scores(measured, kind)
    if not levels:
        return None
    beside: list[list[float]] = []
    turning: list[EditEffect] = []
    keeping: list[EditEffect] = []
    for text in measured:
        kept = [change for _, change in text.keeping("small")]
        turned = [change for _, change in text.with_role("turning", kind)]
        if kept and turned:
            beside.append([one.percentile for one in turned if one.percentile is not None])
            turning += turned
            keeping += kept
    middle = float(np.median([one.value for one in keeping])) if keeping else None
    changed, reworded = cosines(measured, kind)
    return KindScore(
        kind,
        levels,
        float(np.median([one.value for one in turning])) if turning else None,
        middle,
        None if middle is None else float(np.mean([one.value < middle for one in turning])),
        *_percentile(beside),
        _mean([one.percentile for one in keeping]),
        median_cosine(changed),
        median_cosine(reworded),
        matched_overlap(measured, kind),
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
    """Return the first layer that separates the edits, and the layer after the last one that does.

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
    return Score(*(100 * end for end in score))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
