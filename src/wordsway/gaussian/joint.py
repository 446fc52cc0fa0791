"""A first layer asked about many whole texts at once, and then about one word of the last of them.

V ∈ ℝ^{k×D} has i.i.d. entries N(0, σ²). For texts X_1 … X_M the rows of Z = (V vec X_j)_j ∈ ℝ^{M×k} are k independent draws of
N(0, σ²G), G_jl = ⟨X_j, X_l⟩, so Z = σG^{1/2}·(standard normal): neither V nor any basis of ℝ^D is needed. Given Z, the columns
V_i of word i are again Gaussian: with T_i ∈ ℝ^{M×d} the texts' i-th rows,

    V_i = Zᵀ C + Γ R,   C = G⁺T_i,   R² = I − T_iᵀG⁺T_i,   Γ ∈ ℝ^{k×d} fresh, i.i.d. N(0, σ²),

and Γ is drawn only where it is looked at. Exact in distribution, with M·k numbers of memory. One word can be singled out: two
of them would be dependent given Z.
"""

from __future__ import annotations

import torch

from wordsway.errors import InputError
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.seeds import derive, generator

#: Columns of Z drawn at once.
BLOCK = 4096


class JointTokens:
    """V's answers to M texts (M×n×d, float64), drawn from a seed; ``answers`` is Z, M×k."""

    def __init__(self, k: int, texts: torch.Tensor, *, scale: float, seed: int, dtype: torch.dtype = torch.float64) -> None:
        self.k, self.texts, self.scale, self.seed = k, texts, scale, seed
        flat = texts.flatten(1).to(torch.float64)
        self.gram = flat @ flat.T
        values, vectors = torch.linalg.eigh(self.gram)
        kept = values > 1e-13 * values[-1]
        self._root = vectors * values.clamp_min(0).sqrt()
        self._inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        noise = generator(seed, "joint", "answers")
        self.answers = torch.empty(len(texts), k, dtype=dtype)
        for start in range(0, k, BLOCK):
            width = min(BLOCK, k - start)
            draw = torch.randn(len(texts), width, dtype=torch.float64, generator=noise)
            self.answers[:, start : start + width] = (scale * (self._root @ draw)).to(dtype)
        self._word: tuple[int, ConditionedWord] | None = None

    def right(self, X: torch.Tensor) -> torch.Tensor:
        """V vec X for one of the texts (n×d), or several of them (…×n×d)."""
        if X.ndim > 2:
            return torch.stack([self.right(one) for one in X])
        same = (self.texts == X.to(self.texts)).flatten(1).all(1).nonzero()
        if not len(same):
            raise InputError("one of the texts that the matrix was drawn for", "another text", "pass it when the map is made")
        return self.answers[int(same[0])]

    def word(self, i: int) -> ConditionedWord:
        """V_i given all the answers."""
        if self._word is None:
            self._word = (i, ConditionedWord(self, i))
        if self._word[0] != i:
            raise InputError(f"word {self._word[0]}, the one that was singled out", f"word {i}", "make a new map for another word")
        return self._word[1]


class ConditionedWord:
    """V_i = ZᵀC + ΓR: k×d, asked from the right (Δ) and from the left (g)."""

    def __init__(self, joint: JointTokens, i: int) -> None:
        self.joint = joint
        T = joint.texts[:, i].to(torch.float64)
        self._C = joint._inverse @ T
        values, vectors = torch.linalg.eigh(torch.eye(T.shape[1], dtype=torch.float64) - T.T @ self._C)
        self._R = (vectors * values.clamp_min(0).sqrt()) @ vectors.T
        self._fresh = GaussianMatrix(joint.k, T.shape[1], scale=joint.scale, seed=derive(joint.seed, "joint", "word", i))

    def right(self, delta: torch.Tensor) -> torch.Tensor:
        """V_iΔ: (…, d) → (…, k)."""
        delta = delta.to(torch.float64)
        known = (delta @ self._C.T).to(self.joint.answers.dtype) @ self.joint.answers
        return known.to(torch.float64) + self._fresh.right(delta @ self._R)

    def left(self, g: torch.Tensor) -> torch.Tensor:
        """V_iᵀg: (…, k) → (…, d)."""
        known = (g.to(self.joint.answers.dtype) @ self.joint.answers.T).to(torch.float64) @ self._C
        return known + self._fresh.left(g.to(torch.float64)) @ self._R

    @property
    def rank(self) -> tuple[int, int]:
        return self._fresh.rank

    def reserve(self, *, right: int = 0, left: int = 0) -> None:
        self._fresh.reserve(right=right, left=left)
