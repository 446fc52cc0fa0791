"""Certificates for RF and DRF (docs/statements/dense.md).

**Exact** (Theorem 1), for weights held in memory: with g_j = `Activation.gain`(z_j, ρ_{l−1}‖v_j‖)
and the rows v_j of V_l,

    ρ_l = ρ_{l−1} ‖diag(g) V_l‖_op,    ρ_0 = radius,    S ≤ ρ_L/‖φ(X)‖.

Of an ellipsoid or subspace {Az: ‖z‖ ≤ r}, the first layer's matrix is V_1A and ρ_0 = r.

**With probability 1 − 1e-9** (Theorem 2), for Gaussian weights that need not be there: with convex
majorants |ϕ(z_j + u) − ϕ(z_j)| ≤ r_j(u) = a|u| + (L − a)(|u| − τ_j)₊ and

    M(α, sd)² = Σ_j E r_j(α s_j + sd·g)²,     g ~ N(0, 1),

a layer's change is at most M(α, σ√(ρ² − α²)) + Lσ(w + …) for a set of radius ρ and Gaussian width
w, the largest over a grid of α = the component along the direction that was already queried. For
deep ReLU maps `dense.backward` has another bound, and the smaller one is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from wordsway.constraints import LinearBall
from wordsway.core.progress import Progress, silent
from wordsway.maps.activation import Activation
from wordsway.maps.dense.backward import BackwardLayer, backward_bound, tail
from wordsway.maps.dense.layers import Trace
from wordsway.maps.rigorous import (
    FAILURE,
    SAFE,
    Certificate,
    U,
    gamma,
    opnorm_upper_bound,
    relative,
)

#: Points at which neurons are counted; M grows by less than 1e-6 of itself.
NODES = 4096


@dataclass(frozen=True)
class Neurons:
    """Preactivations ``z``, their directions ``seen`` and how often each counts (None: once); and
    of all others Σ s_j² and their number, for those that move as much as they are moved.
    """

    act: Activation
    z: torch.Tensor
    seen: torch.Tensor
    weight: torch.Tensor | None = None
    straight: float = 0.0
    number: int = 0

    @staticmethod
    def of(act: Activation, z: torch.Tensor, seen: torch.Tensor) -> Neurons:
        """Any directions."""
        if not act.kink:
            return Neurons(act, z, seen)
        awake = z > 0
        others = seen[awake]
        rest = (z[~awake], seen[~awake])
        return Neurons(act, *rest, None, float(others @ others), len(others))

    @staticmethod
    def along_themselves(act: Activation, z: torch.Tensor, size: float) -> Neurons:
        """Directions s = z/size."""
        found = Neurons.of(act, z, z / size)
        relu = act.kink and float(act.derivative(z.new_tensor(-1.0))) == 0
        if not relu or len(found.z) <= NODES:
            return found
        depth = -found.z
        width = float(depth.max()) / (NODES - 1)
        if width == 0:
            return found
        place = (depth / width).clamp_max(NODES - 1)
        below = place.floor().clamp_max(NODES - 2)
        share = place - below
        index = below.to(torch.int64)
        weight = torch.bincount(index, 1 - share, NODES)
        weight[1:] += torch.bincount(index, share, NODES - 1)
        nodes = -width * torch.arange(NODES, dtype=z.dtype, device=z.device)
        return Neurons(act, nodes, nodes / size, weight, found.straight, found.number)

    def mean_norm(self, along: float, sd: float) -> float:
        """M(α, sd), or a little more."""
        L = self.act.certified_lipschitz()
        plain = L * L * (along * along * self.straight + self.number * sd * sd)
        return math.sqrt(plain + self._mean_square(along * self.seen, sd)) * (1 + 1e-12)

    def _mean_square(self, mean: torch.Tensor, sd: float) -> float:
        # A piecewise linear ϕ changes slope |z_j| away, on one side; a smooth one may use any τ:
        # take the best of a few.
        act, z = self.act, self.z
        several = (torch.full_like(z, share * sd) for share in (2.0, 3.0, 4.0, 6.0))
        best, L = math.inf, act.certified_lipschitz()
        for tau in [z.abs()] if act.kink else several:
            a = act.slope(z - tau, z + tau)
            b = L - a
            first, second = tail(mean - tau, sd)
            if not act.kink:
                left = tail(-mean - tau, sd)
                first, second = first + left[0], second + left[1]
            square = a * a * (mean * mean + sd * sd) + 2 * a * b * (second + tau * first)
            square = (square + b * b * second).clamp_min(0)
            total = square.sum() if self.weight is None else self.weight @ square
            best = min(best, float(total))
        return best


#: Cells of the grids over the component of a change along the direction already queried: angles in
#: the first layer, lengths in the later ones.
CELLS, LATER_CELLS = 16, 48
#: Layers wider than this get the plain operator norm: the weighted one costs a k×k eigenvalue
#: problem per word.
WEIGHTED_UP_TO = 1024


def certify(
    trace: Trace,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
    ball: LinearBall | None = None,
) -> Certificate | None:
    """The best certificate there is for each row, or None where the activation's Lipschitz constant
    is unknown. ``ball`` is a set of Δ in the ball of this radius, for each of the rows that move.
    """
    layers = trace.layers
    if layers.activation.lipschitz is None:
        return None
    exact = None if layers.on_demand else _exact(trace, rows, radius)
    if exact is not None and ball is not None:
        exact = torch.minimum(exact, _exact(trace, rows, radius, ball))
    if layers.beta is None:
        assert exact is not None
        return Certificate.exact(exact)
    probable = gaussian_bounds(trace, rows, radius, progress)
    if exact is not None and bool((exact <= probable).all()):
        return Certificate.exact(exact)
    return Certificate.probable(probable if exact is None else torch.minimum(exact, probable))


def _exact(
    trace: Trace, rows: Sequence[int], radius: float, ball: LinearBall | None = None
) -> torch.Tensor:
    phi = trace.layers
    act = phi.activation
    z = [part.to(torch.float64) for part in trace.z]
    later = [V.dense().to(torch.float64) for V in phi.later]
    errors = trace.errors[0]
    plain = [
        opnorm_upper_bound(V) * act.certified_lipschitz() if len(V) > WEIGHTED_UP_TO else None
        for V in later
    ]
    upper = []
    for i in rows:
        V = phi.first.block(i).dense().to(torch.float64)
        rho = radius
        if ball is None:
            rho *= _weighted_norm(V, z[0], errors[0], radius, act)
        else:
            rho = _in_ball(V, z[0], errors[0], radius, act, ball)
        for W, pre, error, norm in zip(later, z[1:], errors[1:], plain, strict=True):
            rho *= norm if norm is not None else _weighted_norm(W, pre, error, rho, act)
        upper.append(relative(rho * (1 + 8 * phi.depth * U), trace.norm_below))
    return torch.tensor(upper, dtype=torch.float64)


def _weighted_norm(
    V: torch.Tensor, z: torch.Tensor, error: torch.Tensor, rho: float, act: Activation
) -> float:
    reach = rho * V.norm(dim=1) * SAFE
    weighted = act.gain(z, reach, error)[:, None] * V
    return opnorm_upper_bound(weighted, 2 * U * float(weighted.norm()))


def _in_ball(
    V: torch.Tensor,
    z: torch.Tensor,
    error: torch.Tensor,
    radius: float,
    act: Activation,
    ball: LinearBall,
) -> float:
    """How far the first layer moves by Δ = Az + e, ‖z‖ ≤ r, e being the rounding of Δ and of x + Δ:
    ‖e‖ ≤ ``radius`` − the norm of the longest Az, or 1e-12 of it.
    """
    d = len(ball.A)
    blocks = V.shape[1] // d
    A = torch.block_diag(*[ball.A] * blocks)
    size = ball.size(d) * math.sqrt(blocks)
    rest = max(radius - ball.span(d) * math.sqrt(blocks), 0.0) + 1e-12 * radius
    VA, off = V @ A, 2 * gamma(len(A)) * float(V.norm()) * float(A.norm())
    reach = (size * (VA.norm(dim=1) + off) + rest * V.norm(dim=1)) * SAFE
    gain = act.gain(z, reach, error)[:, None]
    along = opnorm_upper_bound(gain * VA, off + 2 * U * float(VA.norm()))
    return (size * along + rest * opnorm_upper_bound(gain * V, 2 * U * float(V.norm()))) * SAFE


def gaussian_bounds(
    trace: Trace,
    rows: Sequence[int],
    radius: float,
    progress: Progress = silent,
    *,
    backwards: bool = True,
) -> torch.Tensor:
    """The probable bound of each row, infinite behind a layer of zeros; with ``backwards`` the
    smaller of two where there are two.
    """
    phi = trace.layers
    assert phi.beta is not None
    act = phi.activation
    L = act.certified_lipschitz()
    z = [part.to(torch.float64) for part in trace.z]
    h = [part.to(torch.float64) for part in trace.h]
    # One event per word, layer and grid point, and one per width and for the first layer's
    # Frobenius norm.
    backwards &= act.function is torch.relu and phi.depth > 1
    failure = (FAILURE / 2 if backwards else FAILURE) / len(rows)
    t = math.sqrt(2 * math.log(phi.depth * (max(CELLS, LATER_CELLS) + 3) / failure))
    k = phi.k
    upper = []
    sizes = [float(part.norm()) for part in h]
    if 0.0 in sizes[:-1]:
        return torch.full((len(rows),), math.inf, dtype=torch.float64)
    later = [Neurons.along_themselves(act, *part) for part in zip(z[1:], sizes[:-1], strict=True)]
    other = math.inf
    if backwards:
        moved = phi.first.part(trace.X, rows[0]).numel()
        other = backward_bound(backward_layers(trace), moved, radius, failure)
    for i in rows:
        x = phi.first.part(trace.X, i).to(torch.float64)
        d, sigma = len(x), math.sqrt(phi.beta / (phi.n * phi.d))
        if not float(x.norm()) > 0:  # z says nothing of V_i then; any direction will do
            x = torch.nn.functional.one_hot(torch.tensor(0), d).to(x)
        direction = (x / x.norm()).to(trace.X.dtype)
        seen = (direction @ phi.first.block(i).T).to(torch.float64)  # V_i x̂, known with z
        # Layer 1: Δ on the sphere (F∘V is convex), at angle θ to x̂; an arc lies below its ends
        # stretched by 1/cos(half).
        stretch = 1 / math.cos(math.pi / (2 * CELLS))
        rho = 0.0
        neurons = Neurons.of(act, z[0], seen)
        for node in range(CELLS + 1):
            angle = math.pi * node / CELLS
            along = stretch * radius * math.cos(angle)
            across = stretch * radius * abs(math.sin(angle))
            mean = neurons.mean_norm(along, sigma * across)
            rho = max(rho, mean + L * sigma * across * (math.sqrt(d - 1) + t))
        width = L * radius * math.hypot(float(seen.norm()), sigma * (math.sqrt(k * (d - 1)) + t))
        for layer in range(1, phi.depth):
            sigma = math.sqrt(phi.beta / k)
            size = float(z[layer].norm()) / sizes[layer - 1]
            width = min(width, rho * math.sqrt(k))
            turned = rho * (math.sqrt(2 / math.pi) * size + t * sigma)
            rho = _next_radius(later[layer - 1], sigma, rho, width, t)
            width = L * (sigma * math.sqrt(k) * width + turned)
        upper.append(relative(min(rho, other) * SAFE, trace.norm_below))
        progress("certifying", len(upper), len(rows))
    return torch.tensor(upper, dtype=torch.float64)


def backward_layers(trace: Trace) -> list[BackwardLayer]:
    """What `backward_bound` is computed from."""
    phi = trace.layers
    assert phi.beta is not None
    fans = [phi.n * phi.d] + [phi.k] * (phi.depth - 1)
    return [
        BackwardLayer.of(
            math.sqrt(phi.beta / fan), z.to(torch.float64), float(h.to(torch.float64).norm())
        )
        for fan, z, h in zip(fans, trace.z, [trace.X, *trace.h[:-1]], strict=True)
    ]


def _next_radius(neurons: Neurons, sigma: float, rho: float, width: float, t: float) -> float:
    """ρ_l from T_{l−1} of the given radius and width: cells over α = ĥ·δ, both ends of each."""
    L, best = neurons.act.certified_lipschitz(), 0.0
    for node in range(LATER_CELLS + 1):
        along = rho * (2 * node / LATER_CELLS - 1)
        # The smallest |α| in the two cells that share this end.
        nearest = max(0.0, abs(along) - 2 * rho / LATER_CELLS)
        across = math.sqrt(rho * rho - nearest * nearest)
        mean = neurons.mean_norm(along, sigma * across)
        best = max(best, mean + L * sigma * (width + (t + 0.5) * across))
    return best
