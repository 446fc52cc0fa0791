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
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from wordsway.auditing.changes import EditEffect
from wordsway.auditing.edits.edit import Edit
from wordsway.core.format import count
from wordsway.core.result import json_fields, json_value

T = TypeVar("T")
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
#: Cosine thresholds: texts with at least this cosine count as the same.
THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.97, 0.98, 0.99)
#: The share of changes that a strict threshold accepts, at most, and the steps of 1.
STRICT, STEPS = 0.05, 10_000
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


@dataclass(frozen=True)
class Score:
    """An AUC with its 95 % interval."""

    auc: float
    low: float
    high: float


@dataclass(frozen=True)
class LevelScore:
    """The score of one level with its 95 % interval over ``texts``.

    ``overlap`` is the median overlap of the meaning-preserving edits with their texts. ``layers``
    are the scores of layers 0 … L by the cosine distance of pooled states. ``heard`` is the first
    layer that separates the edits (its interval lies above ½), ``lost`` the layer after the last
    one that does; None if there is no such layer.
    """

    texts: int
    score: float
    low: float
    high: float
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
    ends = (first.auc, first.low, first.high)
    return LevelScore(len(shares), *ends, float(np.median(overlaps)), tuple(layers))


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


@dataclass(frozen=True)
class Threshold:
    """The errors if texts with at least this cosine count as the same: the share of changed texts
    that are accepted and of reworded texts that are rejected, with their 95 % intervals.
    """

    threshold: float
    accepted_changes: float
    accepted_low: float
    accepted_high: float
    rejected_rewordings: float
    rejected_low: float
    rejected_high: float


Cosines = list[list[float]]


def cosines(measured: Sequence[Measured], kind: str | None = None) -> tuple[Cosines, Cosines]:
    """Cosines of changed and of reworded texts with their originals, of texts with both."""
    changed: Cosines = []
    kept: Cosines = []
    for text in measured:
        some = text.with_role("turning", kind)
        others = text.keeping("rewording")
        if some and others:
            changed.append([effect.cosine for _, effect in some])
            kept.append([effect.cosine for _, effect in others])
    return changed, kept


def median_cosine(found: Cosines) -> float | None:
    """The median of all cosines; None if there are none."""
    return float(np.median(np.concatenate(found))) if found else None


def threshold_at(tau: float, changed: Cosines, kept: Cosines) -> Threshold:
    """Return both errors at one threshold: means over texts, with the intervals over texts.

    >>> found = threshold_at(0.9, [[0.95], [0.8]], [[0.97, 0.92], [0.5, 0.99]])
    >>> found.accepted_changes, found.rejected_rewordings
    (0.5, 0.25)
    """
    (accepted,) = intervals(np.array([[np.mean(np.array(one) >= tau)] for one in changed]))
    (rejected,) = intervals(np.array([[np.mean(np.array(one) < tau)] for one in kept]))
    ends = (rejected.auc, rejected.low, rejected.high)
    return Threshold(tau, accepted.auc, accepted.low, accepted.high, *ends)


def equal_error(changed: Cosines, kept: Cosines) -> Threshold | None:
    """Return the threshold at which both errors are closest to each other; None if they differ by
    more than ½ there, as those of a model with one vector for all texts do.

    Accepted changes fall with the threshold and rejected rewordings rise; both change only at
    measured cosines, so these are the candidates.
    """
    candidates, accepted, rejected = _errors(changed, kept)
    apart = np.abs(accepted - rejected)
    best = int(np.argmin(apart))
    return threshold_at(_simplest(candidates, best), changed, kept) if apart[best] <= 0.5 else None


@dataclass(frozen=True)
class BestThreshold(Threshold):
    """The threshold with the least ``sum`` of both errors, with the 95 % interval of this sum."""

    sum: float
    sum_low: float
    sum_high: float


def best_threshold(changed: Cosines, kept: Cosines) -> BestThreshold:
    """Return the threshold with the least sum of both errors, 1 for one that decides by chance.

    >>> best_threshold([[0.8], [0.9]], [[0.85], [0.95]]).sum
    0.5
    """
    candidates, accepted, rejected = _errors(changed, kept)
    tau = _simplest(candidates, int(np.argmin(accepted + rejected)))
    halves = [
        [(np.mean(np.array(some) >= tau) + np.mean(np.array(others) < tau)) / 2]
        for some, others in zip(changed, kept, strict=True)
    ]
    (half,) = intervals(np.array(halves))
    ends = (2 * half.auc, 2 * half.low, 2 * half.high)
    both = threshold_at(tau, changed, kept)
    return BestThreshold(**vars(both), sum=ends[0], sum_low=ends[1], sum_high=ends[2])


