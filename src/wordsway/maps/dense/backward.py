"""A bound for deep ReLU networks with Gaussian weights that need not be there: Chevet's comparison
run backwards through the layers. docs/proofs-drf.md has the theorem and its proof.

Conditioned on the text's own preactivations, the supremum of ‖δ_L‖ over all Δ is, up to a factor of
2^L in probability, at most the value of a small control problem. Its state after layer l is a pair
(ρ, s): ρ bounds the change of the layer, s how far an adversary may push the next layer's
preactivations. From (ρ, s), with an angle θ that the adversary chooses,

    ρ′ = √(Q²ρ² + 2Qρds·cos θ + d²s²),     s′ = σ′(P(ρ + s/Q) + Nds·sin θ),

with Q ≈ 1 the typical gain of the layer, N ≈ √(number of awake neurons), P from neurons that wake
up or fall asleep, and d ≥ 1 a correction for neurons that the adversary wakes. The value is
positively homogeneous, ρ·f(s/ρ), and f is found layer by layer on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from wordsway.maps.dense.neurons import tail
from wordsway.maps.rigorous import SAFE

#: The grid of x = s/ρ, and the number of intervals of θ. A state with a larger x counts as
#: one with a larger ρ.
GRID = np.linspace(0, 0.75, 301)
ANGLES = 256
#: Angles, in the first layer, between Δ and the direction in which its weights were queried, and
#: the factor by which an arc between two of them exceeds its chord.
NODES = 17
STRETCH = 1 / math.cos(math.pi / 2 / (NODES - 1))
#: Events that are bounded one by one: those of one layer, and more of the first.
EVENTS, EVENTS_OF_NODES = 12, 4 * NODES + 2
#: Beyond the first layer, neurons are counted at the next smaller of this many values of |z|.
BINS = 2048
#: Steps of a decreasing function that bounds E(g − v)₊² from above.
STEPS = np.linspace(0, 5, 26)


@dataclass(frozen=True)
class BackwardLayer:
    """What is known of one layer: σ of its weights; |z| of its neurons; the direction in which its
    weights were queried, neuron by neuron, positive where it takes z towards zero; how often each
    neuron counts, and which are awake; the square of that direction over awake neurons. ``first``
    marks the layer in which that direction is not the one of z.
    """

    sigma: float
    z: torch.Tensor
    along: torch.Tensor
    count: torch.Tensor
    awake: torch.Tensor
    along2: float
    first: bool

    @staticmethod
    def of(sigma: float, z: torch.Tensor, along: torch.Tensor, *, first: bool) -> BackwardLayer:
        """``along`` is V·(unit vector) in the direction that was queried."""
        awake, size = z > 0, z.abs()
        along2 = float((along * along)[awake].sum())
        toward = torch.where(awake, -along, along)
        if first:
            return BackwardLayer(sigma, size, toward, torch.ones_like(z), awake, along2, first)
        top = float(size.max())
        edges = top * (torch.arange(BINS, dtype=z.dtype) / BINS) ** 2
        place = ((size / max(top, 1e-300)).sqrt() * BINS * (1 - 1e-12)).long().clamp_max(BINS - 1)
        counts = [torch.bincount(place[some], minlength=BINS) for some in (awake, ~awake)]
        # ``along`` is a negative multiple of |z| here.
        slope = float(toward.abs().sum() / size.sum().clamp_min(1e-300))
        return BackwardLayer(
            sigma,
            edges.repeat(2),
            -slope * edges.repeat(2),
            torch.cat(counts).to(z.dtype),
            torch.arange(2 * BINS) < BINS,
            along2,
            first,
        )


@dataclass(frozen=True)
class Constants:
    """The numbers of one layer of the control problem. ``low`` is a lower bound of N, ``lipschitz``
    times a standard normal variable, the largest of ``branches`` ones, is what the typical push
    exceeds its mean P by, and ``ratio`` bounds x = s/ρ before the layer.
    """

    sigma: float
    Q: float
    P: float
    N: float
    d: float
    low: float
    lipschitz: float
    branches: int
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
        left = failure / 2**depth / 2
        t = math.sqrt(2 * math.log((EVENTS * depth + EVENTS_OF_NODES) / left))
    sigmas = [layer.sigma for layer in layers] + [layers[-1].sigma]
    start, ratio = (layers[0].sigma * (math.sqrt(d - 1) + more) for more in (0.0, t))
    rho, s, ratio = radius, radius * ratio, min(ratio, float(GRID[-1]))
    known: list[Constants] = []
    for layer, following in zip(layers, sigmas[1:], strict=True):
        now = constants(layer, rho, s, ratio, t)
        if now is None:
            return math.inf
        known.append(now)
        pushed = (now.N + t) * now.d * math.sqrt(1 + t * now.lipschitz / now.Q / now.low)
        typical = now.P * (now.N + t) / now.low + t * now.lipschitz
        s = following * ((rho + s / now.Q) * typical + pushed * s)
        ratio = following * ((1 + ratio / now.Q) * typical + pushed * ratio) / now.Q
        ratio = min(ratio, float(GRID[-1]))
        rho = radius * value(known, sigmas, start, t, left / depth if t else None)
        if not rho < math.inf:
            return math.inf
    return rho * SAFE


def constants(
    layer: BackwardLayer, rho: float, s: float, ratio: float, t: float
) -> Constants | None:
    """The numbers of a layer whose input changes by at most ``rho`` and is pushed by at most ``s``
    and ``ratio`` times that change; each event fails with probability e^(−t²/2) at most. None where
    there are too few neurons, or a change may turn a layer around.
    """
    sigma = layer.sigma
    K = float(layer.count[layer.awake].sum())
    low = math.sqrt(max(0.0, K - 2)) - t
    if low <= 0:
        return None
    A, E = sigma**2 * K, layer.along2
    most = (A + E) / 2 + math.sqrt(((A - E) / 2) ** 2 + sigma**4 * K / 2 + sigma**2 * E)
    moves = [(sigma, layer.along.abs())]
    if layer.first:
        angles = [math.pi * (node / (NODES - 1) - 0.5) for node in range(NODES)]
        moves = [
            (max(0.0, math.cos(angle)) * sigma * STRETCH, math.sin(angle) * STRETCH * layer.along)
            for angle in angles
        ]
    stretch = STRETCH if layer.first else 1.0
    wakes = awakened(layer, moves, rho, layer.count * ~layer.awake)
    varies = (sigma * stretch) ** 2 * (len(moves) > 1)
    Q = math.sqrt(wakes**2 + varies + most)
    reach = rho + s / Q
    if not layer.first and reach * float(layer.along.abs().max() / layer.z.max()) >= 1:
        return None
    # N and ‖g̃₁‖ are both between ``low`` and √K + t.
    spread = (math.sqrt(K) + t) / low
    P = max(flips(layer.count, mean - layer.z / reach, sd, t) for sd, mean in moves)
    pushed = 1 + ratio / Q
    wakes = awakened(layer, moves, reach, layer.count * ~layer.awake)
    woken, every = wakes + sigma * t, awakened(layer, moves, reach, layer.count) + sigma * t
    # p_j has the thresholds of ``reach``, more neurons awake than in Q.
    square = (math.sqrt(wakes**2 + varies + most) + sigma * t) ** 2 + (pushed**2 - 1) * woken**2
    lipschitz = max(math.sqrt(square) * max(1.0, ratio / Q), pushed * every) * spread * stretch
    more = pushed_awake(layer, rho, s / low, t) / (2 * low**2)
    return Constants(sigma, Q, P, math.sqrt(K), 1 + more, low, lipschitz, 3 * len(moves), ratio)


def awakened(
    layer: BackwardLayer,
    moves: Sequence[tuple[float, torch.Tensor]],
    rho: float,
    count: torch.Tensor,
) -> float:
    """A bound of the mean of ‖(x_j − |z_j|)₊‖/ρ over the counted neurons, for the largest of the
    moves x; with its variance σ² one of its mean square, where there are several.
    """
    found = max(float(count @ tail(mean - layer.z / rho, sd)[1]) for sd, mean in moves)
    stretch = STRETCH if layer.first else 1.0
    return math.sqrt(found) + layer.sigma * stretch * math.sqrt(2 * math.log(len(moves)))


def flips(count: torch.Tensor, m: torch.Tensor, sd: float, t: float) -> float:
    """An upper bound of Σ_j p_j/√2π, p_j = (m_j + sd·g′_j)₊: the sum exceeds its mean by
    λV/2 + t²/2λ at most, V = Σ_j E p_j²e^{λp_j} ≤ Σ_j e^{λm_j₊ + λ²sd²/2}E(m_j + λsd² + sd·g)₊².
    """
    one, two = tail(m, sd)
    if not t:
        return float(count @ one) / math.sqrt(2 * math.pi)
    rate = t / max(math.sqrt(float(count @ two)), sd, 1e-300)
    tilt = (rate * m.clamp_min(0) + rate**2 * sd**2 / 2).exp()
    V = float(count @ (tilt * tail(m + rate * sd**2, sd)[1]))
    return (float(count @ one) + rate * V / 2 + t * t / (2 * rate)) / math.sqrt(2 * math.pi)


def pushed_awake(layer: BackwardLayer, rho: float, tau: float, t: float) -> float:
    """An upper bound of Σ_j (g_j − y_j/τ)₊² over sleeping neurons, y_j what the typical move leaves
    of the threshold |z_j|; two events.

    Given y, its root exceeds √Σ_j h(y_j/τ) by t at most, h(v) = E(g − v)₊². h is at most a step
    function; Σ_j h is a sum of independent variables in [0, ½], and exceeds its mean M by
    t√(M/2) + t²/6 at most (Bernstein).
    """
    asleep = ~layer.awake
    near = layer.z[asleep] - rho * layer.along[asleep].abs()
    h = tail(torch.as_tensor(-STEPS), 1.0)[1].numpy()
    mean = 0.0
    for before, after, v in zip(h[:-1], h[1:], STEPS[1:], strict=True):
        left = near - v * tau
        share = 0.5 * torch.erfc(left / (rho * layer.sigma * math.sqrt(2)))
        share = torch.where(left > 0, share, 1.0)
        mean += (before - after) * float(layer.count[asleep] @ share)
    mean += float(h[-1] * layer.count[asleep].sum())
    total = mean + t * math.sqrt(mean / 2) + t * t / 6
    return (math.sqrt(total) + t) ** 2


def value(
    known: Sequence[Constants],
    sigmas: Sequence[float],
    start: float,
    t: float,
    failure: float | None,
) -> float:
    """The value of the control problem for ρ = 1, except with probability ``failure``: f at its
    start times e^y, where the logarithm of the value grows by at most Σ_i c_iξ_i₊ with standard
    normal ξ_i (the largest of several for some i), and y bounds that sum.
    """
    rates: list[float] = []
    branches: list[int] = []
    f = np.ones_like(GRID)
    for l in range(len(known) - 1, -1, -1):
        now, following, top = known[l], sigmas[l + 1], l == len(known) - 1
        rates.append(now.sigma / now.Q)
        branches.append(1)
        if not top:
            flipped = now.P * (1 + now.ratio / now.Q)
            wide = following * (now.lipschitz + 2 * flipped / now.low) * t / now.Q
            by_push = growth(f, wide, 2 * t / now.low)
            # N scales the push, and with its copy what the typical move adds to it.
            copied = by_push * following * flipped / (now.Q * now.low)
            rates += [1 / now.N + copied, copied]
            # ε = L/ÑQ, and L is (Q + σt)-Lipschitz, stretched in the first layer.
            turned = (STRETCH if l == 0 else 1.0) * (1 + now.sigma * t / now.Q) / (2 * now.low)
            rates.append(by_push * following * now.lipschitz / now.Q + turned)
            branches += [1, 1, now.branches]
        f = step(f, now, following, top=top)
    sigma = known[0].sigma
    rates.append(sigma * growth(f, sigma * t, 0.0))
    branches.append(1)
    tail_of_all = 0.0 if failure is None else quantile(rates, branches, failure)
    return float(interpolated(f, start)) * math.exp(tail_of_all)


def step(f: np.ndarray, now: Constants, following: float, *, top: bool) -> np.ndarray:
    """From f after a layer to f before it, at the points of the grid."""
    x = (GRID if top else GRID * now.d)[:, None]
    if top:
        found = now.Q + x[:, 0]
    else:
        angle = np.linspace(0, math.pi / 2, ANGLES + 1)
        rho = np.sqrt(now.Q**2 + 2 * now.Q * x * np.cos(angle[:-1]) + x * x)
        s = following * (now.P * (1 + GRID[:, None] / now.Q) + now.N * x * np.sin(angle[1:]))
        found = (rho * interpolated(f, s / rho)).max(1)
    found = np.maximum.accumulate(found)
    # The value grows with ρ: f(x)/x does not grow with x.
    for k in range(len(GRID) - 2, 0, -1):
        found[k] = max(found[k], found[k + 1] * GRID[k] / GRID[k + 1])
    return found


def interpolated(f: np.ndarray, x: np.ndarray | float) -> np.ndarray:
    """f between the points of the grid, and (x/X)·f(X) beyond the last point X."""
    return np.interp(x, GRID, f) * np.maximum(1.0, np.asarray(x) / GRID[-1])


def growth(f: np.ndarray, wide: float, share: float) -> float:
    """An upper bound of f′(x + h)/f(x) for 0 ≤ h ≤ ``wide`` + ``share``·x, over all x."""
    slope = np.append(np.diff(f) / np.diff(GRID), f[-1] / GRID[-1])
    slope = np.maximum.accumulate(slope)
    ahead = np.searchsorted(GRID, GRID[1:] * (1 + share) + wide).clip(max=len(GRID) - 1)
    return max(float((slope[ahead] / f[:-1]).max()), 1 / float(GRID[-1]))


def quantile(rates: Sequence[float], branches: Sequence[int], failure: float) -> float:
    """y with P(Σ_i c_i max(ξ_i1₊, …) > y) ≤ ``failure``, by Chernoff's bound: E exp(v·largest
    of b positive parts) ≤ 1 + b(Φ(v)e^{v²/2} − ½).
    """
    c, b = np.array(rates), np.array(branches)
    best = math.inf
    for rate in np.geomspace(1, 25, 300) / float(np.linalg.norm(c)):
        logarithm = float(np.log1p(b * (_exponential(rate * c) - 0.5)).sum())
        best = min(best, (logarithm - math.log(failure)) / rate)
    return best


def _exponential(v: np.ndarray) -> np.ndarray:
    """E e^{vξ}1[ξ > 0] = Φ(v)e^{v²/2} for ξ ~ N(0, 1)."""
    below = 0.5 * torch.erfc(torch.as_tensor(-v / math.sqrt(2))).numpy()
    return below * np.exp(v * v / 2)
