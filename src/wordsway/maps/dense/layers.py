"""The layers of a fully connected map, and what passes through them when one row moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import torch

from wordsway.gaussian import GaussianMatrix, TokenMatrix
from wordsway.gaussian.dense import Dense, DenseTokens
from wordsway.gaussian.joint import DrawnWord, JointTokens, OneWord
from wordsway.maps.activation import Activation
from wordsway.maps.base import nonzero_norm


@dataclass(frozen=True)
class Layers:
    """ϕ(V_L … ϕ(V_1·vec X)) for texts of n rows in d dimensions, k features.

    ``beta`` is the variance of a weight times its fan-in, None where the weights were given;
    ``on_demand`` says that matrices are drawn only where they are multiplied with something.
    """

    n: int
    d: int
    k: int
    activation: Activation
    first: TokenMatrix | DenseTokens | JointTokens
    later: tuple[GaussianMatrix | Dense, ...]
    beta: float | None
    on_demand: bool

    @property
    def depth(self) -> int:
        """L."""
        return 1 + len(self.later)


@final
class Trace:
    """The layers at one text: preactivations z_l and outputs h_l, and how they move with one row.

    From row i the first layer moves by V_iΔ alone, δ_1 = ϕ(z_1 + V_iΔ) − h_1, and the later ones by
    δ_l = ϕ(z_l + V_l δ_{l−1}) − h_l.
    """

    def __init__(self, layers: Layers, X: torch.Tensor, name: str, steps: int) -> None:
        self.layers = layers
        self.X = X
        self.z = [layers.first.right(X).to(X.dtype)]
        self.h = [layers.activation(self.z[0])]
        for V in layers.later:
            self.z.append(V.right(self.h[-1]).to(X.dtype))
            self.h.append(layers.activation(self.z[-1]))
        self.norm = nonzero_norm(float(self.h[-1].norm()), name)
        self._steps = steps
        if layers.on_demand:
            for V in layers.later:
                if isinstance(V, GaussianMatrix):
                    V.reserve(right=3 * steps, left=steps)

    def forward(
        self, rows: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The last layer's change (B, k) and every layer's moved preactivations z′_l (B, k)."""
        step = torch.empty(len(rows), len(self.z[0]), dtype=self.X.dtype, device=self.X.device)
        for i, some in _by_row(rows):
            step[some] = self._block(i).right(delta[some]).to(self.X.dtype)
        moved = [self.z[0] + step]
        change = self.layers.activation(moved[0]) - self.h[0]
        for V, z, h in zip(self.layers.later, self.z[1:], self.h[1:], strict=True):
            moved.append(z + V.right(change).to(self.X.dtype))
            change = self.layers.activation(moved[-1]) - h
        return change, moved

    def backward(
        self, rows: torch.Tensor, moved: list[torch.Tensor], g: torch.Tensor
    ) -> torch.Tensor:
        """The gradient with respect to Δ, (B, d) or (B, T, d), of a function of the features whose
        gradient with respect to them is g, (B, k) or (B, T, k).
        """
        slopes = [self.layers.activation.derivative(z) for z in moved]
        if g.ndim == 3:
            slopes = [slope[:, None] for slope in slopes]
        g = g * slopes[-1]
        for V, slope in zip(reversed(self.layers.later), reversed(slopes[:-1]), strict=True):
            g = V.left(g).to(self.X.dtype) * slope
        gradient = torch.empty(*g.shape[:-1], self.X.shape[1], dtype=g.dtype, device=g.device)
        for i, some in _by_row(rows):
            gradient[some] = self._block(i).left(g[some]).to(g.dtype)
        return gradient

    def _block(self, i: int) -> GaussianMatrix | Dense | OneWord | DrawnWord:
        """V_i, with room for a search when it is first looked at."""
        V = self.layers.first.word(i)
        if isinstance(V, GaussianMatrix) and V.rank[1] == 0:
            V.reserve(right=self._steps + 8, left=self._steps + 8)
        return V


def _by_row(rows: torch.Tensor) -> list[tuple[int, torch.Tensor]]:
    """The points of a batch, grouped by the row that they move."""
    return [(int(i), rows == i) for i in torch.unique(rows)]
