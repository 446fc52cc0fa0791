"""A text as a matrix X ∈ ℝ^{n×d}: a row per token, with ‖x_i‖₂ = √d, and the words of the rows."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

from wordsway.core.checks import Count, Seed, validated
from wordsway.core.errors import InputError, first_line
from wordsway.core.reading import Reading
from wordsway.core.seeds import generator

#: Which rows may change; see `rows_of`.
Positions = str | int | Sequence[int | str]


def float64(array: Any, what: str = "an array") -> torch.Tensor:
    """Any array of real numbers as a float64 CPU tensor; Python numbers keep all their digits."""
    try:
        return _float64(array)
    except InputError:
        raise
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{what} of numbers", type(array).__name__, f"pass an array ({first_line(error, 80)})"
        ) from None


def _float64(array: Any) -> torch.Tensor:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise InputError("unmasked numbers", "masked ones", "fill them, or drop their rows")
    if not isinstance(array, torch.Tensor):
        array = np.asarray(array)
    if array.dtype.is_complex if isinstance(array, torch.Tensor) else array.dtype.kind == "c":
        raise InputError("real numbers", "complex ones", "pass the real part, or the modulus")
    if isinstance(array, torch.Tensor):
        dense = array.detach() if array.layout == torch.strided else array.detach().to_dense()
        return dense.to("cpu", torch.float64)
    # A copy in C order: torch supports neither negative strides nor read-only memory.
    return torch.from_numpy(np.array(array, dtype=np.float64, order="C"))


def finite_matrix(array: Any, what: str) -> torch.Tensor:
    """``array`` as a float64 CPU tensor of rank 2 with finite entries, or an error."""
    X = float64(array, what)
    if X.ndim != 2:
        raise InputError(
            f"{what} of rank 2 (n tokens × d dimensions)",
            f"shape {tuple(X.shape)}",
            "pass one text as an n×d array",
        )
    if 0 in X.shape:
        raise InputError(
            f"{what} with n ≥ 1 and d ≥ 1", f"shape {tuple(X.shape)}", "drop empty texts first"
        )
    bad = ~torch.isfinite(X)
    if bad.any():
        row, column = (int(v) for v in bad.nonzero()[0])
        raise InputError(
            f"{what} of finite numbers",
            f"{X[row, column].item()} at row {row}, column {column}",
            "clean NaN and infinite values",
        )
    return X


class Sample:
    """One text: X ∈ ℝ^{n×d}, float64, rows of norm √d, and optionally its words.

    Parameters
    ----------
    array : n×d numbers (NumPy, torch, nested lists)
    words : n strings, one per row. A word is identified by its position: repeated words are
        distinct
    reading : if X was made from a text, which rows make up which word, with character spans
    rescale : rescale each row to norm √d (the paper's Assumption); ``False`` keeps the rows as they
        are

    >>> X = Sample([[3.0, 4.0], [0.0, 2.0]], words=["good", "film"])
    >>> X.n, X.d, X.D, X.words
    (2, 2, 4, ('good', 'film'))
    >>> [round(float(v), 6) for v in X.X.norm(dim=1) ** 2]
    [2.0, 2.0]
    """

    __slots__ = ("X", "reading", "words")
    X: torch.Tensor
    words: tuple[str, ...] | None
    reading: Reading | None

    @validated
    def __init__(
        self,
        array: Any,
        words: Sequence[str] | None = None,
        *,
        reading: Reading | None = None,
        rescale: bool = True,
    ) -> None:
        X = array.X if isinstance(array, Sample) else finite_matrix(array, "a text")
        if isinstance(array, Sample):
            words = array.words if words is None else words
            reading = array.reading if reading is None else reading
        if reading is not None and len(reading.tokens) != len(X):
            raise InputError(
                f"a reading of {len(X)} tokens, one per row",
                f"{len(reading.tokens)} tokens",
                "pass the reading of the same tokens",
            )
        if words is None and reading is not None:
            words = [reading.surface(row) for row in range(len(X))]
        if words is not None and len(words) != len(X):
            raise InputError(
                f"{len(X)} words, one per row",
                f"{len(words)} words",
                "pass one word per token, or words=None",
            )
        self.X = rescaled(X) if rescale else X.clone()
        self.words = None if words is None else tuple(str(word) for word in words)
        self.reading = reading

    @classmethod
    @validated
    def gaussian(cls, n: Count, d: Count, seed: Seed = 0) -> Sample:
        """Rows drawn uniformly on the sphere of radius √d (Gaussian rows, rescaled).

        >>> Sample.gaussian(n=3, d=4, seed=0).X.shape
        torch.Size([3, 4])
        """
        return cls(
            torch.randn(n, d, dtype=torch.float64, generator=generator(seed, "sample", n, d))
        )

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def D(self) -> int:
        return self.X.numel()

    def word(self, i: int) -> str | None:
        """The word at position i; None if the words are unknown."""
        return None if self.words is None else self.words[self.position(i)]

    def position(self, i: Any) -> int:
        """``i`` as a checked position."""
        try:
            whole: Any = None if isinstance(i, bool) else i
            found = operator.index(whole)
        except TypeError:
            raise InputError(
                "a position as a whole number", repr(i), f"pass an int between 0 and {self.n - 1}"
            ) from None
        if not 0 <= found < self.n:
            raise InputError(f"a position between 0 and {self.n - 1}", i, "count words from 0")
        return found

    def rows(self, word: int) -> tuple[int, ...]:
        """The rows of X that stand for a word of the original text, by the word's index."""
        if self.reading is None:
            raise InputError(
                "a sample made from a text, to look up a word",
                "a sample without a text",
                "pass row numbers instead",
            )
        found = self.reading.word(word)
        if found is None:
            last = self.reading.words[-1].index if self.reading.words else None
            known = "no words" if last is None else f"words 0 to {last} in its {self.n} tokens"
            raise InputError(
                "a word of the text",
                f"word {word}; the text has {known}",
                "count words from 0, or take a larger n",
            )
        return found.rows

    def replaced(self, i: int, delta: Any) -> Sample:
        """X^i(Δ) = X + e_i Δᵀ: row i moved by Δ; nothing is rescaled.

        >>> X = Sample.gaussian(n=3, d=2, seed=0)
        >>> torch.equal(X.replaced(1, [0.0, 0.0]).X, X.X)
        True
        """
        i = self.position(i)
        row = float64(delta, "Δ")
        if row.shape != (self.d,):
            raise InputError(
                f"Δ of shape ({self.d},)",
                f"shape {tuple(row.shape)}",
                "one number per dimension of the embedding",
            )
        if not torch.isfinite(row).all():
            raise InputError("a finite Δ", "NaN or infinite entries", "clean Δ first")
        X = self.X.clone()
        X[i] += row
        return Sample(X, self.words, reading=self.reading, rescale=False)

    def inserted(self, i: int, vector: Any) -> Sample:
        """The text with one more row: ``vector`` before row i, or at the end for i = n.

        >>> Sample.gaussian(n=3, d=2, seed=0).inserted(3, [1.0, 2.0]).X[3].tolist()
        [1.0, 2.0]
        """
        row = finite_matrix([float64(vector, "a word's vector").tolist()], "a word's vector")
        if row.shape[1] != self.d:
            raise InputError(
                f"a vector of {self.d} numbers", f"{row.shape[1]}", "embed the word like the text"
            )
        i = self.n if type(i) is int and i == self.n else self.position(i)
        words = None if self.words is None else [*self.words[:i], "", *self.words[i:]]
        return Sample(torch.cat([self.X[:i], row, self.X[i:]]), words, rescale=False)

    def deleted(self, i: int) -> Sample:
        """The text without row i.

        >>> Sample([[1.0], [2.0]], words=["not", "good"]).deleted(0).words
        ('good',)
        """
        i = self.position(i)
        if self.n == 1:
            raise InputError("a text of two rows or more, to delete one", "one row", "replace it")
        words = None if self.words is None else [*self.words[:i], *self.words[i + 1 :]]
        return Sample(torch.cat([self.X[:i], self.X[i + 1 :]]), words, rescale=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.X.numpy(), dtype=dtype)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        words = ""
        if self.words is not None:
            words = f", words={' '.join(self.words[:6])!r}{'…' if self.n > 6 else ''}"
        return f"Sample(n={self.n}, d={self.d}{words})"


def rescaled(X: torch.Tensor) -> torch.Tensor:
    """Scale each row to norm √d, by its largest entry first, so that no square overflows."""
    largest = X.abs().amax(dim=1, keepdim=True)
    zero = (largest == 0).squeeze(1)
    if zero.any():
        raise InputError(
            "rows that can be rescaled to norm √d",
            f"a zero row at position {int(zero.nonzero()[0])}",
            "drop that token, or pass rescale=False",
        )
    X = X / largest
    return X * (math.sqrt(X.shape[1]) / X.norm(dim=1, keepdim=True))


def rows_of(positions: Positions, sample: Sample) -> list[int]:
    """The rows that may change: "all", "words" (no special tokens, no padding), rows, or words as
    "word:3"; or a mix.

    A word of several tokens selects all its rows; S changes one row at a time.
    """
    if isinstance(positions, str) and positions in ("all", "words"):
        rows = list(range(sample.n))
        if positions == "words" and sample.reading is not None:
            rows = [row for row in rows if sample.reading.tokens[row].kind == "word"]
    else:
        given: Any = positions
        many = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
        named = list(given) if many and not isinstance(given, str) else [given]
        rows = [
            row
            for name in named
            for row in (
                _word_rows(name, sample) if isinstance(name, str) else [sample.position(name)]
            )
        ]
    if not rows:
        raise InputError("at least one position", "none", 'pass "all" or some positions')
    if len(set(rows)) < len(rows):
        raise InputError("distinct positions", f"{rows}", "name each word once")
    return rows


def _word_rows(name: str, sample: Sample) -> tuple[int, ...]:
    head, _, number = name.partition(":")
    if head != "word" or not number.strip().isdecimal():
        raise InputError(
            'positions "all", "words", rows (0, 3) or words ("word:3")',
            repr(name),
            f"count rows from 0 to {sample.n - 1}, and words from 0",
        )
    return sample.rows(int(number))
