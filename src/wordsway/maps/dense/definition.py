"""Random features and deep random features.

    RF:   φ(X) = ϕ(V·vec X),                       V ∈ ℝ^{k×D},  V_ab ~ N(0, 1/D)
    DRF:  φ(X) = ϕ(V_L ϕ(… ϕ(V_1·vec X))),         V_1 ∈ ℝ^{k×D} ~ N(0, β/D),
                                                   V_l ∈ ℝ^{k×k} ~ N(0, β/k),  β = 2 for ReLU

Both are a chain of layers, and one view serves them. With k = D the dense matrices of the paper's
sizes take 100–240 GB; drawn on demand they take megabytes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, final

import torch

from wordsway.core.checks import Count, OneOf, Positive, Seed, Within, validated
from wordsway.core.errors import InputError
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample, finite_matrix
from wordsway.core.seeds import derive
from wordsway.gaussian import GaussianMatrix, TokenMatrix
from wordsway.gaussian.dense import DENSE_BYTES, DenseBlocks, DenseMatrix, draw_gaussian
from wordsway.gaussian.joint import Answers, JointMatrix, TextGramFactor
from wordsway.gaussian.laws import Law, draw_by_law, law_name
from wordsway.gaussian.operator import BlockOperator, Operator, RowsTogether
from wordsway.maps.activation import KNOWN, Activation, Elementwise
from wordsway.maps.activation import activation as activation_of
from wordsway.maps.base import FeatureMap
from wordsway.maps.dense.layers import DenseLayers
from wordsway.maps.dense.view import (
    FullyConnectedView,
    bytes_per_point,
    bytes_retained_per_eval,
    plan_for,
)
from wordsway.maps.kind import WEIGHTS, MapKind, Option, SearchSize, TheoryCurve
from wordsway.theory import infinite_width, wide_relu_rf

#: Whether weights are drawn in full, or only where they are queried.
Draw = Annotated[str, OneOf(("auto", "dense", "on-demand"))]


class FullyConnected(FeatureMap):
    """A chain of fully connected layers on vec X; RF and DRF are its two final forms."""

    layers: DenseLayers
    seed: int | None

    n = property(lambda self: self.layers.n, doc="Rows of a text.")
    d = property(lambda self: self.layers.d, doc="Dimensions of a row.")
    k = property(lambda self: self.layers.k, doc="Features.")
    depth = property(lambda self: self.layers.depth, doc="Layers.")
    beta = property(lambda self: self.layers.beta, doc="Weight variance times fan-in.")
    activation = property(lambda self: self.layers.activation, doc="ϕ.")
    first = property(lambda self: self.layers.first, doc="V_1, k×(n·d).")
    later = property(lambda self: self.layers.later, doc="V_2 … V_L.")
    on_demand = property(lambda self: self.layers.on_demand, doc="Whether weights are drawn late.")

    @property
    def weights(self) -> tuple[torch.Tensor, ...]:
        """V_1, …, V_L in memory. Weights that are drawn on demand are refused."""
        if self.on_demand:
            raise InputError(
                "weights in memory",
                "weights that are drawn where they are queried",
                'pass draw="dense" to the map, or draw all of a matrix with phi.first.dense()',
            )
        return tuple(matrix.dense() for matrix in (self.first, *self.later))

    def _make(
        self,
        n: int | None,
        d: int | None,
        k: int | None,
        depth: int,
        seed: int,
        weights: Sequence[Any] | None,
        *,
        activation: str | Activation | Elementwise,
        beta: float | None,
        dtype: torch.dtype,
        device: torch.device | str,
        draw: str,
        law: Law,
    ) -> None:
        """Take the given weights, or draw them."""
        self.dtype, self.device = dtype, torch.device(checked_device(device))
        phi = activation_of(activation)
        self.law = law_name(law)
        if weights is not None:
            self.seed = None
            self.layers = self._accept(weights, n, phi)
            return
        self.seed = seed
        if n is None or d is None:
            raise InputError("n and d", f"n={n}, d={d}", "pass both, or weights with n")
        k = n * d if k is None else k
        if beta is None:  # keeps a layer's norm: He's for the ReLU family
            beta = 2.0 if phi.kink else 1.0
        shapes = [(k, n * d), *[(k, k)] * (depth - 1)]
        size = sum(rows * cols for rows, cols in shapes) * self.dtype.itemsize
        on_demand = draw == "on-demand" or (draw == "auto" and size > DENSE_BYTES)
        if law != "gaussian":
            if on_demand:
                raise InputError(
                    "Gaussian weights where they do not fit, or a small map",
                    f"{self.law} weights of {size / 2**20:,.0f} MB",
                    'pass draw="dense" if they may all be drawn',
                )
            drawn = [
                draw_by_law(law, *shape, self.seed, "layer", layer) * math.sqrt(beta / shape[1])
                for layer, shape in enumerate(shapes, 1)
            ]
            self.layers = self._accept(drawn, n, phi)
            return
        how: list[dict[str, Any]] = [
            {
                "scale": math.sqrt(beta / cols),
                "seed": derive(self.seed, "layer", layer),
                "dtype": self.dtype,
                "device": self.device,
            }
            for layer, (_, cols) in enumerate(shapes, 1)
        ]
        first: BlockOperator
        later: tuple[Operator, ...]
        if on_demand:
            first = TokenMatrix(k, n, d, **how[0])
            later = tuple(GaussianMatrix(k, k, **each) for each in how[1:])
        else:
            first = DenseBlocks(draw_gaussian(k, n * d, **how[0]), n)
            later = tuple(DenseMatrix(draw_gaussian(k, k, **each)) for each in how[1:])
        self.layers = DenseLayers(n, d, k, phi, first, later, beta, on_demand)

    def _accept(self, weights: Sequence[Any], n: int | None, phi: Activation) -> DenseLayers:
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
        later = tuple(DenseMatrix(W) for W in V[1:])
        d, k = V[0].shape[1] // n, V[-1].shape[0]
        return DenseLayers(n, d, k, phi, DenseBlocks(V[0], n), later, None, False)

    def check(self, n: int, d: int) -> None:
        if (n, d) != (self.n, self.d):
            raise InputError(
                f"texts with n={self.n}, d={self.d}",
                f"n={n}, d={d}",
                "a fully connected map is made for one size; make another",
            )

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        h = self.activation(self.first.apply(X).to(dtype))
        for V in self.later:
            h = self.activation((h @ V.T).to(dtype))
        return h

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> FullyConnectedView:
        self.check(sample.n, sample.d)
        return FullyConnectedView(
            self.layers, sample.X.to(self.device, dtype or self.dtype), self.name
        )

    def together(
        self, sample: Sample, rows: Sequence[int], dtype: torch.dtype
    ) -> FullyConnectedView:
        """The view in which all of ``rows`` move, Δ being their moves side by side."""
        self.check(sample.n, sample.d)
        layers = replace(self.layers, first=RowsTogether(self.layers.first, rows))
        view = FullyConnectedView(layers, sample.X.to(self.device, dtype), self.name)
        view.rows_moved, view.dimension = len(rows), len(rows) * sample.d
        return view

    def describe(self) -> dict[str, Any]:
        sizes = {"map": self.name, "n": self.n, "d": self.d, "k": self.k}
        return (
            sizes
            | ({"depth": self.depth} if self.name == "drf" else {})
            | {"activation": self.activation.name}
            | ({} if self.law == "gaussian" else {"law": self.law})
            | ({"draw": "on-demand"} if self.on_demand else {})
            | {"seed": self.seed}
        )


@final
class RF(FullyConnected):
    """Random features φ(X) = ϕ(V·vec X) with V ∈ ℝ^{k×D}, V_ab ~ N(0, 1/D).

    Parameters
    ----------
    n, d : the size of the texts; k : the number of features, D = n·d by default
    seed : draws V, in full if it is small, otherwise only where it is queried (``draw`` forces
        either)
    weight : your own V (k×D) instead of a seed, with ``n``
    activation : a name or an elementwise torch callable
    law : of the drawn weights, a name of `wordsway.gaussian.laws` or a function (rows, cols, seed)

    >>> phi = RF(n=3, d=2, seed=0)
    >>> phi(Sample.gaussian(n=3, d=2, seed=0)).shape
    torch.Size([6])
    """

    name = "rf"
    weight = property(lambda self: self.weights[0], doc="V, k×(n·d), in memory.")

    @validated
    def __init__(
        self,
        n: Count | None = None,
        d: Count | None = None,
        k: Count | None = None,
        seed: Seed = 0,
        *,
        weight: Any = None,
        activation: str | Activation | Elementwise = "relu",
        law: Law = "gaussian",
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        draw: Draw = "auto",
    ) -> None:
        how: dict[str, Any] = {"activation": activation, "dtype": dtype, "device": device}
        weights = None if weight is None else [weight]
        self._make(n, d, k, 1, seed, weights, beta=1.0, draw=draw, law=law, **how)

    def search_view(self, sample: Sample) -> FullyConnectedView:
        """Weights that were drawn for many texts are available in single precision."""
        joint = isinstance(self.layers.first, JointMatrix)
        return self.view(sample, torch.float32 if joint else None)

    def answers(self, factor: TextGramFactor) -> Answers:
        """The products of one matrix V with many texts, one of which moves at the factor's rows."""
        assert self.seed is not None
        scale = math.sqrt(self.beta / (self.n * self.d))
        return Answers(self.k, self.d, factor, scale=scale, seed=derive(self.seed, "joint"))

    def with_first(self, first: JointMatrix) -> RF:
        """The map with these weights."""
        other = copy(self)
        other.layers = replace(self.layers, first=first)
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

    @validated
    def __init__(
        self,
        n: Count | None = None,
        d: Count | None = None,
        depth: Count = 2,
        k: Count | None = None,
        seed: Seed = 0,
        *,
        weights: Sequence[Any] | None = None,
        activation: str | Activation | Elementwise = "relu",
        law: Law = "gaussian",
        beta: Positive | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
        draw: Draw = "auto",
    ) -> None:
        how: dict[str, Any] = {"activation": activation, "dtype": dtype, "device": device}
        self._make(n, d, k, depth, seed, weights, beta=beta, draw=draw, law=law, **how)


