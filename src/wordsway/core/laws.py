"""Estimates with confidence intervals: a mean, a rate of decay (a line through (log n, log S)), and
laws of decay (power, power with a floor, logarithm) compared on values that were held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from wordsway.core.checks import Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.seeds import derive


@dataclass(frozen=True)
class Interval:
    """An estimate from ``points`` points and its 95 % interval ``low`` … ``high``; NaN of one."""

    value: float
    low: float
    high: float
    points: int

    def __format__(self, digits: str) -> str:
        form = digits or ".3f"
        ends = "" if math.isnan(self.low) else f" [{self.low:{form}}, {self.high:{form}}]"
        return f"{self.value:{form}}{ends}".replace("-", "−")

    def __str__(self) -> str:
        return format(self)


@dataclass(frozen=True)
class Slope(Interval):
    """S ≈ exp(intercept)·n^value; ``error`` is the standard error of the value.

    ``line_p`` is the p-value of a line in (log n, log S) against a mean at each n, by the F test of
    lack of fit; NaN without repetitions of at least three n. Where it is small, the slope changes
    with n, and value and interval are those of an average.
    """

    intercept: float
    error: float = math.nan
    line_p: float = math.nan


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The mean of independent values with Student's 95 % interval; None of fewer than three.

    >>> found = mean_interval([1.0, 2.0, 3.0])
    >>> round(found.value, 9), round(found.high - found.value, 2)
    (2.0, 2.48)
    """
    count = len(values)
    if count < 3:
        return None
    mean = sum(values) / count
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    half = _student(count - 1) * spread / math.sqrt(count)
    return Interval(mean, mean - half, mean + half, count)


def fit_slope(
    n: Sequence[float], S: Sequence[float], texts: Sequence[Any] | None = None
) -> Slope | None:
    """Least squares of log S on log n over all trials; None without two different n or three
    points.

    Where several trials share one of the ``texts``, texts are the independent draws: the error is
    the clustered one (with all n in every text, that of the mean of the texts' own slopes), with
    one degree of freedom less than texts, ``points`` counts texts, and there is no ``line_p``.

    >>> slope = fit_slope([10, 20, 40, 80], [3 / 10**0.5, 3 / 20**0.5, 3 / 40**0.5, 3 / 80**0.5])
    >>> round(slope.value, 9), round(slope.high - slope.low, 9)
    (-0.5, 0.0)
    """
    every = zip(n, S, range(len(n)) if texts is None else texts, strict=True)
    found = [(math.log(a), math.log(b), text) for a, b, text in every if a > 0 and b > 0]
    pairs = [(x, y) for x, y, _ in found]
    count = len(pairs)
    if count < 3 or len({x for x, _ in pairs}) < 2:
        return None
    x0, y0 = (sum(pair[axis] for pair in pairs) / count for axis in (0, 1))
    spread = sum((x - x0) ** 2 for x, _ in pairs)
    value = sum((x - x0) * (y - y0) for x, y in pairs) / spread
    residual = sum((y - y0 - value * (x - x0)) ** 2 for x, y in pairs)
    shares: dict[Any, float] = {}
    for x, y, text in found:
        shares[text] = shares.get(text, 0.0) + (x - x0) * (y - y0 - value * (x - x0)) / spread
    drawn, freedom = len(shares), count - 2
    error, line_p = math.sqrt(residual / freedom / spread), _line_p(pairs, residual)
    if drawn < count:
        freedom, line_p = drawn - 1, math.nan
        squares = sum(share**2 for share in shares.values())
        error = math.sqrt(drawn / freedom * squares) if freedom else math.inf
    half = _student(freedom) * error if freedom else math.inf
    return Slope(value, value - half, value + half, drawn, y0 - value * x0, error, line_p)


