"""The features of the training texts and the new one, Φ₊ ∈ ℝ^{(N+1)×p}: its Gram matrix, and
combinations of its rows.

Attention and maps with their weights at hand are evaluated in blocks of texts. Random features
whose V would not fit are drawn for all texts at once (`wordsway.gaussian.joint`), exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from wordsway.errors import InputError
from wordsway.maps.base import FeatureMap, JointFeatures
from wordsway.sample import Sample
from wordsway.vectors import gram

#: Texts whose features are computed at once, and texts of a chunk that is kept.
BLOCK, CHUNK = 16, 256


class Texts(Protocol):
    """Texts by number, each made when it is asked for."""

    def __len__(self) -> int: ...

    def matrix(self, index: int) -> torch.Tensor:
        """X of this text, n×d float64."""


@dataclass(frozen=True)
class Listed:
    """Samples that are there."""

    samples: Sequence[Sample]

    def __len__(self) -> int:
        return len(self.samples)

    def matrix(self, index: int) -> torch.Tensor:
        return self.samples[index].X


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


class Features:
    """φ of texts 0, 1, 2 …, float64, for every number of them: the first N do not depend on how
    many more are asked for, to the last bit.

    Texts pass by in blocks of one size, so that the same products are made whatever N is; a last
    block is filled up with its own first text. Gram matrices are made of tiles of `CHUNK` texts;
    what N leaves over is computed for that N.
    """

    def __init__(self, phi: FeatureMap) -> None:
        self.phi = phi
        self._chunks: list[torch.Tensor] = []
        self._known = 0
        self._tiles: dict[tuple[int, int], torch.Tensor] = {}

    def first(self, texts: Texts) -> list[torch.Tensor]:
        """The features of these texts, (256, p) after (256, p), the last with fewer."""
        count = len(texts)
        self._forget(count)
        while self._known < count:
            start = self._known - self._known % BLOCK
            stop = min(start + BLOCK, count)
            X = torch.stack([texts.matrix(number) for number in range(start, stop)])
            X = torch.cat([X, X[:1].expand(BLOCK - len(X), -1, -1)])
            found = self.phi.features(X.to(self.phi.dtype), torch.float64).flatten(1)
            chunk, at = divmod(start, CHUNK)
            if chunk == len(self._chunks):
                size = min(CHUNK, count - start + at)
                self._chunks.append(found.new_empty(size, found.shape[1]))
            elif len(self._chunks[chunk]) < min(CHUNK, stop - start + at):
                more = found.new_empty(min(CHUNK, count - chunk * CHUNK), found.shape[1])
                more[:at] = self._chunks[chunk][:at]
                self._chunks[chunk] = more
            self._chunks[chunk][at : at + stop - start] = found[: stop - start]
            self._known = stop
        return [part[: count - CHUNK * number] for number, part in enumerate(self._chunks)]

    def gram(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Φ Φᵀ of what `first` gave."""
        count = sum(map(len, parts))
        K = torch.empty(count, count, dtype=torch.float64)
        for i, left in enumerate(parts):
            for j, right in enumerate(parts[: i + 1]):
                tile = self._tiles.get((i, j))
                if tile is None or len(left) < CHUNK:
                    tile = left @ right.T
                if len(left) == CHUNK:
                    self._tiles[i, j] = tile
                rows = slice(CHUNK * i, CHUNK * i + len(left))
                columns = slice(CHUNK * j, CHUNK * j + len(right))
                K[rows, columns] = tile
                K[columns, rows] = tile.T
        return K

    def _forget(self, count: int) -> None:
        """Let go of texts beyond this many."""
        del self._chunks[-(-count // CHUNK) :]
        self._known = min(self._known, count)


class DenseStack:
    """Φ₊ itself, in float64."""

    def __init__(self, features: Features, train: Texts, new: Sample) -> None:
        self.phi = features.phi
        self.count = len(train) + 1
        own = self.phi.features(new.X[None].to(self.phi.dtype), torch.float64).flatten(1)
        self._features = features
        self._train = features.first(train)
        self._parts = [*self._train, own]

    def gram(self) -> torch.Tensor:
        N = self.count - 1
        own = self._parts[-1][0]
        K = torch.empty(self.count, self.count, dtype=torch.float64)
        K[:N, :N] = self._features.gram(self._train)
        K[N] = self.predict(own)
        K[:N, N] = K[N, :N]
        return K

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        split = coefficients.split([len(part) for part in self._parts], dim=1)
        return sum(
            (c @ part for c, part in zip(split, self._parts, strict=True)),
            start=coefficients.new_zeros(()),
        )

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        return torch.cat([part @ theta for part in self._parts])


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


def stack(features: Features, train: Texts, new: Sample, rows: Sequence[int]) -> Stack:
    """Φ₊ of the training texts and the new one, whose ``rows`` will move, in that order."""
    phi = features.phi
    phi.check(new.n, new.d)
    count = len(train) + 1
    joint = phi.drawn_jointly(_matrices(train, new), count, rows)
    if joint is not None:
        return JointStack(joint, count)
    return DenseStack(features, _Checked(train, new), new)


@dataclass(frozen=True)
class _Checked:
    """Training texts, refused where they have another size than the new one."""

    texts: Texts
    new: Sample

    def __len__(self) -> int:
        return len(self.texts)

    def matrix(self, index: int) -> torch.Tensor:
        X = self.texts.matrix(index)
        if X.shape != self.new.X.shape:
            raise InputError(
                f"texts of one size, n={self.new.n} and d={self.new.d}",
                f"n={X.shape[0]}, d={X.shape[1]} at training text {index}",
                "embed all of them with the same n and d",
            )
        return X


def _matrices(train: Texts, new: Sample) -> Iterator[torch.Tensor]:
    """All texts, the new one last."""
    checked = _Checked(train, new)
    for number in range(len(train)):
        yield checked.matrix(number)
    yield new.X
