"""Random attention features φ(X) = P(XWXᵀ/√d)X, W ∈ ℝ^{d×d} ~ N(0, 1/d).

A kind of attention is a file beside this one: how shares P follow from scores, what bounds its
certificate rests on, and where its search starts.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch

from wordsway.core.checks import Count, Seed, validated
from wordsway.core.errors import InputError, positive
from wordsway.core.runtime import checked_device
from wordsway.core.sample import Sample, finite_matrix
from wordsway.core.seeds import check_seed, generator
from wordsway.maps.attention.certificates.bounds import RowBounds
from wordsway.maps.attention.cost import attention_cost
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.view import AttentionView
from wordsway.maps.attention.scores.base import Scores
from wordsway.maps.base import FeatureMap
from wordsway.maps.kind import MapKind, Reference, Style

#: Scores beyond this are searched in double precision: single precision knows a score of 1,000 to
#: 1e-4 only, and e^−88 is zero to it. Rows of norm √d under W_ab ~ N(0, 1/d) have scores N(0, 1).
LARGE_SCORE = 30.0


class RandomAttention(FeatureMap):
    """φ(X) = P(XWXᵀ/√d) X with shares P between 0 and 1."""

    has_rows = True
    has_single = True
    #: Whether the map is smooth: then single precision finds the same places at half the cost.
    smooth: ClassVar[bool] = False
    scores: ClassVar[Scores]
    bounds: ClassVar[RowBounds]

    @validated
    def __init__(
        self,
        d: Count | None = None,
        seed: Seed = 0,
        *,
        weight: Any = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.dtype, self.device = dtype, torch.device(checked_device(device))
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
            self.seed = check_seed(seed)
            noise = generator(self.seed, "attention", d, device=self.device)
            self.weight = torch.randn(
                d, d, dtype=dtype, device=self.device, generator=noise
            ) / math.sqrt(d)
        self.d = len(self.weight)

    @staticmethod
    @abstractmethod
    def suggest(
        layer: Layer,
        rows: Sequence[int],
        count: int,
        radius: float,
        noise: Sequence[torch.Generator],
    ) -> torch.Tensor:
        """Up to ``count`` Δ of each row that are worth starting from, (P, m, d)."""

    def check(self, n: int, d: int) -> None:
        if d != self.d:
            raise InputError(f"texts with d={self.d}", f"d={d}", "make the map with the text's d")

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        scores = X @ self.weight.to(dtype) @ X.mT / math.sqrt(self.d)
        return self.scores.attention(scores) @ X

    def features_in_single(self, X: torch.Tensor) -> torch.Tensor | None:
        X = X.to(self.device, torch.float32)
        scores = X @ self.weight.to(X.dtype) @ X.mT / math.sqrt(self.d)
        if not float(scores.abs().max()) <= LARGE_SCORE:
            return None
        return self.scores.attention(scores) @ X

    def view(self, sample: Sample, dtype: torch.dtype | None = None) -> AttentionView:
        self.check(sample.n, sample.d)
        dtype = dtype or self.dtype
        X, W = sample.X.to(self.device, dtype), self.weight.to(dtype)
        layer = Layer(self.scores, X, W, self.name)
        return AttentionView(layer, self.bounds, self.suggest)

    def search_view(self, sample: Sample) -> AttentionView:
        return self.ranking_view(sample) if self.smooth else self.view(sample)

    def ranking_view(self, sample: Sample) -> AttentionView:
        view = self.view(sample, torch.float32)
        return view if float(view.layer.s.abs().max()) <= LARGE_SCORE else self.view(sample)

    def describe(self) -> dict[str, Any]:
        return {"map": self.name, "d": self.d, "seed": self.seed}


def attention_kind(
    made: type[RandomAttention],
    *,
    title: str,
    about: str,
    style: Style,
    reference: Callable[[], Reference],
    row_work: Callable[[int, int], float] = lambda n, d: 0.0,
) -> MapKind:
    """A kind of attention for the registry: all of them have n·d features."""
    return MapKind(
        name=made.name,
        title=title,
        about=about,
        make=lambda n, d, seed: made(d, seed),
        count=lambda n, d: n * d,
        search_cost=attention_cost(
            smooth=made.smooth,
            kinks=made.scores.kinks,
            own_keys=not made.scores.normalised,
            row_work=row_work,
        ),
        style=style,
        references=lambda d: [reference()],
    )
