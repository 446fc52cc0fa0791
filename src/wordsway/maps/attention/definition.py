"""Random attention features.

RAF:       φ(X) = softmax(XWXᵀ/√d) X, softmax over each row, W ∈ ℝ^{d×d} ~ N(0, 1/d) ReLU-RAF:  the
same with ReLU(scores) divided by the row's sum in place of softmax; a row of zeros stays zero
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, final

import torch

from wordsway.errors import InputError, positive
from wordsway.maps.attention.scores import ReluScores, Scores, SoftmaxScores
from wordsway.maps.attention.view import AttentionView
from wordsway.maps.base import FeatureMap
from wordsway.sample import Sample, finite_matrix
from wordsway.seeds import generator


class Attention(FeatureMap):
    """φ(X) = P(XWXᵀ/√d) X with P ≥ 0 and rows that sum to one."""

    scores: ClassVar[Scores]

    def __init__(
        self,
        d: int | None = None,
        seed: int = 0,
        *,
        weight: Any = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dtype, self.device = dtype, torch.device(device)
        self.seed: int | None
        if weight is not None:
            W = finite_matrix(weight, "a weight matrix").to(self.device, dtype)
            if W.shape[0] != W.shape[1]:
                raise InputError(
                    "a square d×d weight matrix",
                    f"shape {tuple(W.shape)}",
                    "W multiplies embeddings on both sides",
                )
            if d is not None and d != len(W):
                raise InputError(
                    f"d={len(W)}, the size of the weight",
                    f"d={d}",
                    "leave d out when weight is given",
                )
            self.seed, self.weight = None, W
        else:
            d = positive("d", d)
            noise = generator(seed, "attention", d, device=self.device)
            self.seed = seed
            self.weight = torch.randn(
                d, d, dtype=dtype, device=self.device, generator=noise
            ) / math.sqrt(d)
        self.d = len(self.weight)

    def check(self, n: int, d: int) -> None:
        if d != self.d:
            raise InputError(f"texts with d={self.d}", f"d={d}", "make the map with the text's d")

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        scores = X @ self.weight.to(dtype) @ X.mT / math.sqrt(self.d)
        return self.scores.attention(scores) @ X

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> AttentionView:
        self.check(sample.n, sample.d)
        dtype = dtype or self.dtype
        return AttentionView(
            self.scores, sample.X.to(self.device, dtype), self.weight.to(dtype), self.name
        )

    def describe(self) -> dict[str, Any]:
        return {"map": self.name, "d": self.d, "seed": self.seed}


@final
class RAF(Attention):
    """Random attention features φ(X) = softmax(XWXᵀ/√d) X, W_ab ~ N(0, 1/d), or your own
    ``weight=W``.

    >>> RAF(d=4, seed=0)(Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([3, 4])
    """

    name = "raf"
    scores = SoftmaxScores()
    search_dtype = (
        torch.float32
    )  # smooth, so single precision finds the same places at half the cost


@final
class ReluRAF(Attention):
    """Attention with normalised ReLU scores: φ(X)_j = Σ_l (s_jl)₊ x_l / Σ_l (s_jl)₊, zero where no
    score is positive.

    >>> ReluRAF(d=4, seed=0)(Sample.gaussian(n=3, d=4, seed=0)).shape
    torch.Size([3, 4])
    """

    name = "relu-raf"
    scores = ReluScores()