def dense_bytes(size: SearchSize, k: int | None = None, depth: int = 1, **options: Any) -> float:
    """Bytes of a measurement; matrices beyond `DENSE_BYTES` are drawn on demand."""
    n, d = size.n, size.d
    k, later = n * d if k is None else k, depth - 1
    weights = k * n * d + later * k * k
    if 8 * weights > DENSE_BYTES:
        found = size.searches(plan_for(k, d, on_demand=True), kept=True)
        kept = sum(count * stage.evaluations for stage, count in found)
        kept *= bytes_retained_per_eval(k, d, later, 8)
        return min(kept, size.memory) + 8 * k * depth * 30 + 8 * n * d * 4
    at_once = size.points_at_once(plan_for(k, d, on_demand=False))
    held = 8.0 * weights + 24 * (k * d + later * k * k) * size.certificate
    return min(at_once * bytes_per_point(k, 8), size.memory) + held


WIDTH = Option("k", int, None, "Number of features; n·d by default.", Within(1))
DEPTH = Option("depth", int, 2, "Number of layers; 2 by default.", Within(1, 1000))
ACTIVATION = Option(
    "activation",
    str,
    None,
    f"Activation of every layer: {', '.join(sorted(KNOWN))}; relu by default.",
    OneOf(tuple(sorted(KNOWN))),
)