def _line_p(pairs: Sequence[tuple[float, float]], residual: float) -> float:
    """The p-value of `Slope`, of points (x, y) whose line leaves this sum of squares."""
    groups: dict[float, list[float]] = {}
    for x, y in pairs:
        groups.setdefault(x, []).append(y)
    across, within = len(groups) - 2, len(pairs) - len(groups)
    if not (across and within):
        return math.nan
    means = {x: sum(group) / len(group) for x, group in groups.items()}
    noise = sum((y - means[x]) ** 2 for x, y in pairs)
    ratio = (residual - noise) / across / (noise / within + RESOLUTION**2)
    return _beyond(max(0.0, ratio), across, within)


def _beyond(F: float, above: int, below: int) -> float:
    """P(F_{above, below} > F): with t = sin²θ the incomplete beta function is a smooth integral.

    >>> round(_beyond(4.0, 2, 10), 9) == round((1 + 2 * 4 / 10) ** -5, 9)
    True
    """
    end = math.atan2(math.sqrt(below), math.sqrt(above * F))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    theta = end / 2 * (nodes + 1)
    logs = (below - 1) * np.log(np.sin(theta)) + (above - 1) * np.log(np.cos(theta))
    a, b = below / 2, above / 2
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return float(end * (weights * np.exp(logs + scale)).sum())


