"""The first layer's matrix V ∈ ℝ^{k×(n·d)}, whose columns come in blocks of d: one block V_i per
token.

Whole texts are asked first (z = V·vec X), single words later (V_iΔ and V_iᵀg), so the matrix keeps
one `GaussianMatrix` for all the tokens nobody has singled out, and splits a word off when it is
looked at:

    V = [V_i | V_rest],   given V_i q_i + V_rest q_rest for the directions q = (q_i, q_rest) already
    asked.

Asking the unsplit matrix for V_i u, with u an orthonormal basis of the q_i, makes both parts known
separately on what was asked; beyond that they are independent Gaussian matrices. The split is
exact, and after it a query of word i costs O(k·queries of word i), whatever was asked of other
words.
"""

from __future__ import annotations

import torch

from wordsway.errors import InputError
from wordsway.gaussian.basis import ROUNDING_ERRORS, Basis
from wordsway.gaussian.matrix import GaussianMatrix
from wordsway.seeds import derive


class TokenMatrix:
    """V ∈ ℝ^{k×(n·d)}, i.i.d. N(0, scale²), drawn only where whole texts and single words look at
    it.

    >>> V = TokenMatrix(k=6, n=3, d=2, seed=0)
    >>> X = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    >>> z = V.right(X)                                         # V vec X
    >>> change = V.word(1).right(torch.tensor([1.0, -1.0]))     # V_1 Δ
    >>> X[1] += torch.tensor([1.0, -1.0])
    >>> bool((V.right(X) - z - change).abs().max() < 1e-12)
    True
    """

    def __init__(
        self,
        k: int,
        n: int,
        d: int,
        *,
        scale: float = 1.0,
        seed: int = 0,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        self.k, self.n, self.d, self.scale, self.seed = k, n, d, scale, seed
        self.dtype, self.device = dtype, torch.device(device)
        self._words: dict[int, GaussianMatrix] = {}
        self._rest_tokens = list(range(n))
        self._rest: GaussianMatrix | None = self._matrix(n, "rest", n)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts())

    def right(self, X: torch.Tensor) -> torch.Tensor:
        """V·vec X for texts X (…, n, d) → (…, k)."""
        if X.shape[-2:] != (self.n, self.d):
            raise InputError(
                f"texts of shape (…, {self.n}, {self.d})",
                f"shape {tuple(X.shape)}",
                "this map was made for one n and d",
            )
        X = X.to(self.device, self.dtype)
        answer = torch.zeros(*X.shape[:-2], self.k, dtype=self.dtype, device=self.device)
        if self._rest is not None:
            answer += self._rest.right(X[..., self._rest_tokens, :].flatten(-2))
        for i, word in self._words.items():
            answer += word.right(X[..., i, :])
        return answer

    def word(self, i: int) -> GaussianMatrix:
        """V_i ∈ ℝ^{k×d}, the columns of token i, as a matrix of its own."""
        if i not in self._words:
            self._words[i] = self._split(i)
        return self._words[i]

    def dense(self) -> torch.Tensor:
        """The whole matrix, k×(n·d), revealed now."""
        V = torch.empty(self.k, self.n, self.d, dtype=self.dtype, device=self.device)
        if self._rest is not None:
            V[:, self._rest_tokens] = self._rest.dense().reshape(self.k, -1, self.d)
        for i, word in self._words.items():
            V[:, i] = word.dense()
        return V.flatten(1)

    def _split(self, i: int) -> GaussianMatrix:
        rest = self._rest
        if rest is None or i not in self._rest_tokens:
            raise InputError(f"a token between 0 and {self.n - 1}", i, "count tokens from 0")
        at = self._rest_tokens.index(i)
        asked = rest.known()[
            0
        ].clone()  # directions asked before the split; the split's own question adds to them
        block = slice(at * self.d, (at + 1) * self.d)
        basis = Basis(self.d, dtype=self.dtype, device=self.device)
        basis.extend(asked[:, block])
        questions = torch.zeros(len(basis), rest.cols, dtype=self.dtype, device=self.device)
        questions[:, block] = basis.rows
        word_answers = rest.right(questions)

        word = self._matrix(1, "word", i)
        word.condition(basis.rows, word_answers)
        self._rest_tokens.remove(i)
        if not self._rest_tokens:
            self._rest = None
            return word
        others = torch.ones(rest.cols, dtype=torch.bool, device=self.device)
        others[block] = False
        # V_rest q_rest = V q − V_i q_i, then combined so that the q_rest become orthonormal (thin
        # SVD of the asked rows).
        answers = rest.right(asked) - (asked[:, block] @ basis.rows.T) @ word_answers
        U, s, Q = torch.linalg.svd(asked[:, others], full_matrices=False)
        keep = s > ROUNDING_ERRORS * torch.finfo(self.dtype).eps
        remainder = self._matrix(len(self._rest_tokens), "rest", len(self._rest_tokens))
        remainder.condition(Q[keep], (U[:, keep] / s[keep]).T @ answers)
        self._rest = remainder
        return word

    def _matrix(self, tokens: int, *path: int | str) -> GaussianMatrix:
        seed = derive(self.seed, *path)
        return GaussianMatrix(
            self.k,
            tokens * self.d,
            scale=self.scale,
            seed=seed,
            dtype=self.dtype,
            device=self.device,
        )

    def _parts(self) -> list[GaussianMatrix]:
        return list(self._words.values()) + ([] if self._rest is None else [self._rest])

    def __repr__(self) -> str:
        return f"TokenMatrix({self.k}×({self.n}·{self.d}), {len(self._words)} of {self.n} words singled out)"
