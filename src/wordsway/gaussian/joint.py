"""A first layer asked about many whole texts at once, and then about words of the last of them.

V ∈ ℝ^{k×D} has i.i.d. entries N(0, σ²). For texts X_1 … X_M the rows of Z = (V vec X_j)_j ∈ ℝ^{M×k}
are k independent draws of N(0, σ²G), G_jl = ⟨X_j, X_l⟩, so Z = σG^{1/2}·(standard normal): neither
V nor any basis of ℝ^D is needed. Given Z, the columns V_i of word i are again Gaussian: with T_i ∈
ℝ^{M×d} the texts' i-th rows,

    V_i = Zᵀ C + Γ R,   C = G⁺T_i,   R² = I − T_iᵀG⁺T_i,   Γ ∈ ℝ^{k×d} fresh, i.i.d. N(0, σ²).

For one word Γ is drawn only where it is looked at: M·k numbers of memory. Several words are taken
one after another: once V_i is drawn, what it contributed is taken away, Z ← Z − T_iV_iᵀ and G ← G −
T_iT_iᵀ, and the next word is drawn given the rest, by the same formula. Both are exact in
distribution.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from wordsway.errors import InputError
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.seeds import derive, generator
from wordsway.vectors import gram

#: Columns of Z drawn at once.
BLOCK = 4096


class JointTokens:
    """V's answers to M texts (M×n×d, float64), drawn from a seed; ``answers`` is Z, M×k.

    ``words`` of the last text can be asked about, each until the next one is. Of the texts only
    those rows are kept.
    """

    def __init__(
        self, k: int, texts: torch.Tensor, *, words: Sequence[int], scale: float, seed: int
    ) -> None:
        self.k, self.scale, self.seed, self.count = k, scale, seed, len(texts)
        self.last = texts[-1].clone()
        self.rows = {i: texts[:, i].to(torch.float64, copy=True) for i in dict.fromkeys(words)}
        self.gram = gram(texts.flatten(1).to(torch.float64))
        self.answers: torch.Tensor = torch.empty(0)
        self._word: tuple[int, OneWord | DrawnWord] | None = None
        self._left, self._left_gram, self._taken = self.answers, self.gram, set[int]()

    def draw(self) -> JointTokens:
        """Draw Z. The texts are not needed any more: let go of them before this."""
        values, vectors = torch.linalg.eigh(self.gram)
        root = vectors * values.clamp_min(0).sqrt()
        noise = generator(self.seed, "joint", "answers")
        self.answers = torch.empty(self.count, self.k, dtype=torch.float64)
        for start in range(0, self.k, BLOCK):
            width = min(BLOCK, self.k - start)
            draw = torch.randn(self.count, width, dtype=torch.float64, generator=noise)
            self.answers[:, start : start + width] = self.scale * (root @ draw)
        self._left = self.answers
        return self

    def right(self, X: torch.Tensor) -> torch.Tensor:
        """V vec X for the last text."""
        if X.shape != self.last.shape or not torch.equal(X.to(self.last), self.last):
            raise InputError(
                "the text that the matrix was drawn for",
                "another text",
                "pass it when the map is made",
            )
        return self.answers[-1]

    def word(self, i: int) -> OneWord | DrawnWord:
        """V_i given all the answers, and the words before it."""
        if self._word is not None and self._word[0] == i:
            return self._word[1]
        if i not in self.rows or i in self._taken:
            said = "a word that has been given up for another" if i in self._taken else f"word {i}"
            raise InputError(
                f"one of the words {sorted(self.rows)}, one after another",
                said,
                "make a new map for other words",
            )
        if self._word is not None:
            self._take_away(*self._word)
        kind = OneWord if len(self.rows) == 1 else DrawnWord
        self._word = (i, kind(self, i))
        return self._word[1]

    def _take_away(self, i: int, word: OneWord | DrawnWord) -> None:
        assert isinstance(word, DrawnWord)
        T = self.rows[i]
        if self._left is self.answers:
            self._left = self.answers.clone()
        self._left.addmm_(T, word.V.T, alpha=-1)
        self._left_gram = self._left_gram - T @ T.T
        self._taken.add(i)

    def known(self, i: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Z, C and R for word i, given the words before it."""
        values, vectors = torch.linalg.eigh(self._left_gram)
        kept = values > 1e-13 * values[-1]
        T = self.rows[i]
        C = vectors[:, kept] @ ((vectors[:, kept].T @ T) / values[kept, None])
        values, vectors = torch.linalg.eigh(torch.eye(T.shape[1], dtype=torch.float64) - T.T @ C)
        return self._left, C, (vectors * values.clamp_min(0).sqrt()) @ vectors.T


class OneWord:
    """V_i = ZᵀC + ΓR, Γ drawn where it is looked at: k×d, asked from the right (Δ) and from the
    left (g).
    """

    def __init__(self, joint: JointTokens, i: int) -> None:
        self._Z, self._C, self._R = joint.known(i)
        self._fresh = GaussianMatrix(
            joint.k, len(self._R), scale=joint.scale, seed=derive(joint.seed, "joint", "word", i)
        )

    def right(self, delta: torch.Tensor) -> torch.Tensor:
        """V_iΔ: (…, d) → (…, k)."""
        delta = delta.to(torch.float64)
        return (delta @ self._C.T) @ self._Z + self._fresh.right(delta @ self._R)

    def left(self, g: torch.Tensor) -> torch.Tensor:
        """V_iᵀg: (…, k) → (…, d)."""
        g = g.to(torch.float64)
        return (g @ self._Z.T) @ self._C + self._fresh.left(g) @ self._R


class DrawnWord:
    """The same, drawn whole: k·d numbers."""

    def __init__(self, joint: JointTokens, i: int) -> None:
        Z, C, R = joint.known(i)
        noise = generator(joint.seed, "joint", "word", i)
        self.V = Z.T @ C
        self.V.addmm_(
            torch.randn(joint.k, len(R), dtype=torch.float64, generator=noise), R, alpha=joint.scale
        )

    def right(self, delta: torch.Tensor) -> torch.Tensor:
        """V_iΔ: (…, d) → (…, k)."""
        return delta.to(torch.float64) @ self.V.T

    def left(self, g: torch.Tensor) -> torch.Tensor:
        """V_iᵀg: (…, k) → (…, d)."""
        return g.to(torch.float64) @ self.V
