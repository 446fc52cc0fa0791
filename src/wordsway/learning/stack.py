"""The features of the training texts and the new one, Φ₊ ∈ ℝ^{(N+1)×p}: its Gram matrix, and
combinations of its rows.

Attention and maps with their weights at hand are evaluated in blocks of texts. Random features
whose V would not fit are drawn for all texts at once (`wordsway.gaussian.joint`), exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch

from wordsway.errors import InputError
from wordsway.maps.base import FeatureMap, JointFeatures
from wordsway.sample import Sample
from wordsway.vectors import gram

#: Bytes of one block of features while they are computed.
WORKING = 2**27


class Stack(Protocol):
    """Φ₊, the new text last; ``phi`` is the map that it was made with."""

    @property
    def phi(self) -> FeatureMap: ...

    @property
    def count(self) -> int:
        """N + 1."""

    def gram(self) -> torch.Tensor:
        """K = Φ₊Φ₊ᵀ, float64."""

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """θ = Φ₊ᵀc for each row c of (T, N+1): (T, p)."""

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        """Φ₊θ of (p,): (N+1,)."""


class DenseStack:
    """Φ₊ itself, in float64; the texts pass by in blocks."""

    def __init__(self, phi: FeatureMap, train: Sequence[Sample], new: Sample) -> None:
        self.phi = phi
        self.count = len(train) + 1
        width = phi.features(new.X[None].to(phi.dtype), torch.float64).numel()
        size = max(1, WORKING // (width * 8 * 4))
        self.features = torch.empty(self.count, width, dtype=torch.float64)
        for start in range(0, self.count, size):
            block = torch.stack(list(_texts(train, new, start, start + size)))
            self.features[start : start + len(block)] = phi.features(
                block.to(phi.dtype), torch.float64
            ).flatten(1)

    def gram(self) -> torch.Tensor:
        return gram(self.features)

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        return coefficients @ self.features

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        return self.features @ theta


class JointStack:
    """Features that were drawn for all texts together, in blocks of columns."""

    def __init__(self, features: JointFeatures, count: int) -> None:
        self.phi = features.phi
        self.count = count
        self._blocks = features.blocks

    def gram(self) -> torch.Tensor:
        K = torch.zeros(self.count, self.count, dtype=torch.float64)
        for part in self._blocks():
            K += gram(part)
        return K

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        return torch.cat([coefficients @ part for part in self._blocks()], 1)

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        values = torch.zeros(self.count, dtype=theta.dtype)
        start = 0
        for part in self._blocks():
            values += part @ theta[start : start + part.shape[1]]
            start += part.shape[1]
        return values


def stack(phi: FeatureMap, train: Sequence[Sample], new: Sample, rows: Sequence[int]) -> Stack:
    """Φ₊ of the training texts and the new one, whose ``rows`` will move, in that order."""
    phi.check(new.n, new.d)
    count = len(train) + 1
    joint = phi.drawn_jointly(_texts(train, new), count, rows)
    return DenseStack(phi, train, new) if joint is None else JointStack(joint, count)


def _texts(
    train: Sequence[Sample], new: Sample, start: int = 0, stop: int | None = None
) -> Iterator[torch.Tensor]:
    """The texts from ``start`` to ``stop``, the new one last; ``train`` may make each of them when
    it is asked for.
    """
    last = len(train) + 1 if stop is None else min(stop, len(train) + 1)
    for number in range(start, last):
        sample = train[number] if number < len(train) else new
        if (sample.n, sample.d) != (new.n, new.d):
            raise InputError(
                f"texts of one size, n={new.n} and d={new.d}",
                f"n={sample.n}, d={sample.d} at training text {number}",
                "embed all of them with the same n and d",
            )
        yield sample.X
