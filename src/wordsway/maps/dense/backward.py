"""A bound for deep ReLU networks with Gaussian weights that need not be there: Chevet's comparison
run backwards through the layers. docs/proofs-drf.md has the theorem and its proof.

Conditioned on the text's own preactivations, the supremum of ‖δ_L‖ over all Δ is, up to a factor of
2^L in probability, at most the value of a small control problem. Its state after layer l is a pair
(ρ, s): ρ bounds the change of the layer, s how far an adversary may push the next layer's
preactivations. From (ρ, s), with an angle θ that the adversary chooses,

    ρ′ = √(Q²ρ² + 2Qρds·cos θ + d²s²),     s′ = σ′(P(ρ + s·cos θ/Q) + Nds·sin θ),

with Q ≈ 1 the typical gain of the layer, N ≈ √(number of awake neurons), P from neurons that wake
up or fall asleep, and d ≥ 1 a correction for neurons that the adversary wakes. The value is
positively homogeneous, ρ·f(s/ρ), and f is found layer by layer on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from wordsway.maps.rigorous import SAFE

#: The grid of x = s/ρ, and the number of intervals of θ. A state with a larger x counts as one with
#: a larger ρ.
GRID = np.linspace(0, 1, 401)
ANGLES = 256
#: With tails, states whose s/ρ is below this share of the first one, less in later layers, count as
#: if they had it: f′/f is largest where x is small.
LEAST = 0.7
#: s is bounded by way of s + SHARE·ρ.
SHARE = 0.5
#: Angles, in the first layer, between Δ and the direction in which its weights were queried, and
#: the factor by which an arc between two of them exceeds its chord.
NODES = 17
STRETCH = 1 / math.cos(math.pi / 2 / (NODES - 1))
#: Events that are bounded one by one, as step 4 lists them: those of one layer, and more of the
#: first.
EVENTS, EVENTS_OF_NODES = 14, 5 * NODES + 2
#: The share of the failure probability that is left for these events and for bounds of states in
#: between; the rest is that of the last tail.
ASIDE = 0.25
#: The mean of exp(λ·(flips above their mean)) is bounded for λ up to this.
STEEPEST = 16.0
#: Beyond the first layer, neurons are counted at the next smaller of this many values of |z|.
BINS = 2048
#: Steps of a decreasing function that bounds E(g − v)₊² from above.
STEPS = np.linspace(0, 5, 26)
#: Rates that are tried in Chernoff's bound.
RATES = np.geomspace(4.0, 4000.0, 240)


@dataclass(frozen=True)
class BackwardLayer:
    """What is known of one layer: σ of its weights; |z| of its neurons; in the first layer the
    direction in which its weights were queried, neuron by neuron, positive where it takes z towards
    zero; how often each neuron counts, and which are awake; the square of that direction over awake
    neurons; 1/‖h‖ of the layer before, 0 for the first one.
    """

    sigma: float
    z: torch.Tensor
    along: torch.Tensor
    count: torch.Tensor
    awake: torch.Tensor
    along2: float
    slope: float

    @property
    def first(self) -> bool:
        return not self.slope

    def moves(self) -> list[tuple[float, torch.Tensor]]:
        """The typical moves of a unit change towards the thresholds: standard deviation and mean;
        for all angles to the queried direction, which lowers `thresholds` beyond the first layer.
        """
        if not self.first:
            return [(self.sigma, self.along)]
        angles = [math.pi * (node / (NODES - 1) - 0.5) for node in range(NODES)]
        return [
            (
                max(0.0, math.cos(angle)) * self.sigma * STRETCH,
                math.sin(angle) * STRETCH * self.along,
            )
            for angle in angles
        ]

    def thresholds(self, size: float) -> torch.Tensor:
        """|z| for a unit change, of changes of a size below 1/slope."""
        return self.z * math.sqrt(1 / size**2 - self.slope**2)

    @staticmethod
    def of(sigma: float, z: torch.Tensor, along: torch.Tensor, *, first: bool) -> BackwardLayer:
        """``along`` is V·(unit vector) in the direction that was queried."""
        awake, size = z > 0, z.abs()
        along2 = float((along * along)[awake].sum())
        toward = torch.where(awake, -along, along)
        if first:
            return BackwardLayer(sigma, size, toward, torch.ones_like(z), awake, along2, 0.0)
        top = float(size.max())
        edges = top * (torch.arange(BINS, dtype=z.dtype) / BINS) ** 2
        place = ((size / max(top, 1e-300)).sqrt() * BINS * (1 - 1e-12)).long().clamp_max(BINS - 1)
        counts = [torch.bincount(place[some], minlength=BINS) for some in (awake, ~awake)]
        # ``along`` is a multiple of z here.
        slope = float(toward.abs().sum() / size.sum().clamp_min(1e-300)) * SAFE
        return BackwardLayer(
            sigma,
            edges.repeat(2),
            torch.zeros(2 * BINS, dtype=z.dtype),
            torch.cat(counts).to(z.dtype),
            torch.arange(2 * BINS) < BINS,
            along2,
            max(slope, 1e-300),
        )


@dataclass(frozen=True)
class Constants:
    """The numbers of one layer of the control problem. The next push grows by the factor ``more``;
    ``varies`` is the rate of log d in W's normal variable, ``low`` a lower bound of N, ``most`` an
    upper bound of P and the typical push together; ``variances`` those of the flips whose mean is
    P, none where P has its tail. ``lipschitz`` are the constants of the functions of the typical
    push, for each move: the straight one, the flips of awake and of sleeping neurons. ``ratio``
    bounds x = s/ρ.
    """

    sigma: float
    Q: float
    P: float
    N: float
    d: float
    more: float
    varies: float
    low: float
    most: float
    variances: tuple[float, ...]
    lipschitz: tuple[float, float, float]
    moves: int
    ratio: float


def backward_bound(
    layers: Sequence[BackwardLayer], d: int, radius: float, failure: float | None
) -> float:
    """A number that ‖δ_L‖ does not exceed for ‖Δ‖ ≤ ``radius``, except with probability
    ``failure``; +∞ where there are too few neurons. d is the dimension of Δ. Without ``failure``,
    the same with every tail left out: what the bound is about in a typical draw.
    """
    depth, t, left = len(layers), 0.0, 1.0
    if failure is not None:
        left = failure / 2**depth
        t = math.sqrt(2 * math.log((EVENTS * depth + EVENTS_OF_NODES) / (left * ASIDE / 2)))
    between = left * ASIDE / (6 * depth) if t else None
    sigmas = [layer.sigma for layer in layers] + [layers[-1].sigma]
    start, most = (layers[0].sigma * (math.sqrt(d - 1) + more) for more in (0.0, t))
    rho, least, s, ratio = radius, radius, radius * most, most
    known: list[Constants] = []

    def bound(last: np.ndarray | None, share: float | None) -> float:
        return radius * value(known, sigmas, start, share, last)

    for layer in layers:
        if known:
            least *= known[-1].Q
            rho = bound(None, between)
            s = bound(GRID + SHARE, between) - SHARE * least
            ratio = s / least
        Q = gain(layer, rho)
        reach = bound(1 + GRID / Q, between) if known else rho + s / Q
        now = constants(layer, Q, rho, reach, s, ratio, t)
        if now is None:
            return math.inf
        known.append(now)
    return bound(None, left * (1 - ASIDE) if t else None) * SAFE


def straight(layer: BackwardLayer) -> float:
    """A bound of the mean square of ‖v₁‖, the awake neurons' part of a typical move, for all angles
    at once.
    """
    A, E = layer.sigma**2 * float(layer.count[layer.awake].sum()), layer.along2
    return (A + E) / 2 + math.sqrt(((A - E) / 2) ** 2 + layer.sigma**2 * (A / 2 + E))


def gain(layer: BackwardLayer, rho: float) -> float:
    """Q of a layer whose input changes by at most ``rho``; +∞ where a change may turn it around."""
    if rho * layer.slope >= 1:
        return math.inf
    varies = (layer.sigma * STRETCH) ** 2 * layer.first
    woken = awakened(layer, rho, layer.count * ~layer.awake)
    return math.sqrt(woken**2 + varies + straight(layer))


def constants(
    layer: BackwardLayer, Q: float, rho: float, reach: float, s: float, ratio: float, t: float
) -> Constants | None:
    """The numbers of a layer with the given ``gain``, whose input changes by at most ``rho`` and is
    pushed by at most ``s`` and ``ratio`` times that change, ρ + s/Q ≤ ``reach``; each event fails
    with probability e^(−t²/2) at most. None where there are too few neurons, or a change may turn a
    layer around.
    """
    sigma, moves = layer.sigma, layer.moves()
    K = float(layer.count[layer.awake].sum())
    low = math.sqrt(max(0.0, K - 2)) - t
    if low <= 0 or not max(rho, reach) * layer.slope < 1 or s == math.inf:
        return None
    stretch = STRETCH if layer.first else 1.0
    found = [flips(layer.count, mean - layer.thresholds(reach), sd, t) for sd, mean in moves]
    most_P, P = (max(part[which] for part in found) for which in (0, 1))
    variances = tuple(part[2] for part in found)
    if layer.first:
        P, variances = most_P, ()
    # p_j has the thresholds of ``reach``, more neurons awake than in Q.
    # Beyond the first layer σ‖g′₁‖ bounds ‖v₁‖ where g₁ sees it.
    along = sigma * (math.sqrt(K) + t / math.sqrt(2) + t * t / (4 * math.sqrt(K)))
    if layer.first:
        along = (math.sqrt(straight(layer)) + sigma * t) * STRETCH
    flipping, asleep = (
        (awakened(layer, reach, layer.count * some) + sigma * t) * stretch
        for some in (layer.awake, ~layer.awake)
    )
    woken = pushed_awake(layer, rho, s / low, t)
    d = 1 + woken / (2 * low**2)
    varies = (2 * math.sqrt(woken) + t) / (2 * low**2 * d)
    most = most_P + t * (max(along, flipping) + asleep)
    lipschitz = (along, flipping, asleep)
    # Any ratio beyond the grid counts as the same one; a larger exponent would overflow.
    ratio *= math.exp(min(700.0, t * (along / (2 * low * Q) + varies)))
    # N/Ñ, where the median of Ñ is above √(K − 2).
    N, more = math.sqrt(K), math.sqrt(K / (K - 2))
    return Constants(
        sigma, Q, P, N, d, more, varies, low, most, variances, lipschitz, len(moves), ratio
    )


def awakened(layer: BackwardLayer, size: float, count: torch.Tensor) -> float:
    """A bound of the mean of ‖(x_j − |z_j|)₊‖/ρ over the counted neurons, for changes ρ up to
    ``size`` and the largest of the moves x; with its variance σ² one of its mean square, where
    there are several.
    """
    moves, least = layer.moves(), layer.thresholds(size)
    found = max(float(count @ tail(mean - least, sd)[1]) for sd, mean in moves)
    stretch = STRETCH if layer.first else 1.0
    return math.sqrt(found) + layer.sigma * stretch * math.sqrt(2 * math.log(len(moves)))


def flips(count: torch.Tensor, m: torch.Tensor, sd: float, t: float) -> tuple[float, float, float]:
    """Σ_j p_j/√2π, p_j = (m_j + sd·g′_j)₊, from above and in the mean, and V of `STEEPEST`: the sum
    of the p_j exceeds its mean by λV/2 + t²/2λ at most,
    V = Σ_j E p_j²e^{λp_j} ≤ Σ_j e^{λm_j₊ + λ²sd²/2}E(m_j + λsd² + sd·g)₊².
    """
    one, two = tail(m, sd)
    mean = float(count @ one) / math.sqrt(2 * math.pi)
    if not t:
        return mean, mean, 0.0

    def variance(rate: float) -> float:
        tilt = (rate * m.clamp_min(0) + rate**2 * sd**2 / 2).exp()
        return float(count @ (tilt * tail(m + rate * sd**2, sd)[1]))

    rate = t / max(math.sqrt(float(count @ two)), sd, 1e-300)
    more = rate * variance(rate) / 2 + t * t / (2 * rate)
    return mean + more / math.sqrt(2 * math.pi), mean, variance(STEEPEST)


def pushed_awake(layer: BackwardLayer, rho: float, tau: float, t: float) -> float:
    """B for which the root of Σ_j (g_j − y_j/τ)₊² over sleeping neurons is at most √B + ξ₊ in
    distribution, y_j what the typical move leaves of the threshold |z_j|; one event.

    Given y, it is 1-Lipschitz with a mean of at most √Σ_j h(y_j/τ), h(v) = E(g − v)₊². h is at most
    a step function; Σ_j h is a sum of independent variables in [0, ½], and exceeds its mean M by
    t√(M/2) + t²/6 at most (Bernstein).
    """
    asleep, turned = ~layer.awake, rho * layer.slope
    near = layer.z[asleep] - rho * layer.along[asleep].abs()
    # θ − x ≥ (1 − q)(θ − ρσg/√(1 − q²)) for all angles, q = ρ·slope.
    tau, sd = tau / (1 - turned), rho * layer.sigma / math.sqrt(1 - turned**2)
    h = tail(torch.as_tensor(-STEPS), 1.0)[1].numpy()
    mean = 0.0
    for before, after, v in zip(h[:-1], h[1:], STEPS[1:], strict=True):
        left = near - v * tau
        share = 0.5 * torch.erfc(left / (sd * math.sqrt(2)))
        share = torch.where(left > 0, share, 1.0)
        mean += (before - after) * float(layer.count[asleep] @ share)
    mean += float(h[-1] * layer.count[asleep].sum())
    return mean + t * math.sqrt(mean / 2) + t * t / 6


def value(
    known: Sequence[Constants],
    sigmas: Sequence[float],
    start: float,
    failure: float | None,
    last: np.ndarray | None = None,
) -> float:
    """The value of the control problem for ρ = 1, except with probability ``failure``: f at its
    start times e^y, where the logarithm of the value grows by at most a sum of random variables,
    and y bounds that sum. The problem ends with ρ, or with ρ·last(s/ρ) on the grid.
    """
    terms: list[LogMean] = []
    depth, f = len(known), np.ones_like(GRID) if last is None else last
    for l in range(depth - 1, -1, -1):
        now, top = known[l], last is None and l == depth - 1
        following = sigmas[l + 1] * now.more
        before, norm = step(f, now, following, top=top), now.sigma / now.Q
        if failure is not None:
            least = LEAST * start * math.sqrt(1 - l / depth)
            before = np.maximum(before, float(interpolated(before, least)))
        if top:
            terms.append(partial(positive, [norm]))
        else:
            by_push = growth(f) * following / now.Q
            number = elasticity(f, known[l + 1].ratio if l + 1 < depth else math.inf)
            along, flipping, asleep = (by_push * part for part in now.lipschitz)
            # ds grows with ε/2 = Λ/2ÑQ and with W.
            scaled = elasticity(before, now.ratio)
            woken = scaled * now.varies
            along += scaled * now.lipschitz[0] / (2 * now.low * now.Q)
            terms += [
                partial(positive, [number / now.N]),
                partial(positive, [min(1.0, by_push * now.most) / now.low]),
                partial(positive, now.moves * [along, along, flipping]),
                partial(positive, [woken, *now.moves * [asleep, asleep + woken]]),
                partial(of_layer, norm, by_push / math.sqrt(2 * math.pi), now.variances),
            ]
        f = before
    terms.append(partial(positive, [known[0].sigma * growth(f)]))
    y = 0.0 if failure is None else quantile(terms, failure)
    return float(interpolated(f, start)) * math.exp(y) if y < 700 else math.inf


def step(f: np.ndarray, now: Constants, following: float, *, top: bool) -> np.ndarray:
    """From f after a layer to f before it, at the points of the grid."""
    if top:
        found = now.Q + GRID
    else:
        angle = np.linspace(0, math.pi / 2, ANGLES + 1)
        along, across = np.cos(angle[:-1]), np.sin(angle[1:])
        found = np.empty_like(GRID)
        for some in np.array_split(np.arange(len(GRID)), 16):  # a whole table would take 20 MB
            at = GRID[some, None]
            x = at * now.d
            rho = np.sqrt(now.Q**2 + 2 * now.Q * x * along + x * x)
            s = following * (now.P * (1 + at * along / now.Q) + now.N * x * across)
            found[some] = (rho * interpolated(f, s / rho)).max(1)
    found = np.maximum.accumulate(found)
    # The value grows with ρ: f(x)/x does not grow with x.
    for k in range(len(GRID) - 2, 0, -1):
        found[k] = max(found[k], found[k + 1] * GRID[k] / GRID[k + 1])
    return found


def interpolated(f: np.ndarray, x: np.ndarray | float) -> np.ndarray:
    """f between the points of the grid, and (x/X)·f(X) beyond the last point X."""
    return np.interp(x, GRID, f) * np.maximum(1.0, np.asarray(x) / GRID[-1])


def growth(f: np.ndarray) -> float:
    """The largest f′/f, over all x."""
    slope = np.append(np.diff(f) / np.diff(GRID), f[-1] / GRID[-1])
    return float((slope / f).max())


def elasticity(f: np.ndarray, most: float) -> float:
    """The largest x·f′/f for x up to ``most``; it grows with x between points of the grid."""
    if most >= GRID[-1]:
        return 1.0
    found = GRID[1:] * np.diff(f) / np.diff(GRID) / f[1:]
    return float(found[: max(1, int(np.searchsorted(GRID, most)))].max())


#: log E exp(rate·variable) at most, for several rates.
LogMean = Callable[[np.ndarray], np.ndarray]


def quantile(terms: Sequence[LogMean], failure: float) -> float:
    """y with P(sum of independent variables > y) ≤ ``failure``, by Chernoff's bound."""
    with np.errstate(over="ignore", invalid="ignore"):
        logarithm = sum(term(RATES) for term in terms) - math.log(failure)
    return float(np.nan_to_num(logarithm / RATES, nan=math.inf, posinf=math.inf).min())