def count_features(n: int, d: int, k: int | None = None, **options: Any) -> int:
    """k, or D = n·d."""
    return n * d if k is None else k


#: The activations that have the curves below: ReLU, the default.
RELU = (None, "relu")


def _rf_references(
    d: int, k: int | None = None, activation: str | None = None, **options: Any
) -> list[TheoryCurve]:
    if activation not in RELU:
        return []
    label = "theory, (1 + √(2/n))/√n" if k is None else "theory, (1 + √(2d/k))/√n"
    return [
        TheoryCurve(label, lambda n: wide_relu_rf(n, d, k), dash="--"),
        TheoryCurve(
            "infinite width, typical Δ",
            lambda n: infinite_width(round(n)),
            smooth=False,
            dash="-.",
        ),
    ]


def _drf_references(
    d: int, depth: int = 2, activation: str | None = None, **options: Any
) -> list[TheoryCurve]:
    if activation not in RELU:
        return []
    return [
        TheoryCurve(
            f"L = {depth}, infinite width",
            lambda n: infinite_width(round(n), depth=depth),
            smooth=False,
            dash="-.",
        )
    ]


RF_KIND = MapKind(
    name="rf",
    title="RF",
    about="Random features, φ(X) = ReLU(V·vec X): V has k rows of independent N(0, 1/(nd)).",
    make=lambda n, d, seed, k, activation, weights: RF(
        n, d, k, seed, activation=activation or "relu", law=weights or "gaussian"
    ),
    count=count_features,
    search_bytes=dense_bytes,
    references=_rf_references,
    options=(WIDTH, ACTIVATION, WEIGHTS),
    joint=True,
)
DRF_KIND = MapKind(
    name="drf",
    title="DRF",
    about="Deep random features: L fully connected ReLU layers with Gaussian weights.",
    make=lambda n, d, seed, k, depth, activation, weights: DRF(
        n, d, depth, k, seed, activation=activation or "relu", law=weights or "gaussian"
    ),
    count=count_features,
    search_bytes=dense_bytes,
    references=_drf_references,
    options=(WIDTH, DEPTH, ACTIVATION, WEIGHTS),
)
