"""A first layer asked about many whole texts at once, and then about rows of the last of them.

V ∈ ℝ^{k×D} has i.i.d. entries N(0, σ²). For texts X_1 … X_M the rows of Z = (V vec X_j)_j ∈ ℝ^{M×k}
are k independent draws of N(0, σ²G), G_jl = ⟨X_j, X_l⟩, so Z = σG^{1/2}·(standard normal): neither
V nor any basis of ℝ^D is needed. Given Z, the columns V_i of row i are again Gaussian: with T_i ∈
ℝ^{M×d} the texts' i-th rows,

    V_i = Zᵀ C + Γ R,   C = G⁺T_i,   R² = I − T_iᵀG⁺T_i,   Γ ∈ ℝ^{k×d} fresh, i.i.d. N(0, σ²).

For one row Γ is drawn only where it is multiplied: M·k numbers of memory. Several rows are taken
one after another: once V_i is drawn, what it contributed is taken away, Z ← Z − T_iV_iᵀ and G ← G −
T_iT_iᵀ, and the next row is drawn given the rest, by the same formula. Both are exact in
distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import final

import torch

from wordsway.errors import InputError
from wordsway.gaussian.dense import DenseMatrix
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.gaussian.operator import BlockOperator, Operator
from wordsway.seeds import derive, generator
from wordsway.vectors import gram

#: Columns of Z drawn at once.
BLOCK = 4096


@final
class JointMatrix(BlockOperator):
    """V's answers to M texts (M×n×d, float64), drawn from a seed; ``answers`` is Z, M×k.

    ``rows`` of the last text can be asked about, each until the next one is. Of the texts only
    those rows are kept.
    """

    def __init__(
        self, k: int, texts: torch.Tensor, *, rows: Sequence[int], scale: float, seed: int
    ) -> None:
        self.count, self.n, self.d = texts.shape
        self.k = k
        self.scale = scale
        self.seed = seed
        self.last = texts[-1].clone()
        self.rows = {i: texts[:, i].to(torch.float64, copy=True) for i in dict.fromkeys(rows)}
        self.gram = gram(texts.flatten(1).to(torch.float64))
        self.answers: torch.Tensor = torch.empty(0)
        self._current: tuple[int, Operator] | None = None
        self._left = self.answers
        self._left_gram = self.gram
        self._taken = set[int]()
        #: C and R of rows that were asked about first.
        self._firsts = dict[int, tuple[torch.Tensor, torch.Tensor]]()
        #: CᵀZ (d×k) of the only row, where that is smaller than Z; whoever asks again shares it.
        self._means = dict[int, torch.Tensor]()
        self._spectrum: tuple[torch.Tensor, torch.Tensor] | None = None

    def draw(self) -> JointMatrix:
        """Draw Z. The texts are not needed any more: let go of them before this."""
        self._spectrum = values, vectors = _eigh(self.gram)
        root = vectors * values.clamp_min(0).sqrt()
        noise = generator(self.seed, "joint", "answers")
        self.answers = torch.empty(self.count, self.k, dtype=torch.float64)
        for start in range(0, self.k, BLOCK):
            width = min(BLOCK, self.k - start)
            draw = torch.randn(self.count, width, dtype=torch.float64, generator=noise)
            self.answers[:, start : start + width] = self.scale * (root @ draw)
        self._left = self.answers
        return self

    def unasked(self) -> JointMatrix:
        """The same answers, and no row asked about yet: whoever asks the same gets the same."""
        other = copy(self)
        other._current = None
        other._left = self.answers
        other._left_gram = self.gram
        other._taken = set()
        return other

    def parts(self) -> Iterator[torch.Tensor]:
        """The answers in blocks of columns, (M, at most 4096)."""
        yield from self.answers.split(BLOCK, dim=1)

    def apply(self, X: torch.Tensor) -> torch.Tensor:
        """V vec X for the last text, the only one that may be asked about."""
        if X.shape != self.last.shape or not torch.equal(X.to(self.last), self.last):
            raise InputError(
                "the text that the matrix was drawn for",
                "another text",
                "pass it when the map is made",
            )
        return self.answers[-1]

    def block(self, i: int) -> Operator:
        """V_i given all the answers, and the rows before it."""
        if self._current is not None and self._current[0] == i:
            return self._current[1]
        if i not in self.rows or i in self._taken:
            got = "a row that has been given up for another" if i in self._taken else f"row {i}"
            raise InputError(
                f"one of the rows {sorted(self.rows)}, one after another",
                got,
                "make a new map for other rows",
            )
        if self._current is not None:
            self._take_away(*self._current)
        block = self._late_block(i) if len(self.rows) == 1 else self._whole_block(i)
        self._current = (i, block)
        return block

    def dense(self) -> torch.Tensor:
        raise InputError(
            "a matrix that is there",
            "answers to texts alone",
            "draw the map for one text to see its weights",
        )

    def _late_block(self, i: int) -> Operator:
        Z, C, R = self._known(i)
        seed = derive(self.seed, "joint", "word", i)
        if self.count > self.d and i not in self._means:
            self._means[i] = C.T @ Z
        fresh = GaussianMatrix(self.k, len(R), scale=self.scale, seed=seed)
        return ConditionedMatrix(Z, C, R, fresh, self._means.get(i))

    def _whole_block(self, i: int) -> Operator:
        """The same, drawn whole: k·d numbers."""
        Z, C, R = self._known(i)
        noise = generator(self.seed, "joint", "word", i)
        V = Z.T @ C
        fresh = torch.randn(self.k, len(R), dtype=torch.float64, generator=noise)
        return DenseMatrix(V.addmm_(fresh, R, alpha=self.scale))

    def _take_away(self, i: int, block: Operator) -> None:
        T = self.rows[i]
        if self._left is self.answers:
            self._left = self.answers.clone()
        self._left.addmm_(T, block.dense().T, alpha=-1)
        self._left_gram = self._left_gram - T @ T.T
        self._taken.add(i)

    def _known(self, i: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Z, C and R for row i, given the rows before it."""
        if self._taken:
            return self._left, *_conditions(*_eigh(self._left_gram), self.rows[i])
        if i not in self._firsts:
            spectrum = self._spectrum or _eigh(self.gram)
            self._firsts[i] = _conditions(*spectrum, self.rows[i])
        return self._left, *self._firsts[i]