def _student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t: exact for one and two degrees of freedom, else Cornish
    and Fisher's expansion.

    >>> [round(_student(freedom), 2) for freedom in (1, 2, 5, 30)]
    [12.71, 4.3, 2.57, 2.04]
    """
    p = (1 + 0.95) / 2
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (1 - (2 * p - 1) ** 2))
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom ** (order + 1) for order, term in enumerate(terms)))


def _power(x: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    return exponent * x


def _floor(x: np.ndarray, exponent: np.ndarray, log_floor: np.ndarray) -> np.ndarray:
    return np.logaddexp(exponent * x, log_floor)


def _logarithm(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(1 - slope * x, RESOLUTION))


#: Values below this are rounding in single precision.
RESOLUTION = 1e-7
#: The laws by name: log y as a function of x = log(n/n₁), without the scale, and the ranges of
#: its parameters.
LAWS: dict[str, tuple[Callable[..., np.ndarray], tuple[tuple[float, float], ...]]] = {
    "power": (_power, ((-4.0, 1.0),)),
    "floor": (_floor, ((-4.0, -0.05), (math.log(RESOLUTION), 3.0))),
    "logarithm": (_logarithm, ((-1.0, 1.0),)),
}
#: Groups of units of which one is held out at a time, and samples of an interval.
FOLDS, SAMPLES = 10, 400
#: Values of each parameter that are tried at once: first of the whole range, then, again and again,
#: of the third of the last range that is nearest to the best.
GRIDS = (25, 9, 9, 9, 9, 9, 9, 9, 9)


@dataclass(frozen=True)
class Law:
    """A law of decay, fitted to the mean of log y over units; n₁ is the smallest mean n.

        power        y = scale · (n/n₁)^e
        floor        y = scale · ((n/n₁)^e + c)
        logarithm    y = scale · (1 − s · log(n/n₁))

    ``parameters`` are (e), (e, log c) and (s). ``error`` is the root mean square of log y − log fit
    on units that were held out. ``begins`` is the n at which the falling part of "floor" is as
    large as its floor: n₁ c^(1/e).
    """

    law: str
    first: float
    scale: float
    parameters: tuple[float, ...]
    error: float | None = None
    exponent: Interval | None = None
    begins: Interval | None = None

    def at(self, n: Sequence[float] | np.ndarray) -> np.ndarray:
        """The fitted y."""
        shape, _ = LAWS[self.law]
        x = np.log(np.asarray(n, dtype=float) / self.first)
        return self.scale * np.exp(shape(x, *map(np.asarray, self.parameters)))


@dataclass(frozen=True)
class Laws:
    """Every law of one curve; ``best`` is the one with the smallest error on held-out units, None
    if the 95 % interval of its difference from another one contains 0.
    """

    laws: tuple[Law, ...]
    best: str | None

    def __getitem__(self, name: str) -> Law:
        return next(law for law in self.laws if law.law == name)

    def __contains__(self, name: object) -> bool:
        return any(law.law == name for law in self.laws)


def fit_laws(n: np.ndarray, y: np.ndarray, *, seed: int = 0, samples: int = SAMPLES) -> Laws:
    """Fit the laws to the values ``y`` (T, K) of T units at K sizes ``n`` (T, K).

    Intervals come from ``samples`` draws of T units with replacement. A law needs more sizes than
    it has parameters with the scale, and the comparison at least `FOLDS` units.

    >>> n = np.tile([16.0, 32, 64, 128, 256], (40, 1))
    >>> noise = np.random.default_rng(0).normal(0, 0.1, n.shape)
    >>> found = fit_laws(n, (n**-1.0 + 0.02) * np.exp(noise))
    >>> found.best, round(found["floor"].exponent.value, 1)
    ('floor', -1.0)
    """
    x, log_y = np.log(n), np.log(np.maximum(y, RESOLUTION))
    first = float(np.exp(x.mean(0).min()))
    x = x - math.log(first)
    units = len(x)
    curves = resampled(x, seed, samples), resampled(log_y, seed, samples)
    names = [name for name, (_, ranges) in LAWS.items() if x.shape[1] > len(ranges) + 1]
    errors = _held_out(x, log_y, names) if units >= FOLDS else {}
    found = []
    for name in names:
        scale, parameters = _fit(name, *curves)
        error = math.sqrt(errors[name].mean()) if errors else None
        exponent = begins = None
        if name != "logarithm":
            exponent = _interval(parameters[0], units)
        if name == "floor":
            begins = _interval(first * np.exp(parameters[1] / parameters[0]), units)
        whole = tuple(float(one[0]) for one in parameters)
        found.append(Law(name, first, math.exp(scale[0]), whole, error, exponent, begins))
    return Laws(tuple(found), _best(errors))


def resampled(values: np.ndarray, seed: int = 0, samples: int = SAMPLES) -> np.ndarray:
    """The mean of values (T, K) over T units, then the means of ``samples`` draws of T units with
    replacement, (1 + samples, K); a seed draws the same units for any values of T units.
    """
    units = len(values)
    drawn = np.random.default_rng(seed).integers(units, size=(samples, units))
    share = np.stack([np.bincount(one, minlength=units) for one in drawn]) / units
    return np.concatenate([np.full((1, units), 1 / units), share]) @ values


def middle_part(values: np.ndarray, units: int) -> np.ndarray:
    """The ends (2, …) of the middle 95 % of draws (samples, …); NaN of one unit, which is the same
    in all draws.
    """
    ends = np.quantile(values, (0.025, 0.975), axis=0)
    return ends if units > 1 else np.full_like(ends, math.nan)


def _interval(values: np.ndarray, units: int) -> Interval:
    """The first value, with the 95 % interval of the others."""
    value, (low, high) = float(values[0]), middle_part(values[1:], units)
    return Interval(value, min(float(low), value), max(float(high), value), units)


def _best(errors: dict[str, np.ndarray]) -> str | None:
    if len(errors) < 2:
        return None
    best = min(errors, key=lambda name: float(errors[name].mean()))
    apart = [mean_interval((errors[name] - errors[best]).tolist()) for name in errors]
    decided = sum(one is not None and one.low > 0 for one in apart) == len(errors) - 1
    return best if decided else None


def _held_out(x: np.ndarray, log_y: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """The mean squared error of each law on each group of units, fitted to the others."""
    held = np.arange(len(x)) % FOLDS == np.arange(FOLDS)[:, None]
    inside = held / held.sum(1, keepdims=True)
    outside = ~held / (~held).sum(1, keepdims=True)
    found = {}
    for name in names:
        scale, parameters = _fit(name, outside @ x, outside @ log_y)
        fitted = LAWS[name][0](inside @ x, *(one[:, None] for one in parameters))
        found[name] = ((inside @ log_y - fitted - scale[:, None]) ** 2).mean(1)
    return found


def _fit(name: str, x: np.ndarray, log_y: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Least squares of B curves (B, K): the logarithms of their scales (B,) and their parameters.

    The scale is a mean, so that a grid over one or two other parameters remains; it shrinks around
    the best point.
    """
    shape, ranges = LAWS[name]
    if name == "logarithm":  # 1 − s x stays positive
        ranges = ((-1.0, float(1 / x.max())),)
    low = np.array([one for one, _ in ranges]) + np.zeros((len(x), 1))
    high = np.array([one for _, one in ranges]) + np.zeros((len(x), 1))
    least, most = low.copy(), high.copy()
    each = np.arange(len(x))
    for grid in GRIDS:
        steps = np.stack(np.meshgrid(*[np.linspace(0, 1, grid)] * len(ranges)), -1)
        steps = steps.reshape(-1, len(ranges))
        points = low[:, None] + (high - low)[:, None] * steps  # (B, G, parameters)
        fitted = shape(x[:, None], *(points[..., [at]] for at in range(len(ranges))))
        scale = (log_y[:, None] - fitted).mean(-1)
        best = ((log_y[:, None] - fitted - scale[..., None]) ** 2).sum(-1).argmin(1)
        middle, reach = points[each, best], (high - low) / 6
        low, high = np.maximum(middle - reach, least), np.minimum(middle + reach, most)
    return scale[each, best], [middle[:, at] for at in range(len(ranges))]


