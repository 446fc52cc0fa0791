"""A bound for deep ReLU networks with Gaussian weights that need not be there: Gordon's comparison
run backwards through the layers. docs/proofs-drf.md has the theorem and its proof.

Conditioned on the text's own preactivations, the supremum of ‖δ_L‖ over all Δ is, up to a factor of
2^L in probability, at most the value of a small control problem. Its state after layer l is a pair
(ρ, s): ρ is the change of the layer, s how far an adversary may push the next layer's
preactivations. From (ρ, s), with an angle θ that the adversary chooses,

    ρ′ = √(Q²ρ² + 2Qρs·cos θ + s²),     s′ = σ′(Mρ′ + s(N·sin θ + E·cos θ)),

with Q ≈ 1 the gain of the layer for a typical change, N ≈ √(number of active neurons), and small
numbers M and E. The value is positively homogeneous, ρ·f(s/ρ), and f is found layer by layer on a
grid.
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
LEAST = 0.5
#: s is bounded by way of s + SHARE·ρ.
SHARE = 0.5
#: Cells of the size r of a typical change, and the ratio of their ends.
CELLS, RATIO = 96, 1.05
#: Events that are bounded one by one in each layer, as step 4 lists them.
EVENTS = 4 * CELLS + 8
#: The share of the failure probability that is left for these events and for bounds of states in
#: between; the rest is that of the last tail.
ASIDE = 0.25
#: Neurons are counted in this many intervals of |z|.
BINS = 1024
#: Steps of a decreasing function that bounds E(g − v)₊² from above.
STEPS = 4 * np.linspace(0, 1, 21) ** 1.5
#: Rates that are tried in Chernoff's bounds: of the value, and of sums of independent variables.
RATES = np.geomspace(4.0, 4000.0, 240)
TILTS = np.geomspace(0.004, 4.0, 18)


@dataclass(frozen=True)
class BackwardLayer:
    """One layer: σ of its weights; the number of neurons, active (z > 0) and inactive, with |z|
    between ``low`` and ``high``; Σ z² of active neurons; 1/‖h‖ of the layer before.
    """

    sigma: float
    low: torch.Tensor
    high: torch.Tensor
    active: torch.Tensor
    inactive: torch.Tensor
    square: float
    slope: float

    @staticmethod
    def of(sigma: float, z: torch.Tensor, size: float) -> BackwardLayer:
        """``size`` is the norm of what the weights were multiplied with."""
        top = float(z.abs().max()) * SAFE
        edges = top * (torch.arange(BINS + 1, dtype=z.dtype) / BINS) ** 2
        place = torch.bucketize(z.abs(), edges, right=True).clamp(1, BINS) - 1
        counts = [torch.bincount(place[some], minlength=BINS) for some in (z > 0, z <= 0)]
        active, inactive = (some.to(z.dtype) for some in counts)
        square = float((z.clamp_min(0) ** 2).sum())
        slope = SAFE / size if size > 0 else math.inf
        return BackwardLayer(sigma, edges[:-1], edges[1:], active, inactive, square, slope)


@dataclass(frozen=True)
class Constants:
    """The numbers of one layer of the control problem."""

    sigma: float
    Q: float
    M: float
    N: float
    E: float


def backward_bound(
    layers: Sequence[BackwardLayer], d: int, radius: float, failure: float | None
) -> float:
    """A number that ‖δ_L‖ does not exceed for ‖Δ‖ ≤ ``radius``, except with probability
    ``failure``; +∞ where a change may turn a layer around. d is the dimension of Δ. Without
    ``failure``, the same with every tail left out: what the bound is about in a typical draw.
    """
    depth, t, left = len(layers), 0.0, 1.0
    if failure is not None:
        left = math.ldexp(failure, -depth)
        if not left:
            return math.inf
        t = math.sqrt(2 * math.log((EVENTS * depth + 1) / (left * ASIDE / 2)))
    between = left * ASIDE / (4 * depth) if t else None
    sigmas = [layer.sigma for layer in layers] + [layers[-1].sigma]
    start, most = (layers[0].sigma * (math.sqrt(d) + more) for more in (0.0, t))
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
        if not rho * layer.slope < 1 or s == math.inf:
            return math.inf
        known.append(constants(layer, rho, s, ratio, t, last=layer is layers[-1]))
    return bound(None, left * (1 - ASIDE) if t else None) * SAFE


def straight(layer: BackwardLayer) -> float:
    """A bound of the mean square of ‖v₁‖, the active neurons' part of a typical move, for all
    angles at once.
    """
    A, E = layer.sigma**2 * float(layer.active.sum()), layer.square * layer.slope**2
    return (A + E) / 2 + math.sqrt(((A - E) / 2) ** 2 + layer.sigma**2 * (A / 2 + E))


def constants(
    layer: BackwardLayer, rho: float, s: float, ratio: float, t: float, *, last: bool = False
) -> Constants:
    """The numbers of a layer whose input changes by at most ``rho`` and is pushed by at most ``s``
    and ``ratio`` times that change; each event fails with probability e^(−t²/2) at most. The last
    layer needs Q alone.
    """
    sigma, q = layer.sigma, rho * layer.slope
    # The ends of the cells; smaller r are one cell more.
    r = torch.as_tensor(rho / math.sqrt(1 - q * q) * RATIO ** -np.arange(CELLS + 1.0))[:, None]
    Q = math.sqrt(straight(layer) + gained(layer, r, q))
    if last:
        return Constants(sigma, Q, 0.0, 0.0, 0.0)
    N = math.sqrt(number(layer, r, t) + activated(layer, r, s / (1 - q), t))
    most = Q + sigma * t
    flipped, slept = typical(layer, r, t)
    push = float(tail(torch.tensor(flipped, dtype=r.dtype), most)[0])
    cross = push + slept / math.sqrt(1 - q * q)
    share = ratio / math.hypot(Q, ratio) if ratio < math.inf else 1.0
    M = push / Q + share * (0.5 + most / (math.sqrt(2 * math.pi) * Q))
    return Constants(sigma, Q, M, N, cross / Q)


def gained(layer: BackwardLayer, r: torch.Tensor, q: float) -> float:
    """A bound of the mean of the largest (U − D/(1 + q))/r², what neurons that become active or
    inactive add to the square of the gain.
    """
    sigma, best, total = layer.sigma, math.inf, 0.0
    U = tail(-layer.low / r, sigma)[1] @ layer.inactive
    above = layer.high / r
    one, two = tail(-above, sigma)
    D = (two + 2 * above * one) @ layer.active / (1 + q)
    moved = (two + 2 * above * one + above**2 * normal(-above / sigma)) @ layer.active
    # Every fourth end: larger cells, fewer of them.
    for cell in range(0, CELLS, 4):
        best = min(best, total + float(U[cell]))
        mean = float(U[cell] - D[cell + 4])
        variance = 4 * sigma**2 * float(U[cell] + moved[cell + 4] / (1 + q) ** 2)
        total += (mean + math.hypot(mean, math.sqrt(variance))) / 2
    return best


def number(layer: BackwardLayer, r: torch.Tensor, t: float) -> float:
    """N²: the mean of the largest Σ g_j² over active neurons."""
    scaled = layer.sigma * r
    woken, slept = normal(-layer.low / scaled), normal(-layer.high / scaled)
    # In the last cell no neuron is sure to have become inactive.
    rest = torch.cat([(slept @ layer.active)[1:], torch.zeros(1, dtype=r.dtype)])
    more = chernoff(lambda x: math.expm1(x) * (woken @ layer.inactive) + math.expm1(-x) * rest, t)
    flipped = chernoff(lambda x: math.expm1(x) * (woken[0] @ (layer.active + layer.inactive)), t)
    K = float(layer.active.sum()) + max(0.0, float(more.max()))
    return K + 2 * math.sqrt(2 * float(flipped))


def typical(layer: BackwardLayer, r: torch.Tensor, t: float) -> tuple[float, float]:
    """Bounds of the mean push of neurons that change their state, and of those among them that
    become inactive.
    """
    scaled, both = layer.sigma * r, layer.active + layer.inactive
    share, square = normal(-layer.low / scaled), (layer.high / scaled) ** 2

    def moved(count: torch.Tensor) -> torch.Tensor:
        """√S/r; Σ θ²/σ²r² has exponential moments below ½, hence the 9."""

        def logarithm(x: float) -> torch.Tensor:
            return torch.where(share > 0, share * (x / 9 * square).expm1(), 0.0) @ count

        return layer.sigma * (9 * chernoff(logarithm, t)).sqrt()

    few = flips(both, -layer.low / (2 * r[-1]), layer.sigma, t) / math.sqrt(2 * math.pi)
    P = (RATIO - 1) * float(moved(both)[:-1].sum()) / math.sqrt(2 * math.pi) + few
    slept = moved(layer.active)[:-1]
    # Every eighth end: larger cells, fewer of them.
    return P, 2 * RATIO**8 * float((slept[::8] ** 2).sum().sqrt()) + 2 * few


def flips(count: torch.Tensor, m: torch.Tensor, sd: float, t: float) -> float:
    """A bound of Σ_j p_j, p_j = (m_j + sd·g′_j)₊: the sum exceeds its mean by λV/2 + t²/2λ at most,
    V = Σ_j E p_j²e^{λp_j} = Σ_j e^{λm_j + λ²sd²/2}E(m_j + λsd² + sd·g)₊².
    """
    mean = float(count @ tail(m, sd)[0])
    if not t:
        return mean

    def more(rate: float) -> float:
        tilt = (rate * m + (rate * sd) ** 2 / 2).exp()
        variance = float(count @ (tilt * tail(m + rate * sd**2, sd)[1]))
        return rate * variance / 2 + t * t / (2 * rate)

    return mean + min(more(rate) for rate in np.geomspace(0.3, 6, 6) / sd)


def activated(layer: BackwardLayer, r: torch.Tensor, s: float, t: float) -> float:
    """A bound of the mean of the largest Σ_j (g_j − N·distance/s)₊² over inactive neurons,
    N = √(number of active neurons).

    For each cell its root is 1-Lipschitz in g with a mean square of at most Σ_j h,
    h(v) = E(g − v)₊². h is at most a step function; Σ_j h is a sum of independent variables in
    [0, ½].
    """
    upper = 1 / (layer.sigma * r)
    lower = torch.cat([upper[1:], torch.full_like(upper[:1], math.inf)])
    h = tail(torch.as_tensor(-STEPS), 1.0)[1].tolist()
    window = s / math.sqrt(max(1.0, float(layer.active.sum())))
    mean = h[-1] * float(layer.active.sum() + layer.inactive.sum())
    total = torch.full_like(r[:, 0], mean)
    slept, woken = normal(-layer.low * upper), normal(layer.high * lower)
    for before, after, v in zip(h[:-1], h[1:], (STEPS[1:] * window).tolist(), strict=True):
        gap = layer.low - v
        near = normal(torch.where(gap >= 0, gap * upper, gap * lower))
        fell = normal(-(layer.high + v) * lower)
        share = (slept - fell) @ layer.active + (woken - near) @ layer.inactive
        total += (before - after) * share
    worst = chernoff(lambda x: 2 * math.expm1(x / 2) * total, t)
    return (math.sqrt(float(worst.max())) + math.sqrt(2 * math.log(CELLS + 1))) ** 2 + 1


def chernoff(logarithm: Callable[[float], torch.Tensor], t: float) -> torch.Tensor:
    """What sums exceed with probability e^(−t²/2) at most, from a bound of log E e^{x·sum}; their
    mean for t = 0.
    """
    if not t:
        return logarithm(1e-9) / 1e-9
    found = [(logarithm(x) + t * t / 2) / x for x in TILTS.tolist()]
    return torch.stack(found).nan_to_num(nan=math.inf).min(0).values  # NaN: that rate overflows


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
        before = step(f, now, sigmas[l + 1], top=top)
        if failure is not None:
            least = LEAST * start * math.sqrt(1 - l / depth)
            before = np.maximum(before, float(interpolated(before, least)))
        terms.append(partial(gain, now.sigma / now.Q))
        if not top:
            terms.append(partial(positive, growth(f) * sigmas[l + 1]))
        f = before
    terms.append(partial(positive, known[0].sigma * growth(f)))
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
            x = GRID[some, None]
            rho = np.sqrt(now.Q**2 + 2 * now.Q * x * along + x * x)
            s = following * (now.M * rho + x * (now.N * across + now.E * along))
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


#: log E exp(rate·variable) at most, for several rates.
LogMean = Callable[[np.ndarray], np.ndarray]


def quantile(terms: Sequence[LogMean], failure: float) -> float:
    """y with P(sum of independent variables > y) ≤ ``failure``, by Chernoff's bound."""
    with np.errstate(over="ignore", invalid="ignore"):
        logarithm = sum(term(RATES) for term in terms) - math.log(failure)
    return float(np.nan_to_num(logarithm / RATES, nan=math.inf, posinf=math.inf).min())


def positive(factor: float, rates: np.ndarray) -> np.ndarray:
    """log E exp(rate·``factor``·ξ₊) = log(½ + Φ(v)e^{v²/2}), v = rate·factor, ξ standard normal."""
    v = rates * factor
    found: np.ndarray = np.log(0.5 + normal(torch.as_tensor(v)).numpy() * np.exp(v * v / 2))
    return found


def gain(factor: float, rates: np.ndarray) -> np.ndarray:
    """log E exp(rate·``factor``·Y₊) ≤ log(1 + e^{v²/2}), v = rate·factor, for a function Y of
    standard normal variables that is 1-Lipschitz and has a mean of at most 0.
    """
    found: np.ndarray = np.logaddexp(0, (rates * factor) ** 2 / 2)
    return found


def normal(x: torch.Tensor) -> torch.Tensor:
    """The distribution function of a standard normal variable."""
    return 0.5 * torch.erfc(-x / math.sqrt(2))


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