def _conditions(
    values: torch.Tensor, vectors: torch.Tensor, T: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """C = G⁺T and R = (I − TᵀG⁺T)^{1/2}, from the spectrum of G."""
    kept = values > 1e-13 * values[-1]
    C = vectors[:, kept] @ ((vectors[:, kept].T @ T) / values[kept, None])
    values, vectors = _eigh(torch.eye(T.shape[1], dtype=torch.float64) - T.T @ C)
    return C, (vectors * values.clamp_min(0).sqrt()) @ vectors.T


def _eigh(G: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, vectors = torch.linalg.eigh(G)
    return values, vectors


@final
class ConditionedMatrix(Operator):
    """ZᵀC + ΓR with Γ drawn where it is multiplied: k×d, float64; ``mean`` is CᵀZ, if known."""

    def __init__(
        self,
        Z: torch.Tensor,
        C: torch.Tensor,
        R: torch.Tensor,
        fresh: GaussianMatrix,
        mean: torch.Tensor | None = None,
    ) -> None:
        self._Z = Z
        self._C = C
        self._R = R
        self._fresh = fresh
        self._mean = mean
        self.shape = fresh.shape
        self.dtype = fresh.dtype

    def apply(self, H: torch.Tensor) -> torch.Tensor:
        H = H.to(torch.float64)
        known = (H @ self._C.T) @ self._Z if self._mean is None else H @ self._mean
        return known + self._fresh.apply(H @ self._R)

    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        G = G.to(torch.float64)
        known = (G @ self._Z.T) @ self._C if self._mean is None else G @ self._mean.T
        return known + self._fresh.apply_transposed(G) @ self._R

    def dense(self) -> torch.Tensor:
        return self._Z.T @ self._C + self._fresh.dense() @ self._R
