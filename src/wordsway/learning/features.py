"""Features of the training texts, Φ ∈ ℝ^{N×p}, and of a new text after them, Φ₊ ∈ ℝ^{(N+1)×p}.

Texts are evaluated in blocks. Weights of random features that do not fit into memory are drawn for
all texts at once (`wordsway.gaussian.joint`), exactly in distribution.

**Precision.** Large features are stored in single precision, those of the new text in double: the
error of Φ is 6e-8 of its size, and the error of θ that times cond(Φ). All sums over p are
accumulated in double precision. `interpolate` uses `exact` features where Φ is ill conditioned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import torch

from wordsway.core.sample import Sample
from wordsway.gaussian.joint import CHUNK, Answers, JointMatrix, TextGramFactor
from wordsway.maps.base import FeatureMap
from wordsway.maps.dense.definition import RF

#: Texts whose features are computed in one batch.
BLOCK = 16
#: Texts whose products with the texts before them are computed in one batch.
STRIP = 128
#: Texts with at least this many numbers have their features in single precision.
SINGLE_FROM = 4096
#: Columns whose products are summed in single precision.
COLUMNS = 4096
#: Rows and columns that are converted to double precision at once, and then stay in the cache.
CACHED_ROWS, CACHED_COLUMNS = 256, 512


class TrainingFeatures:
    """Φ, the features of texts 0 … N − 1 (``count``) under one draw of the weights.

    ``text(number)`` returns X, n×d float64. New texts will change at ``rows``, for which weights
    may be drawn; ``factor`` is the factorisation of the texts' inner products, if it is known.
    Features are in float64 if ``exact``, whatever their size.
    """

    def __init__(
        self,
        phi: FeatureMap,
        text: Callable[[int], torch.Tensor],
        count: int,
        rows: Sequence[int],
        *,
        factor: TextGramFactor | None = None,
        exact: bool = False,
    ) -> None:
        self.phi, self.text, self.count = phi, text, count
        self.rows = tuple(dict.fromkeys(rows))
        size = text(0).numel()
        self._dtype = torch.float64 if exact or size < SINGLE_FROM else torch.float32
        self._factor = TextGramFactor(self.rows) if factor is None else factor
        # Weights that do not fit are drawn for the texts together.
        self._joint: tuple[RF, Answers] | None = None
        if isinstance(phi, RF) and phi.on_demand:
            self._joint = phi, phi.answers(self._factor)
        self.matrix = self._evaluate()

    def _evaluate(self) -> torch.Tensor:
        """Φ, (N, p)."""
        if self._joint is not None:
            phi, answers = self._joint
            self._factor.extend(self.text, self.count)
            chunks = answers.chunks(-(-self.count // CHUNK), self._dtype)
            return torch.cat([phi.activation(Z) for Z in chunks])[: self.count]
        found = self._block(0)
        matrix = found.new_empty(self.count, found.shape[1])
        matrix[:BLOCK] = found
        for start in range(BLOCK, self.count, BLOCK):
            matrix[start : start + BLOCK] = self._block(start)
        return matrix

    def _block(self, start: int) -> torch.Tensor:
        """φ of the texts from ``start`` on, (at most 16, p)."""
        numbers = range(start, min(start + BLOCK, self.count))
        X = torch.stack([self.text(number) for number in numbers])
        found = None
        if self._dtype == torch.float32 and self.phi.has_single:
            found = self.phi.features_in_single(X.float())
        if found is None:
            found = self.phi.features(X.to(self.phi.dtype), torch.float64)
            found = found.to(self._dtype) if self.phi.has_single else found
        return found.flatten(1)

    @cached_property
    def gram(self) -> torch.Tensor:
        """Φ Φᵀ, (N, N) float64."""
        K = torch.empty(self.count, self.count, dtype=torch.float64)
        for start in range(0, self.count, STRIP):
            stop = min(start + STRIP, self.count)
            strip = _products(self.matrix[start:stop], self.matrix[:stop])
            K[start:stop, :stop] = strip
            K[:stop, start:stop] = strip.T
        return K

    @cached_property
    def exact(self) -> TrainingFeatures:
        """The same features in float64."""
        if self.matrix.dtype == torch.float64:
            return self
        return TrainingFeatures(
            self.phi, self.text, self.count, self.rows, factor=self._factor, exact=True
        )

    def map_at(self, count: int, new: Sample) -> FeatureMap:
        """The map with the weights that the first ``count`` texts were evaluated with."""
        if self._joint is None:
            return self.phi
        phi, answers = self._joint
        lower, own = self._factor.append(self.text, count, new.X)
        return phi.with_first(JointMatrix(answers, new.X, answers.condition_on(lower, own, new.X)))

    def for_rows(self, rows: Sequence[int]) -> TrainingFeatures:
        """The same features, of weights that are drawn for other rows where that matters."""
        if self._joint is None or tuple(dict.fromkeys(rows)) == self.rows:
            return self
        return TrainingFeatures(self.phi, self.text, self.count, rows)


class Stack:
    """Φ₊: the features of the first N training texts and, last, of the new text."""

    def __init__(self, features: TrainingFeatures, N: int, new: Sample) -> None:
        self.N, self.new = N, new
        self.phi = features.map_at(N, new)
        self._features = features
        self._train = features.matrix[:N]
        self._own = self.phi.features(new.X[None].to(self.phi.dtype), torch.float64).flatten(1)

    @property
    def single(self) -> bool:
        """Whether the training texts' features are in single precision."""
        return self._train.dtype == torch.float32

    def exact(self) -> Stack:
        """The same in double precision."""
        return Stack(self._features.exact, self.N, self.new)

    def gram(self) -> torch.Tensor:
        """K = Φ₊Φ₊ᵀ, (N+1, N+1) float64."""
        N = self.N
        K = torch.empty(N + 1, N + 1, dtype=torch.float64)
        K[:N, :N] = self._features.gram[:N, :N]
        K[N] = self.predict(self._own)[0]
        K[:N, N] = K[N, :N]
        return K

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """θ = Φ₊ᵀc for each row c of (T, N+1): (T, p)."""
        theta = coefficients[:, self.N :] @ self._own
        train = coefficients[:, : self.N].split(CACHED_ROWS, 1)
        for c, part in zip(train, self._train.split(CACHED_ROWS), strict=True):
            for into, columns in zip(self._columns(theta), self._columns(part), strict=True):
                into += c @ columns.double()
        return theta

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        """Φ₊θ for each row θ of (T, p): (T, N+1)."""
        found = theta.new_zeros(len(theta), self.N + 1)
        found[:, self.N :] = theta @ self._own.T
        train = found[:, : self.N].split(CACHED_ROWS, 1)
        for into, part in zip(train, self._train.split(CACHED_ROWS), strict=True):
            for own, columns in zip(self._columns(theta), self._columns(part), strict=True):
                into += own @ columns.double().T
        return found

    def _columns(self, matrix: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """All columns at once in double precision; blocks of them that fit the cache otherwise."""
        return matrix.split(CACHED_COLUMNS if self.single else matrix.shape[1], 1)


def _products(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left·rightᵀ in float64; single precision is summed over few columns, nearly exactly."""
    if left.dtype == torch.float64:
        return left @ right.T
    found = torch.zeros(len(left), len(right), dtype=torch.float64)
    for a, b in zip(left.split(COLUMNS, 1), right.split(COLUMNS, 1), strict=True):
        found += a @ b.T
    return found
