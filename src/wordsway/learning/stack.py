"""The features of the training texts and the new one, Φ₊ ∈ ℝ^{(N+1)×p}: its Gram matrix, and combinations of its rows.

Attention and maps with their weights at hand are evaluated in blocks of texts. Random features whose V would not fit are
drawn for all texts at once (`wordsway.gaussian.joint`), exactly.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch

from wordsway.gaussian.joint import BLOCK, JointTokens
from wordsway.maps import RF, FeatureMap
from wordsway.maps.fully_connected import FullyConnected
from wordsway.sample import Sample
from wordsway.seeds import derive

#: Bytes of one block of features while they are computed.
WORKING = 2**27


class Stack(Protocol):
    """Φ₊, the new text last; ``phi`` is the map that it was made with."""

    @property
    def phi(self) -> FeatureMap: ...

    def gram(self) -> torch.Tensor:
        """K = Φ₊Φ₊ᵀ, float64."""

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """θ = Φ₊ᵀc for each row c of (T, N+1): (T, p)."""


class DenseStack:
    """Φ₊ itself, in float64."""

    def __init__(self, phi: FeatureMap, texts: torch.Tensor) -> None:
        self.phi = phi
        one = phi.features(texts[:1].to(phi.dtype), torch.float64).flatten(1)
        size = max(1, WORKING // (one.shape[1] * 8 * 4))
        self.features = torch.empty(len(texts), one.shape[1], dtype=torch.float64)
        for start in range(0, len(texts), size):
            self.features[start : start + size] = phi.features(texts[start : start + size], torch.float64).flatten(1)

    def gram(self) -> torch.Tensor:
        return self.features @ self.features.T

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        return coefficients @ self.features


class JointStack:
    """Random features of all texts without V: Φ₊ = ϕ(Z) in blocks of columns."""

    def __init__(self, phi: RF, texts: torch.Tensor) -> None:
        assert phi.seed is not None and phi.beta is not None
        self.joint = JointTokens(phi.k, texts, scale=math.sqrt(phi.beta / (phi.n * phi.d)), seed=derive(phi.seed, "joint"))
        self.phi = phi.drawn_for(self.joint)

    def gram(self) -> torch.Tensor:
        M, act = len(self.joint.answers), self.phi.activation
        K = torch.zeros(M, M, dtype=torch.float64)
        for start in range(0, self.phi.k, BLOCK):
            part = act(self.joint.answers[:, start : start + BLOCK].to(torch.float64))
            K.addmm_(part, part.T)
        return K

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        act, Z = self.phi.activation, self.joint.answers
        return torch.cat([coefficients @ act(Z[:, start : start + BLOCK].to(torch.float64)) for start in range(0, self.phi.k, BLOCK)], 1)


def stack(phi: FeatureMap, train: list[Sample], new: Sample, *, words: int) -> Stack:
    """Φ₊ of the training texts and the new one; ``words`` of the new text will be looked at."""
    texts = torch.stack([sample.X for sample in [*train, new]])
    if isinstance(phi, RF) and phi.on_demand and words == 1:
        return JointStack(phi, texts)
    if isinstance(phi, FullyConnected):
        phi.check(new.n, new.d)
    return DenseStack(phi, texts)
