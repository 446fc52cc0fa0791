"""The tiers of `words`, from the quickest: one record each; and the ranks that numbers allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: A converged local sensitivity is known to 1 %, one that is not to 10 %: two standard errors.
CONVERGED_ERROR, LOOSE_ERROR = 0.005, 0.05


@dataclass(frozen=True)
class Tier:
    """A measure of words: its names, its explanations, the fields of a word that it fills, and its
    number.

    ``title`` is the header of a column, ``short`` that of a narrow column. ``meaning`` explains the
    numbers, with placeholders {target} for the measured output and {size} for its unit;
    ``sentence`` explains a column. ``plain`` is a sentence about one word, as the parts before and
    after that word. ``error`` defines the number after ±. ``score`` returns a word's number and its
    standard error, or None if it was not measured.
    """

    name: str
    title: str
    short: str
    meaning: str
    sentence: str
    plain: tuple[str, str]
    error: str
    fields: tuple[str, ...]
    score: Callable[[Any], tuple[float, float] | None]


def _mean_local(word: Any) -> tuple[float, float] | None:
    return None if word.mean_local is None else (word.mean_local, word.mean_local_error or 0.0)


def _local(word: Any) -> tuple[float, float] | None:
    error = CONVERGED_ERROR if word.local_converged else LOOSE_ERROR
    return None if word.local is None else (word.local, word.local * error)


def _real_words(word: Any) -> tuple[float, float] | None:
    return None if word.real is None else (word.real.mean, word.real.error)


def _curve(word: Any) -> tuple[float, float] | None:
    return (word.curve[-1].lower, word.curve[-1].spread / 2) if word.curve else None


_ATTAINED = ("sensitivity", "profile", "noise", "delta")
_ALL = (
    Tier(
        name="mean-local",
        title="mean local",
        short="mean",
        meaning="how strongly {target} responds to small random changes of the word, on average "
        "over directions (change of {target} per change of the word, both relative)",
        sentence="Response to small random changes of the word, on average over directions: change "
        "per change of the word, both relative.",
        plain=(
            "A small random change of ",
            " changes {target} by {size} of the word's own change, both relative to their norms",
        ),
        error="one standard error",
        fields=("mean_local", "mean_local_error"),
        score=_mean_local,
    ),
    Tier(
        name="local",
        title="local",
        short="local",
        meaning="how strongly {target} responds to the worst small change of the word "
        "(change of {target} per change of the word, both relative)",
        sentence="Response to the worst small change of the word: change per change of the word, "
        "both relative.",
        plain=(
            "The worst small change of ",
            " changes {target} by {size} of the word's own change, both relative to their norms",
        ),
        error="a margin of 0.5 %, or of 5 % if the value has not converged",
        fields=("local", "local_converged", "direction", *_ATTAINED),
        score=_local,
    ),
    Tier(
        name="real-words",
        title="real words",
        short="real",
        meaning="how far {target} moves, {size}, when a random real word with as many "
        "tokens replaces the word, on average",
        sentence="Change when a random real word with as many tokens replaces the word, on "
        "average.",
        plain=("A random word in place of ", " changes {target} by {size} on average"),
        error="one standard error",
        fields=("real",),
        score=_real_words,
    ),
    Tier(
        name="curve",
        title="S(ρ)",
        short="S",
        meaning="the largest change of {target} found, {size}, for changes of the word up to the "
        "requested reach",
        sentence="The largest change found at the requested reach.",
        plain=("The worst change of ", " that was found changes {target} by {size}"),
        error="half the spread of several searches",
        fields=("local", "local_converged", "direction", "curve", *_ATTAINED),
        score=_curve,
    ),
)
#: The tiers by name, in the order in which they are measured.
TIERS = {tier.name: tier for tier in _ALL}
#: Which of the requested tiers is the headline: the first of these.
HEADLINES = ("mean-local", "real-words", "curve", "local")


def in_order(tiers: Iterable[str]) -> tuple[str, ...]:
    """The tiers in the order in which they are measured; a curve starts from the local tier.

    >>> in_order(["curve", "mean-local"])
    ('mean-local', 'local', 'curve')
    """
    wanted = set(tiers)
    return tuple(
        tier for tier in TIERS if tier in wanted or (tier == "local" and "curve" in wanted)
    )


def headline_tier(
    tiers: Sequence[str] | None, colour: str | None = None, reach: float | None = None
) -> str:
    """The one tier of a request that names, colours and orders words; the others are columns.

    It follows from the request alone, before anything is measured: ``colour`` where it is given,
    else mean local unless only other tiers are requested.

    >>> headline_tier(None), headline_tier(["local", "real-words"]), headline_tier(None, "local")
    ('mean-local', 'real-words', 'local')
    """
    if colour is not None:
        return colour
    requested = [tiers] if isinstance(tiers, str) else tiers or ()
    wanted = {*requested, *(["curve"] if reach is not None else [])}
    return next((tier for tier in HEADLINES if tier in wanted), HEADLINES[0])


#: Standard errors of a difference beyond which two values are distinguished.
APART = 2.0
#: Values that differ by a smaller relative amount are equal but for rounding.
ROUNDING = 1e-9


Numbers = Sequence[float]
#: Standard errors of values, or a matrix with those of their differences.
Errors = Numbers | np.ndarray


def difference_errors(
    errors: Numbers, draws: Sequence[tuple[Sequence[str], Numbers]]
) -> np.ndarray:
    """The standard error of the difference of each two means; ``draws`` are the names and values
    that each is the mean of. Those of means over the same names are paired.

    >>> one, two = (("a", "b"), [1.0, 3.0]), (("a", "b"), [2.0, 4.0])
    >>> difference_errors([1.0, 1.0], [one, two]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    e = np.asarray(errors, dtype=float)
    found = np.hypot(e[None, :], e[:, None])
    places: dict[tuple[str, ...], list[int]] = {}
    for place, (names, _) in enumerate(draws):
        places.setdefault(tuple(name.lower() for name in names), []).append(place)
    for names, same in places.items():
        if len(names) > 1 and len(same) > 1:
            with np.errstate(invalid="ignore"):  # infinite values: NaN, a tie
                C = np.cov([draws[place][1] for place in same]) / len(names)
            variance = np.diag(C)[None, :] + np.diag(C)[:, None] - 2 * C
            found[np.ix_(same, same)] = np.sqrt(variance.clip(0))
    return found


def rank_ranges(
    values: Numbers, errors: Errors, then: tuple[Numbers, Errors] | None = None
) -> list[tuple[int, int]]:
    """For each value the first and the last rank, counted from 1, that it may have.

    Two values are distinguished if they differ by more than `APART` standard errors of their
    difference; equal ones by the values and errors ``then``.

    >>> rank_ranges([3.0, 1.0, 2.9, 0.5], [0.1, 0.05, 0.1, 0.05])
    [(1, 2), (3, 3), (1, 2), (4, 4)]
    >>> rank_ranges([1.0, 0.0, 0.0], [0.1, 0.1, 0.1], ([0.5, 0.2, 0.7], [0.0, 0.0, 0.0]))
    [(1, 1), (3, 3), (2, 2)]
    """
    gap, sign = _apart(values, errors)
    if then is not None:
        sign = np.where(gap == 0, _apart(*then)[1], sign)
    above, below = (sign > 0).sum(1), (sign < 0).sum(1)
    return [(int(a) + 1, len(gap) - int(b)) for a, b in zip(above, below, strict=True)]


def _apart(values: Numbers, errors: Errors) -> tuple[np.ndarray, np.ndarray]:
    """The difference of each two values, and its sign; 0 where they are not distinguished."""
    v, e = np.asarray(values, dtype=float), np.asarray(errors, dtype=float)
    equal = np.isclose(v[None, :], v[:, None], rtol=ROUNDING, atol=0)
    with np.errstate(invalid="ignore"):  # two infinite values differ by NaN
        gap = np.where(equal, 0.0, v[None, :] - v[:, None])
    apart = np.abs(gap) > APART * (e if e.ndim > 1 else np.hypot(e[None, :], e[:, None]))
    return gap, np.where(apart, np.sign(gap), 0)


def leaders(values: Numbers, errors: Errors) -> list[int]:
    """Those that may be the largest, the largest value first; all of them: nothing stands out.

    >>> leaders([3.0, 1.0, 2.9], [0.1, 0.1, 0.1])
    [0, 2]
    """
    ranges = rank_ranges(values, errors)
    first = [at for at, (best, _) in enumerate(ranges) if best == 1]
    return sorted(first, key=lambda at: -values[at])