def rejected_shares(measured: Sequence[Measured], tau: float) -> dict[str, float | None]:
    """The shares of light and of heavy rewordings below a threshold, over texts that have a change
    and such a rewording; None without these.
    """
    found = {}
    for level in ("light", "heavy"):
        kept = [text.keeping(level) for text in measured if text.with_role("turning")]
        shares = [np.mean([one.cosine < tau for _, one in some]) for some in kept if some]
        found[f"rejected_{level}"] = float(np.mean(shares)) if shares else None
    return found


def strict_threshold(changed: Cosines, kept: Cosines) -> Threshold | None:
    """Return the smallest threshold, in `STEPS` steps of 1, that accepts at most `STRICT` of the
    changes; None if 1 accepts more.
    """
    step = np.floor(np.concatenate(changed) * STEPS)
    # Two steps: rounding of the product may put a cosine below its own step.
    above = np.unique([step + 1, step + 2]) / STEPS
    for tau in above[above <= 1]:
        if np.mean([np.mean(np.array(one) >= tau) for one in changed]) <= STRICT:
            return threshold_at(float(tau), changed, kept)
    return None


def separates(equal: Threshold | None, best: BestThreshold) -> bool | None:
    """Whether a threshold works: not if half or more of either kind are wrong where both errors are
    equal; None if the interval of their least sum includes 1.
    """
    wrong = 1.0 if equal is None else (equal.accepted_changes + equal.rejected_rewordings) / 2
    if wrong >= 0.5:
        return False
    return True if best.sum_high < 1 else None


def _simplest(candidates: np.ndarray, at: int) -> float:
    """The number with the fewest decimal places that is at most a candidate and above the one
    before it: both errors are the same at all these numbers.
    """
    most = float(candidates[at])
    before = float(candidates[at - 1]) if at else most - 1
    rounded = (math.floor(most * 10**places) / 10**places for places in range(1, 17))
    return next((one for one in rounded if before < one <= most), most)


