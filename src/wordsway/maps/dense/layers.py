"""The layers of a fully connected map, and their changes when one row moves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch

from wordsway.gaussian import BlockOperator, Operator
from wordsway.maps.activation import Activation
from wordsway.maps.base import nonzero_norm
from wordsway.maps.rigorous import SAFE, U, accurate_product, norm_lower_bound
from wordsway.maps.rows import by_row, gathered

#: Maps of up to this many weights are computed again where their products cancel.
FEW = 2**20


@dataclass(frozen=True)
class DenseLayers:
    """ϕ(V_L … ϕ(V_1·vec X)) for texts of n rows in d dimensions, k features.

    ``beta`` is the variance of a weight times its fan-in, None where the weights were given;
    ``on_demand`` says that matrices are drawn only where they are multiplied with something.
    """

    n: int
    d: int
    k: int
    activation: Activation
    first: BlockOperator
    later: tuple[Operator, ...]
    beta: float | None
    on_demand: bool

    @property
    def depth(self) -> int:
        """L."""
        return 1 + len(self.later)


@final
class Trace:
    """The layers at one text: preactivations z_l and outputs h_l, and how they move with one row.

    From row i the first layer moves by δ_1 = ϕ(z_1 + V_iΔ) − h_1, the later ones by
    δ_l = ϕ(z_l + V_l δ_{l−1}) − h_l. Products are called by name: ``tensor @ operator`` first makes
    torch compose an error message, which costs as much as a small product.
    """

    def __init__(self, layers: DenseLayers, X: torch.Tensor, name: str, steps: int) -> None:
        self.layers = layers
        self.X = X
        self.z = [layers.first.apply(X).to(X.dtype)]
        self.h = [layers.activation(self.z[0])]
        for V in layers.later:
            self.z.append(V.apply(self.h[-1]).to(X.dtype))
            self.h.append(layers.activation(self.z[-1]))
        self.norm = nonzero_norm(float(self.h[-1].norm()), name)
        layers.first.reserve(forward=steps + 8, backward=steps + 8)
        for V in layers.later:
            V.reserve(forward=3 * steps, backward=steps)

    @cached_property
    def errors(self) -> tuple[list[torch.Tensor], float]:
        """How far the preactivations z_l, neuron by neuron, and the features, in norm, are from
        exact arithmetic. Matrices drawn on demand have no other preactivations than the drawn ones:
        there only their norm is rounded.

        A product of length m is off by γ_m‖row‖‖h‖, and by ‖row‖ times the error of h below; ϕ
        stretches by its Lipschitz constant and rounds.
        """
        layers = self.layers
        L = layers.activation.certified_lipschitz()
        x, off, found = self.X, 0.0, []
        matrices: list[BlockOperator | Operator] = [layers.first, *layers.later]
        for V, z, h in zip(matrices, self.z, self.h, strict=True):
            error = torch.zeros_like(z)
            if not layers.on_demand:
                size = V.dense().to(z.dtype).norm(dim=1)
                error = size * (2 * (x.numel() + 8) * U * float(x.norm()) + off)
            found.append(error)
            off = float((L * error + layers.activation.rounding(z, h)).norm()) * SAFE
            x = h
        return found, off

    @cached_property
    def norm_below(self) -> float:
        """A lower bound of ‖φ(X)‖ in exact arithmetic; small maps of one layer whose products
        cancel are computed again, with products that are rounded once.
        """
        layers, h = self.layers, self.h[-1]
        found = norm_lower_bound(h, self.errors[1])
        few = layers.depth == 1 and layers.k * self.X.numel() <= FEW
        if found > self.norm / 2 or layers.on_demand or not few:
            return found
        z = accurate_product(layers.first.dense().to(self.X.dtype), self.X.flatten())
        h = layers.activation(z)
        L = layers.activation.certified_lipschitz()
        off = layers.activation.rounding(z, h) + 2 * L * U * z.abs()
        return norm_lower_bound(h, float(off.norm()) * SAFE)

    def steps(self, rows: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        """V_iΔ, (B, k)."""
        groups, first = by_row(rows), self.layers.first
        steps = [first.block(i).apply(delta[some]).to(self.X.dtype) for i, some in groups]
        return gathered(groups, steps)

    def forward(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The last layer's change (B, k) and every layer's moved preactivations z′_l (B, k)."""
        return self.onwards(self.steps(rows, delta).add_(self.z[0]))

    def onwards(self, first: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The same, from the first layer's moved preactivations."""
        moved = [first]
        change = self.layers.activation(first) - self.h[0]
        for V, z, h in zip(self.layers.later, self.z[1:], self.h[1:], strict=True):
            moved.append(V.apply(change).to(self.X.dtype).add_(z))
            change = self.layers.activation(moved[-1]) - h
        return change, moved

    def backward(
        self, rows: torch.Tensor, moved: list[torch.Tensor], g: torch.Tensor
    ) -> torch.Tensor:
        """The gradient in Δ, (B, d), of a function whose gradient in the features is g, (B, k)."""
        slope = self.layers.activation.derivative
        g = g * slope(moved[-1])
        for V, z in zip(reversed(self.layers.later), reversed(moved[:-1]), strict=True):
            g = V.apply_transposed(g).to(self.X.dtype) * slope(z)
        groups, first = by_row(rows), self.layers.first
        slopes = [first.block(i).apply_transposed(g[some]).to(g.dtype) for i, some in groups]
        return gathered(groups, slopes)