@validated
def slope(n: Any, lower: Any, upper: Any = None, *, texts: Any = None) -> Slope:
    """The rate e of S ≈ c·n^e: least squares of log S on log n, with a 95 % interval.

    ``n`` and ``lower`` are values of the same shape, one per trial. ``texts`` names the text of
    each; where trials share texts, the interval is that over texts. With certified ends ``upper``,
    value and error are those of the lower ends, and the interval contains the 95 % interval of
    every choice of one S between its two ends for each trial.

    >>> n, S = [10, 20, 40, 80], [0.32, 0.22, 0.16, 0.11]
    >>> print(f"{slope(n, S):.2f}")
    −0.51 [−0.56, −0.46]
    >>> print(f"{slope(n, S, [1.1 * one for one in S]):.2f}")
    −0.51 [−0.75, −0.26]
    """
    sizes, low, high = _curves(n, lower, upper)
    drawn = None if texts is None else np.asarray(texts, dtype=object).ravel().tolist()
    if drawn is not None and len(drawn) != low.size:
        raise InputError(f"a text for each of {low.size} trials", len(drawn), "name them all")
    found = fit_slope(sizes.ravel().tolist(), low.ravel().tolist(), drawn)
    if found is None:
        raise InputError("at least three trials and two different n", f"{low.size}", "add more n")
    if high is None or math.isinf(found.error):
        return found
    ends = np.log([low.ravel(), high.ravel()])
    below, above = _all_slopes(np.log(sizes.ravel()), ends, drawn or [], found.points)
    return replace(found, low=below, high=above)


def _all_slopes(
    x: np.ndarray, ends: np.ndarray, texts: Sequence[Any], points: int
) -> tuple[float, float]:
    """An interval that contains those of `fit_slope` for all log S between the ``ends`` (2, T).

    With log S = m + v, |v| ≤ r, and Q the projection onto residuals, the slope moves by s = w·v,
    |s| ≤ Σ|w r|, w = x/‖x‖², and ‖Q(m + v)‖² ≤ Σ(|Qm| + r)² − s²‖x‖². With T − 2 = f degrees of
    freedom, the end is at most the largest s + t √((Σ(|Qm| + r)²/‖x‖² − s²)/f) above w·m. Where
    trials share texts, the share of each text in the error has a range of its own.
    """
    x = x - x.mean()
    spread, middle, reach = x @ x, ends.mean(0), (ends[1] - ends[0]) / 2
    value, step = x @ middle / spread, np.abs(x) @ reach / spread
    if points < len(x):
        squares = 0.0
        for text in set(texts):
            own = np.array([one == text for one in texts]) * x
            share = (own - own.mean() - x * (own @ x) / spread) / spread
            squares += (abs(share @ middle) + np.abs(share) @ reach) ** 2
        half = step + _student(points - 1) * math.sqrt(points / (points - 1) * squares)
    else:
        freedom, residual = len(x) - 2, middle - middle.mean() - value * x
        t, most = _student(freedom), ((np.abs(residual) + reach) ** 2).sum() / spread
        step = min(step, math.sqrt(most / (1 + t**2 / freedom)))
        half = step + t * math.sqrt((most - step**2) / freedom)
    return float(value - half), float(value + half)