def _errors(changed: Cosines, kept: Cosines) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every measured cosine, with the share of changes accepted and of rewordings rejected."""
    candidates = np.unique(np.concatenate([*changed, *kept]))
    accepted, reworded = (
        np.mean([_share_from(one, candidates) for one in some], axis=0) for some in (changed, kept)
    )
    return candidates, accepted, 1 - reworded


def _share_from(values: Sequence[float], candidates: np.ndarray) -> np.ndarray:
    """The share of values that are at least each candidate."""
    return 1 - np.searchsorted(np.sort(values), candidates, "left") / len(values)


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
    keeping_text: str
    keeping_before: str
    keeping_after: str
    keeping_change: float

    @property
    def ratio(self) -> float:
        """How many times further the meaning-preserving edit moves the model."""
        return self.keeping_change / max(self.change, 1e-12)


def closer_changes(measured: Sequence[Measured]) -> tuple[int, int, int]:
    """The number of meaning-changing edits that move the model less than a meaning-preserving edit
    of the same text, of those that have one to compare with, and of the `distinct` former ones.
    """
    closer = [
        any(other.value > change.value for _, other in kept)
        for text in measured
        if (kept := text.with_role("keeping"))
        for _, change in text.with_role("turning")
    ]
    return sum(closer), len(closer), len(blind_spots(measured, None))


def blind_spots(measured: Sequence[Measured], count: int | None = 10) -> tuple[BlindSpot, ...]:
    """Return the meaning-changing edits that move the model least, each with a meaning-preserving
    edit of the same text that moves it more: the one with the largest overlap.
    """
    found = []
    for text in measured:
        for edit, change in text.with_role("turning"):
            further = [pair for pair in text.with_role("keeping") if pair[1].value > change.value]
            if further:
                other, most = max(further, key=lambda pair: (pair[0].overlap, pair[1].value))
                about = (edit.kind, edit.text, edit.edited, edit.start, edit.before, edit.after)
                beside = (other.kind, other.edited, other.before, other.after, most.value)
                found.append(BlindSpot(*about, change.value, change.percentile, *beside))
    found.sort(key=lambda spot: (-spot.ratio, spot.text))
    return tuple(distinct(found, lambda spot: spot, count))


def distinct(found: Iterable[T], edit_of: Callable[[T], Any], count: int | None) -> list[T]:
    """Return the first ``count`` items; no text and no pair of words occurs twice."""
    chosen: list[T] = []
    seen: set[object] = set()
    for item in found:
        edit = edit_of(item)
        words = (edit.before.lower(), edit.after.lower())
        if edit.text not in seen and words not in seen:
            chosen.append(item)
            seen |= {edit.text, words}
    return chosen[:count]


@dataclass(frozen=True)
class FlipScore:
    """How often edits of one kind change the label of a classifier, with the 95 % interval over
    texts; ``should`` is "flip" or "stay" for kinds that should or should not, "" for others.
    """

    kind: str
    should: str
    texts: int
    flips: float
    low: float
    high: float

    @property
    def changed(self) -> int:
        """The number of labels that change."""
        return round(self.flips * self.texts)

    def share(self, what: str) -> Share:
        """The share of labels that change ("flips") or that do not ("stays")."""
        if what == "flips":
            return Share(self.texts, self.flips, self.low, self.high)
        return Share(self.texts, 1 - self.flips, 1 - self.high, 1 - self.low)


@dataclass(frozen=True)
class Share:
    """A share of texts with its 95 % interval, as a gate compares it."""

    texts: int
    score: float
    low: float
    high: float


def flip_scores(
    measured: Sequence[Measured], flip: Sequence[str], stay: Sequence[str]
) -> tuple[FlipScore, ...]:
    """Return the share of changed labels per kind; meaning-preserving edits should change none."""
    found: dict[tuple[str, str], list[float]] = {}
    for text in measured:
        for edit, effect in zip(text.edits, text.changes, strict=True):
            if effect.flips is not None:
                stays = edit.role == "keeping" or edit.kind in stay
                should = "flip" if edit.kind in flip else "stay" if stays else ""
                found.setdefault((edit.kind, should), []).append(float(effect.flips))
    scores = []
    order = {"flip": 0, "": 1, "stay": 2}
    for (kind, should), values in sorted(found.items(), key=lambda one: order[one[0][1]]):
        (one,) = intervals(np.array(values)[:, None])
        scores.append(FlipScore(kind, should, len(values), one.auc, one.low, one.high))
    return tuple(scores)


def shares_of(measured: Sequence[Measured], score: str) -> dict[tuple[str, str], float]:
    """The number of every text whose mean is a score: a_t of LEVEL or LEVEL.KIND, or for
    "flips.KIND" the share of edits of that kind that change the label.
    """
    name, _, kind = score.partition(".")
    if name != "flips":
        return {key: one[0] for key, one in text_shares(measured, name, kind or None).items()}
    found = {}
    for text in measured:
        both = zip(text.edits, text.changes, strict=True)
        flips = [one.flips for edit, one in both if edit.kind == kind and one.flips is not None]
        if flips:
            found[text.id, text.text] = sum(flips) / len(flips)
    return found


@dataclass(frozen=True)
class Difference:
    """A score of one model minus that of another on the same texts, with its 95 % interval;
    ``identical`` if every text has the same score in both. ``score`` names it: LEVEL or flips.KIND,
    where ``should`` is that of the `FlipScore`.
    """

    first: str
    second: str
    texts: int
    difference: float
    low: float
    high: float
    identical: bool = False
    score: str = "rewording"
    should: str = ""

    @property
    def certain(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        both = f"{self.score}: {self.first} and {self.second}"
        if self.identical:
            return f"{both} have the same score on every text ({count(self.texts, 'text')})."
        if self.score.startswith("flips.") and self.certain:
            more, other = (self.first, self.second)[:: 1 if self.low > 0 else -1]
            low, size, high = sorted(map(abs, (self.low, self.difference, self.high)))
            where = {"flip": " where expected", "stay": " where not expected"}.get(self.should, "")
            return (
                f"{self.score}: {more} changes more labels than {other}{where}: by {size:.2f} "
                f"({low:.2f} to {high:.2f}) on {count(self.texts, 'text')}."
            )
        ends = f"{self.difference:+.2f} ({self.low:+.2f} to {self.high:+.2f})"
        said = "differ by" if self.certain else "cannot be told apart:"
        return f"{both} {said} {ends} on {count(self.texts, 'text')}."


def difference(
    first: tuple[str, Sequence[Measured]], second: tuple[str, Sequence[Measured]], score: str
) -> Difference | None:
    """Return the paired difference of two models in a score; None if they have no common text.

    The differences a_t − b_t ∈ [−1, 1] are mapped to [0, 1], where `intervals` applies.
    """
    one, two = (shares_of(measured, score) for _, measured in (first, second))
    both = [key for key in one if key in two]
    if not both:
        return None
    moved = np.array([[(one[key] - two[key] + 1) / 2] for key in both])
    (found,) = intervals(moved)
    middle, low, high = (2 * value - 1 for value in (found.auc, found.low, found.high))
    same = bool((moved == 0.5).all())
    return Difference(first[0], second[0], len(both), middle, low, high, same, score)


def paired_accuracy(measured: Sequence[Measured]) -> Score | None:
    """The share of pairs of queries that both find their own document, as NevIR counts it."""
    rows: dict[str, list[bool]] = {}
    for (name, _), share in shares_of(measured, "rewording").items():
        row, _, query = name.partition(" query ")
        if query:
            rows.setdefault(row, []).append(share == 1.0)
    pairs = [[float(all(both))] for both in rows.values() if len(both) == 2]
    return intervals(np.array(pairs))[0] if pairs else None
