"""Random features and deep random features.

RF:   φ(X) = ϕ(V·vec X),                                V ∈ ℝ^{k×D},  V_ab ~ N(0, 1/D) DRF:  φ(X) =
ϕ(V_L ϕ(… ϕ(V_1·vec X))),  V_1 ∈ ℝ^{k×D} ~ N(0, β/D),  V_l ∈ ℝ^{k×k} ~ N(0, β/k),  β = 2 for ReLU

Both are a chain of layers, and one view serves them. From word i the first layer moves by V_iΔ
alone, and layer l by V_l(h_{l−1}(X^i(Δ)) − h_{l−1}(X)): the view asks each matrix for one vector
forwards and one backwards per Δ, never for the matrix. With k = D the dense matrices of the paper's
sizes take 100–240 GB; drawn on demand they take megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from typing import Any, final

import torch

from wordsway.errors import InputError, positive
from wordsway.gaussian import GaussianMatrix, TokenMatrix
from wordsway.gaussian.dense import DENSE_BYTES, Dense, DenseTokens, gaussian, gaussian_tokens
from wordsway.gaussian.joint import DrawnWord, JointTokens, OneWord
from wordsway.maps.activation import Activation, Elementwise, activation
from wordsway.maps.base import FeatureMap, Plan, View, nonzero_norm
from wordsway.sample import Sample, finite_matrix
from wordsway.seeds import derive

#: Above this many weights of one word the landscape is nearly that of a quadratic: few starts,
#: conjugate steps.
WIDE = 50_000
DRAWS = ("auto", "dense", "on-demand")


class FullyConnected(FeatureMap):
    """A chain of fully connected layers on vec X; RF and DRF are its two final forms."""

    n: int
    d: int
    k: int
    depth: int
    seed: int | None
    beta: float | None
    activation: Activation
    first: TokenMatrix | DenseTokens | JointTokens
    later: list[GaussianMatrix | Dense]

    def _draw(
        self, n: int, d: int, k: int | None, depth: int, seed: int, beta: float, draw: str
    ) -> None:
        n, d, depth = positive("n", n), positive("d", d), positive("depth", depth)
        if draw not in DRAWS:
            raise InputError(f"draw among {', '.join(DRAWS)}", repr(draw), "leave it at 'auto'")
        k = n * d if k is None else positive("k", k)
        entries = k * n * d + (depth - 1) * k * k
        self.n, self.d, self.k, self.depth, self.seed, self.beta = n, d, k, depth, seed, beta
        self.on_demand = draw == "on-demand" or (
            draw == "auto" and entries * self.dtype.itemsize > DENSE_BYTES
        )
        how: dict[str, Any] = {
            "dtype": self.dtype,
            "device": self.device,
            "on_demand": self.on_demand,
        }
        self.first = gaussian_tokens(
            k, n, d, scale=math.sqrt(beta / (n * d)), seed=derive(seed, "layer", 1), **how
        )
        self.later = [
            gaussian(k, k, scale=math.sqrt(beta / k), seed=derive(seed, "layer", layer), **how)
            for layer in range(2, depth + 1)
        ]

    def _accept(self, weights: Sequence[Any], n: int | None) -> None:
        V = [finite_matrix(W, "a weight matrix").to(self.device, self.dtype) for W in weights]
        if not V:
            raise InputError("at least one weight matrix", "none", "pass weights=[V_1, …, V_L]")
        if n is None or n < 1 or V[0].shape[1] % n:
            raise InputError(
                "n that divides the first matrix's columns D = n·d",
                f"n={n} for D={V[0].shape[1]}",
                "pass n=number of tokens",
            )
        for before, after in pairwise(V):
            if after.shape[1] != before.shape[0]:
                raise InputError(
                    f"a next layer with {before.shape[0]} columns",
                    f"shape {tuple(after.shape)}",
                    "make consecutive weights fit",
                )
        self.n, self.d, self.k, self.depth = n, V[0].shape[1] // n, V[-1].shape[0], len(V)
        self.seed, self.beta, self.on_demand = None, None, False
        self.first, self.later = DenseTokens(V[0], n), [Dense(W) for W in V[1:]]

    def check(self, n: int, d: int) -> None:
        if (n, d) != (self.n, self.d):
            raise InputError(
                f"texts with n={self.n}, d={self.d}",
                f"n={n}, d={d}",
                "a fully connected map is made for one size; make another",
            )

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        h = self.activation(self.first.right(X).to(dtype))
        for V in self.later:
            h = self.activation(V.right(h).to(dtype))
        return h

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> FullyConnectedView:
        self.check(sample.n, sample.d)
        return FullyConnectedView(self, sample.X.to(self.device, dtype or self.dtype))

    def describe(self) -> dict[str, Any]:
        sizes = {"map": self.name, "n": self.n, "d": self.d, "k": self.k}
        return (
            sizes
            | ({"depth": self.depth} if self.name == "drf" else {})
            | {"activation": self.activation.name, "seed": self.seed}
        )


@final
class RF(FullyConnected):
    """Random features φ(X) = ϕ(V·vec X) with V ∈ ℝ^{k×D}, V_ab ~ N(0, 1/D).

    Parameters
    ----------
    n, d : the size of the texts; k : the number of features, D = n·d by default
    seed : draws V, whole where it is small and only where it is looked at otherwise (``draw``
        forces either)
    weight : your own V (k×D) instead of a seed, with ``n``
    activation : a name or an elementwise torch callable

    >>> phi = RF(n=3, d=2, seed=0)
    >>> phi(Sample.gaussian(n=3, d=2, seed=0)).shape
    torch.Size([6])
    """

    name = "rf"

    def __init__(
        self,
        n: int | None = None,
        d: int | None = None,
        k: int | None = None,
        seed: int = 0,
        *,
        weight: Any = None,
        activation: str | Activation | Elementwise = "relu",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        draw: str = "auto",
    ) -> None:
        self.dtype, self.device, self.activation = (
            dtype,
            torch.device(device),
            _activation(activation),
        )
        if weight is not None:
            self._accept([weight], n)
        else:
            self._draw(*_sizes(n, d), k, 1, seed, 1.0, draw)

    def drawn_for(self, joint: JointTokens) -> RF:
        """The same map, its matrix drawn for many texts at once: another draw than the one that
        this object makes by itself.
        """
        other = copy(self)
        other.first = joint
        return other


@final
class DRF(FullyConnected):
    """Deep random features: L layers, V_1 ∈ ℝ^{k×D} ~ N(0, β/D), V_l ∈ ℝ^{k×k} ~ N(0, β/k).

    ``beta`` defaults to 2 for ReLU and leaky ReLU (He) and to 1 otherwise; ``weights=[V_1, …,
    V_L]`` with ``n`` replaces the seed. The other parameters are those of `RF`.

    >>> DRF(n=3, d=2, depth=3, k=5, seed=0)(Sample.gaussian(n=3, d=2, seed=0)).shape
    torch.Size([5])
    """

    name = "drf"

    def __init__(
        self,
        n: int | None = None,
        d: int | None = None,
        depth: int = 2,
        k: int | None = None,
        seed: int = 0,
        *,
        weights: Sequence[Any] | None = None,
        activation: str | Activation | Elementwise = "relu",
        beta: float | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        draw: str = "auto",
    ) -> None:
        self.dtype, self.device, self.activation = (
            dtype,
            torch.device(device),
            _activation(activation),
        )
        if beta is not None and not (beta > 0 and math.isfinite(beta)):
            raise InputError("β > 0", beta, "use 2 for ReLU, 1 for tanh-like activations")
        if weights is not None:
            self._accept(weights, n)
        else:
            self._draw(*_sizes(n, d), k, depth, seed, beta or default_beta(self.activation), draw)


def default_beta(phi: Activation) -> float:
    """The weight variance (times fan-in) that keeps a layer's norm: 2 for the ReLU family, 1
    otherwise.
    """
    return 2.0 if phi.kink else 1.0


def _activation(which: str | Activation | Elementwise) -> Activation:
    return activation(which)


def _sizes(n: int | None, d: int | None) -> tuple[int, int]:
    if n is None or d is None:
        raise InputError("n and d", f"n={n}, d={d}", "pass both, or weights with n")
    return n, d


@final
class FullyConnectedView(View):
    """S²(i, Δ) by the layers' changes δ_1 = ϕ(z_1 + V_iΔ) − h_1, δ_l = ϕ(z_l + V_l δ_{l−1}) − h_l.

    The gradient runs back: g_L = 2 δ_L ∘ ϕ′(z′_L), g_{l−1} = (V_lᵀ g_l) ∘ ϕ′(z′_{l−1}), and ∇ =
    V_iᵀ g_1.
    """

    def __init__(self, phi: FullyConnected, X: torch.Tensor) -> None:
        self.phi, self.X = phi, X
        self.z = [phi.first.right(X).to(X.dtype)]
        self.h = [phi.activation(self.z[0])]
        for V in phi.later:
            self.z.append(V.right(self.h[-1]).to(X.dtype))
            self.h.append(phi.activation(self.z[-1]))
        self.norm = nonzero_norm(float(self.h[-1].norm()), phi.name)
        self.small = phi.on_demand
        if phi.on_demand:
            self.plan = Plan(
                solver="conjugate", starts=1, explore=0, keep=1, steps=16, rounds=0, tolerance=1e-3
            )
            for V in phi.later:
                if isinstance(V, GaussianMatrix):
                    V.reserve(right=3 * self.plan.steps, left=self.plan.steps)
        elif phi.k * phi.d > WIDE:
            self.plan = Plan(solver="conjugate", starts=4, explore=0, keep=4, steps=40, rounds=0)
        else:
            self.plan = Plan(starts=48, keep=12, rounds=1)

    def change(self, words: torch.Tensor, delta: torch.Tensor) -> torch.Tensor:
        change, _ = self._forward(words, delta)
        return (change * change).sum(1) / self.norm**2

    def change_and_gradient(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        change, moved = self._forward(words, delta)
        g = 2 * change * self.phi.activation.derivative(moved[-1])
        for V, z in zip(reversed(self.phi.later), reversed(moved[:-1]), strict=True):
            g = V.left(g).to(self.X.dtype) * self.phi.activation.derivative(z)
        gradient = torch.empty_like(delta)
        for i, rows in _by_word(words):
            gradient[rows] = self._word(i).left(g[rows]).to(delta.dtype)
        return (change * change).sum(1) / self.norm**2, gradient / self.norm**2

    def _forward(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The last layer's change (B, k) and every layer's moved preactivations z′_l (B, k)."""
        step = torch.empty(len(words), len(self.z[0]), dtype=self.X.dtype, device=self.X.device)
        for i, rows in _by_word(words):
            step[rows] = self._word(i).right(delta[rows]).to(self.X.dtype)
        moved = [self.z[0] + step]
        change = self.phi.activation(moved[0]) - self.h[0]
        for V, z, h in zip(self.phi.later, self.z[1:], self.h[1:], strict=True):
            moved.append(z + V.right(change).to(self.X.dtype))
            change = self.phi.activation(moved[-1]) - h
        return change, moved

    def _word(self, i: int) -> GaussianMatrix | Dense | OneWord | DrawnWord:
        """V_i, with room for a search when it is first looked at."""
        V = self.phi.first.word(i)
        if isinstance(V, GaussianMatrix) and V.rank[1] == 0:
            V.reserve(right=self.plan.steps + 8, left=self.plan.steps + 8)
        return V

    @property
    def bytes_per_row(self) -> int:
        return 8 * max(len(z) for z in self.z) * self.X.itemsize

    @property
    def bytes_per_look(self) -> int:
        """Memory that one new Δ (value and gradient) leaves behind in the matrices drawn on demand."""
        if not self.phi.on_demand:
            return 0
        k = len(self.z[0])
        return (
            2 * (k + self.phi.d) * self.X.itemsize
            + len(self.phi.later) * 3 * 2 * k * self.X.itemsize
        )


def _by_word(words: torch.Tensor) -> list[tuple[int, torch.Tensor]]:
    """The rows of a batch, grouped by the word they are about."""
    return [(int(i), words == i) for i in torch.unique(words)]
