"""Cosine thresholds: which changes and which rewordings does a duplicate filter accept?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wordsway.auditing.scores import Cosines, Measured, intervals

#: Cosine thresholds: texts with at least this cosine count as the same.
THRESHOLDS = (0.70, 0.75, 0.80, 0.85, 0.90, 0.95, 0.97, 0.98, 0.99)


#: The share of changes that a strict threshold accepts, at most, and the steps of 1.
STRICT, STEPS = 0.05, 10_000
#: Draws of the multiplier bootstrap over texts, and thresholds that are compared, at most.
DRAWS, PLACES = 500, 256


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


def threshold_at(tau: float, changed: Cosines, kept: Cosines) -> Threshold:
    """Return both errors at one threshold: means over texts, with the intervals over texts.

    >>> found = threshold_at(0.9, [[0.95], [0.8]], [[0.97, 0.92], [0.5, 0.99]])
    >>> found.accepted_changes, found.rejected_rewordings
    (0.5, 0.25)
    """
    (accepted,) = intervals(np.array([[np.mean(np.array(one) >= tau)] for one in changed]))
    (rejected,) = intervals(np.array([[np.mean(np.array(one) < tau)] for one in kept]))
    return Threshold(tau, *accepted, *rejected)


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
    """The threshold with the least ``sum`` of both errors, with the 95 % interval of this sum,
    which allows for the choice of the threshold on the same texts.
    """

    sum: float
    sum_low: float
    sum_high: float


def best_threshold(changed: Cosines, kept: Cosines) -> BestThreshold:
    """Return the threshold with the least sum of both errors, 1 for one that decides by chance.

    The interval is that of all thresholds together: in 95 % of bootstrap draws over texts no
    threshold's sum is further from its mean. It is at least that of this threshold alone.

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
    least, spread = 2 * half.auc, _spread(changed, kept, candidates)
    low, high = max(0.0, least - spread), least + spread
    found = [least, min(2 * half.low, low), max(2 * half.high, high)]
    return BestThreshold(*vars(threshold_at(tau, changed, kept)).values(), *found)


def _spread(changed: Cosines, kept: Cosines, candidates: np.ndarray) -> float:
    """The 95 % quantile, over draws of a multiplier bootstrap over texts, of the largest deviation
    of the sum of both errors at any threshold.
    """
    some = candidates[:: -(-len(candidates) // PLACES)]

    def below(one: Sequence[float]) -> np.ndarray:
        return np.searchsorted(np.sort(one), some) / len(one)

    sums = np.array([below(two) - below(one) for one, two in zip(changed, kept, strict=True)])
    noise = np.random.default_rng(0).standard_normal((DRAWS, len(sums))) / len(sums)
    found = np.abs(noise @ (sums - sums.mean(0))).max(1)
    return float(np.quantile(found, 0.95))


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
    strict = above[(above <= 1) & (_mean_share_from(changed, above) <= STRICT)]
    return threshold_at(float(strict[0]), changed, kept) if len(strict) else None


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
    accepted, reworded = (_mean_share_from(some, candidates) for some in (changed, kept))
    return candidates, accepted, 1 - reworded


def _mean_share_from(texts: Cosines, candidates: np.ndarray) -> np.ndarray:
    """The share of a text's cosines that are at least each candidate, as mean over texts. It is
    rounded, so that shares that are equal but for rounding errors are ties.
    """
    counts = [(len(one) - np.searchsorted(np.sort(one), candidates), len(one)) for one in texts]
    return np.mean([count / size for count, size in counts], axis=0).round(12)