@validated
def laws(n: Any, lower: Any, upper: Any = None, *, seed: Seed = 0) -> Laws:
    """Power law, power law with a floor and logarithm, fitted to S (T, K) of T trials at K sizes n,
    and compared on held-out trials; see `Law` and `Laws`.

    With certified ends ``upper``, the laws are fitted to both ends and to the two steepest curves
    between them as well: intervals hold for all four, and ``best`` is named if it is the same.

    >>> n = np.array([16.0, 32, 64, 128, 256])
    >>> noise = np.random.default_rng(0).normal(0, 0.1, (20, 5))
    >>> laws(n, n**-0.5 * np.exp(noise)).best is None, laws(n, n**-0.5 + 0.5 + 0 * noise).best
    (True, 'floor')
    """
    sizes, low, high = _curves(n, lower, upper)
    if low.ndim != 2 or len(np.unique(sizes[0])) < max(3, low.shape[1]):
        raise InputError(
            "S of shape (trials, sizes) at three or more sizes n",
            f"shape {low.shape} and n = {sizes.flat[0]:g}, …",
            "add more n",
        )
    first, *others = (
        fit_laws(sizes, one, seed=derive(seed, "laws")) for one in _ends(sizes, low, high)
    )
    found = []
    for law in first.laws:
        every = [one[law.law] for one in others]
        found.append(
            replace(
                law,
                exponent=_hull(law.exponent, [one.exponent for one in every]),
                begins=_hull(law.begins, [one.begins for one in every]),
            )
        )
    agreed = all(one.best == first.best for one in others)
    return Laws(tuple(found), first.best if agreed else None)


def _hull(interval: Interval | None, others: Sequence[Interval | None]) -> Interval | None:
    """An interval that contains these, too."""
    if interval is None:
        return None
    every = [interval, *(one for one in others if one is not None)]
    low, high = min(one.low for one in every), max(one.high for one in every)
    return replace(interval, low=low, high=high)


def _curves(n: Any, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Sizes, lower and upper ends as positive arrays of one shape."""
    given = [n, lower] if upper is None else [n, lower, upper]
    try:
        arrays = [np.asarray(one, dtype=float) for one in given]
        sizes, low, *rest = np.broadcast_arrays(*arrays)
    except (TypeError, ValueError):
        arrays = [np.zeros(0)]
    if any(one.ndim < 1 or not bool((np.isfinite(one) & (one > 0)).all()) for one in arrays) or (
        arrays[-1].shape != arrays[1 % len(arrays)].shape or not arrays[0].size
    ):
        raise InputError(
            "n, lower and upper as positive finite numbers of one shape",
            ", ".join(repr(one) for one in given),
            "pass lists or arrays",
        )
    if rest and bool((rest[0] < low).any()):
        raise InputError("lower ≤ upper", "upper ends below lower ones", "swap them")
    return sizes, low, rest[0] if rest else None


def _ends(sizes: np.ndarray, low: np.ndarray, high: np.ndarray | None) -> list[np.ndarray]:
    """The lower ends; and the upper ends, and the steepest curves between them."""
    if high is None:
        return [low]
    large = np.log(sizes) > np.log(sizes).mean()
    return [low, high, np.where(large, low, high), np.where(large, high, low)]
