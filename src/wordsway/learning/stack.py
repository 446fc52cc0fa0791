"""The features of the training texts and the new one, Φ₊ ∈ ℝ^{(N+1)×p}: its Gram matrix, and
combinations of its rows.

Texts are evaluated in blocks. Random features whose V would not fit are drawn for all texts
(`wordsway.gaussian.joint`), exactly.

**Precision.** Large features are kept in single precision, the new text's in double: Φ is then off
by 6e-8 of itself, and θ by that times cond(Φ). All sums over p are carried on in double precision,
and `interpolate` asks for `exact` features where Φ is not well conditioned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import Sample
from wordsway.gaussian.joint import CHUNK, Chain
from wordsway.maps.base import FeatureMap, JointFeatures

#: Texts whose features are computed at once; `CHUNK` of them are kept together.
BLOCK = 16
#: Texts whose products with those before them are made, and kept, together.
STRIP = 128
#: Texts of so many numbers have their features in single precision.
SINGLE_FROM = 4096
#: Columns whose products are summed in single precision, and those of 256 texts that are made
#: double at once, which then stay in the cache.
COLUMNS, MADE_DOUBLE = 4096, 512


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


#: What texts alone decide about weights that are drawn for them, by the rows that will move.
Chains = dict[tuple[int, ...], Chain]


class Features:
    """φ of texts 0, 1, 2 …, for every number of them: the first N do not depend on how many more
    are asked for, to the last bit.

    Texts pass by in blocks of one size, so that the same products are made whatever N is; a last
    block is filled up with its own first text. Gram matrices are made of strips of `STRIP` texts;
    what N leaves over is computed for that N. ``exact``: always in float64. ``chains`` may be
    shared by features of the same texts under other weights.
    """

    def __init__(
        self, phi: FeatureMap, chains: Chains | None = None, *, exact: bool = False
    ) -> None:
        self.phi = phi
        self._chains: Chains = {} if chains is None else chains
        self._exact = exact
        self._rows: tuple[int, ...] | None = None
        self._begin()

    def _begin(self) -> None:
        self.joint: JointFeatures | None = None
        self._chunks: list[torch.Tensor] = []
        self._known = 0
        self._strips: dict[int, torch.Tensor] = {}

    @cached_property
    def exactly(self) -> Features:
        """The same in float64."""
        return self if self._exact else Features(self.phi, self._chains, exact=True)

    def ask(self, rows: Sequence[int]) -> None:
        """Say which rows of a new text will move: weights may be drawn by them."""
        wanted = tuple(dict.fromkeys(rows))
        if wanted == self._rows:
            return
        joint = self.phi.drawn_jointly(self._chains.setdefault(wanted, Chain(wanted)))
        if joint is not None or self.joint is not None:
            self._begin()
        self._rows, self.joint = wanted, joint

    def first(self, texts: Texts) -> list[torch.Tensor]:
        """The features of these texts, (256, p) after (256, p), the last with fewer."""
        count = len(texts)
        self._forget(count)
        if self.joint is not None and self._known < count:
            dtype = self._dtype(texts.matrix(0).numel())
            del self._chunks[self._known // CHUNK :]
            self._chunks += self.joint.chunks(texts.matrix, count, len(self._chunks), dtype)
            self._known = count
        while self._known < count:
            start = self._known - self._known % BLOCK
            stop = min(start + BLOCK, count)
            found = self._evaluated([texts.matrix(number) for number in range(start, stop)])
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

    def _evaluated(self, texts: Sequence[torch.Tensor]) -> torch.Tensor:
        """φ of a block of texts, (16, p). Single precision is made of double precision where the
        map does not trust itself with less.
        """
        phi = self.phi
        dtype = self._dtype(texts[0].numel()) if phi.has_single else torch.float64
        found = None
        if dtype == torch.float32:
            found = phi.features_in_single(_block(texts, dtype))
        if found is None:
            found = phi.features(_block(texts, phi.dtype), torch.float64).to(dtype)
        return found.flatten(1)

    def _dtype(self, size: int) -> torch.dtype:
        return torch.float64 if self._exact or size < SINGLE_FROM else torch.float32

    def gram(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """Φ Φᵀ of what `first` gave, float64: strips of texts, each with those before it."""
        count = sum(map(len, parts))
        K = torch.empty(count, count, dtype=torch.float64)
        for start in range(0, count, STRIP):
            stop = min(start + STRIP, count)
            strip = self._strips.get(start) if stop - start == STRIP else None
            if strip is None:
                chunk, at = divmod(start, CHUNK)
                left = parts[chunk][at : at + stop - start]
                right = [*parts[:chunk], parts[chunk][: at + stop - start]]
                strip = torch.cat([_products(left, part) for part in right], 1)
            if stop - start == STRIP:
                self._strips[start] = strip
            K[start:stop, :stop] = strip
            K[:stop, start:stop] = strip.T
        return K

    def _forget(self, count: int) -> None:
        """Let go of texts beyond this many."""
        del self._chunks[-(-count // CHUNK) :]
        self._known = min(self._known, count)


def _block(texts: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """A full block of these texts, the first one standing in for those that are missing."""
    X = texts[0].new_empty(BLOCK, *texts[0].shape, dtype=dtype)
    for place, text in zip(X, texts, strict=False):
        place.copy_(text)
    X[len(texts) :] = X[0]
    return X


def _products(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """left·rightᵀ in float64, of single precision summed so far as that is nearly exact."""
    if left.dtype == torch.float64:
        return left @ right.T
    found = torch.zeros(len(left), len(right), dtype=torch.float64)
    for a, b in zip(left.split(COLUMNS, 1), right.split(COLUMNS, 1), strict=True):
        found += a @ b.T
    return found


class Stack:
    """Φ₊, the new text last, which will move at ``rows``, in that order; ``phi`` is the map that it
    was made with.
    """

    def __init__(self, features: Features, train: Texts, new: Sample, rows: Sequence[int]) -> None:
        features.phi.check(new.n, new.d)
        texts = _Checked(train, new)
        features.ask(rows)
        self.count = len(train) + 1
        self._train = features.first(texts)
        joint = features.joint
        self.phi = features.phi if joint is None else joint.beside(texts.matrix, len(train), new)
        own = self.phi.features(new.X[None].to(self.phi.dtype), torch.float64).flatten(1)
        self._parts = [*self._train, own]
        self._features = features
        self._again: Callable[[], Stack] = lambda: Stack(features.exactly, train, new, rows)

    @property
    def single(self) -> bool:
        """Whether the training texts' features are in single precision."""
        return self._train[0].dtype == torch.float32

    def exact(self) -> Stack:
        """The same in double precision."""
        return self._again()

    def gram(self) -> torch.Tensor:
        """K = Φ₊Φ₊ᵀ, float64."""
        N = self.count - 1
        own = self._parts[-1]
        K = torch.empty(self.count, self.count, dtype=torch.float64)
        K[:N, :N] = self._features.gram(self._train)
        K[N] = self.predict(own)[0]
        K[:N, N] = K[N, :N]
        return K

    def combine(self, coefficients: torch.Tensor) -> torch.Tensor:
        """θ = Φ₊ᵀc for each row c of (T, N+1): (T, p)."""
        theta = coefficients.new_zeros(len(coefficients), self._parts[-1].shape[1])
        for c, part in zip(
            coefficients.split([len(part) for part in self._parts], dim=1),
            self._parts,
            strict=True,
        ):
            for into, columns in zip(_columns(theta, part), _columns(part, part), strict=True):
                into += c @ columns.double()
        return theta

    def predict(self, theta: torch.Tensor) -> torch.Tensor:
        """Φ₊θ for each row θ of (T, p): (T, N+1)."""
        found = []
        for part in self._parts:
            values = theta.new_zeros(len(theta), len(part))
            for own, columns in zip(_columns(theta, part), _columns(part, part), strict=True):
                values += own @ columns.double().T
            found.append(values)
        return torch.cat(found, 1)


def _columns(of: torch.Tensor, part: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """All columns at once beside a part in double precision, some at a time beside another."""
    return (of,) if part.dtype == torch.float64 else of.split(MADE_DOUBLE, 1)


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