def positive(factors: Sequence[float], rates: np.ndarray) -> np.ndarray:
    """log E exp(rate·the largest of the c_iξ_i and 0) ≤ log(1 + Σ_i (Φ(v_i)e^{v_i²/2} − ½)), v_i =
    rate·c_i, for standard normal ξ_i.
    """
    v = rates[:, None] * np.array(factors)
    below = 0.5 * torch.erfc(torch.as_tensor(-v / math.sqrt(2))).numpy()
    found: np.ndarray = np.log1p((below * np.exp(v * v / 2) - 0.5).sum(1))
    return found


def of_layer(
    norm: float, factor: float, variances: Sequence[float], rates: np.ndarray
) -> np.ndarray:
    """log E exp(rate·(``norm``·ξ₊ + ``factor``·the largest Y_i₊)), ξ standard normal, Y_i centred
    with E exp(λY_i) ≤ exp(λ²V_i/2) for λ ≤ `STEEPEST`; they may depend on each other (Hölder).
    """
    if not variances:
        return positive([norm], rates)
    best = np.full_like(rates, math.inf)
    for p in (1.25, 1.5, 2.0):
        q = p / (p - 1)
        steep = q * rates * factor
        squares = steep[:, None] ** 2 * np.array(variances)
        above = (np.expm1(squares / 2) + np.sqrt(np.expm1(2 * squares))) / 2
        found = positive([norm], p * rates) / p + np.log1p(above.sum(1)) / q
        best = np.minimum(best, np.where(2 * steep > STEEPEST, math.inf, found))
    return best


def tail(m: torch.Tensor, sd: float) -> tuple[torch.Tensor, torch.Tensor]:
    """E(m + sd·g)₊ and E(m + sd·g)₊²."""
    if sd == 0:
        return m.clamp_min(0), m.clamp_min(0) ** 2
    x = m / sd
    density = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    below = 0.5 * torch.erfc(-x / math.sqrt(2))
    return sd * (density + x * below).clamp_min(0), sd * sd * (
        (1 + x * x) * below + x * density
    ).clamp_min(0)
