"""How far all neurons of a layer move when their preactivations move by α·s_j + sd·g, g ~ N(0, 1).

With convex majorants |ϕ(z_j + u) − ϕ(z_j)| ≤ r_j(u) = a|u| + (L − a)(|u| − τ_j)₊,

    M(α, sd)² = Σ_j E r_j(α s_j + sd·g)² ≥ (E F)²

is evaluated by certificates at every node of a grid. Where ϕ has its kink at 0, neurons that are
awake (z_j > 0) add L²(α² s_j² + sd²) each, two sums for all nodes. For ReLU a neuron that sleeps
adds E(−|z_j| + α s_j + sd·g)₊²; where s_j is a multiple of z_j this is one convex function of |z_j|
for all of them, and lies below its chords: neurons are counted at the `NODES` points around them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from wordsway.maps.activation import Activation

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
        taus = (
            [z.abs()]
            if act.kink
            else [torch.full_like(z, share * sd) for share in (2.0, 3.0, 4.0, 6.0)]
        )
        best = math.inf
        L = act.certified_lipschitz()
        for tau in taus:
            a = act.slope(z - tau, z + tau)
            b = L - a
            first, second = tail(mean - tau, sd)
            if not act.kink:
                left = tail(-mean - tau, sd)
                first, second = first + left[0], second + left[1]
            square = (
                a * a * (mean * mean + sd * sd)
                + 2 * a * b * (second + tau * first)
                + b * b * second
            ).clamp_min(0)
            total = square.sum() if self.weight is None else self.weight @ square
            best = min(best, float(total))
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
