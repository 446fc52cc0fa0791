"""A Gaussian matrix sampled only where it is queried.

W ∈ ℝ^{rows×cols} with i.i.d. N(0, σ²) entries is known through right queries, an orthonormal Q with
A = WQ, and left ones, an orthonormal P with B = WᵀP. A new right query h = Qc + ‖r‖q has the result

    Wq = P(Bᵀq) + (I − PPᵀ) g,        Wh = Ac + ‖r‖ Wq,        g ~ N(0, σ²I) drawn now,

and left queries mirror it. The results are equal in distribution to those of a dense matrix, and
agree with one single matrix (docs/gaussian.md has the proof). Memory is O((rows + cols)·queries).
"""

from __future__ import annotations

import math
from typing import final

import numpy as np
import torch

from wordsway.core.checks import Count, NonNegative, Seed, validated
from wordsway.core.errors import InputError
from wordsway.core.runtime import checked_device
from wordsway.core.seeds import generator
from wordsway.gaussian.basis import Basis, Rows
from wordsway.gaussian.operator import Operator

#: Fewer numbers than this are left to torch.
MANY = 8192
#: Numbers processed at once, so that intermediate results stay in the cache.
BLOCK = 65536
#: Eight numbers copied as one unit.
_EIGHT = "V64"


def fill_normal(out: torch.Tensor, scale: float, noise: torch.Generator) -> torch.Tensor:
    """Fill ``out`` with N(0, scale²), as ``out.normal_(0, scale, generator=noise)`` does.

    >>> noise = torch.Generator().manual_seed(0)
    >>> few = fill_normal(torch.empty(2, 3, dtype=torch.float64), 0.5, noise)
    >>> noise = torch.Generator().manual_seed(0)
    >>> torch.equal(few, 0.5 * torch.randn(2, 3, dtype=torch.float64, generator=noise))
    True
    """
    count = out.numel()
    plain = out.dtype == torch.float64 and out.device.type == "cpu" and out.is_contiguous()
    if count < MANY or count % 16 or not plain:
        return out.normal_(0, scale, generator=noise)
    out.uniform_(0, 1, generator=noise)
    eights = out.flatten().numpy().view(_EIGHT)
    for start in range(0, len(eights), BLOCK // 8):
        some = eights[start : start + BLOCK // 8]
        size = some[0::2].copy().view(np.float64)
        angle = torch.from_numpy(some[1::2].copy().view(np.float64)).mul_(2 * math.pi)
        torch.from_numpy(np.subtract(1, size, out=size)).log_().mul_(-2)
        np.sqrt(size, out=size)
        size *= scale
        for part, way in ((0, angle.cos()), (1, angle.sin_())):
            some[part::2] = way.mul_(torch.from_numpy(size)).numpy().view(_EIGHT)
    return out


class _Side:
    """The queries of one side: an orthonormal basis, and its products with the matrix."""

    def __init__(self, dim: int, other: int, *, dtype: torch.dtype, device: torch.device) -> None:
        self.basis = Basis(dim, dtype=dtype, device=device)
        self.image = Rows(other, dtype=dtype, device=device)

    def answer(self, H: torch.Tensor) -> torch.Tensor:
        return (H @ self.basis.rows.T) @ self.image.rows


@final
class GaussianMatrix(Operator):
    """W ∈ ℝ^{rows×cols}, i.i.d. N(0, scale²), revealed query by query. The same seed and the same
    queries in the same order give the same answers.

    >>> W = GaussianMatrix(5, 3, seed=0)
    >>> h = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    >>> y = h @ W.T                           # W h, drawn now
    >>> W.rank, W.revealed
    ((1, 0), False)
    >>> bool((W.dense() @ h - y).abs().max() < 1e-12), W.revealed
    (True, True)
    """

    @validated
    def __init__(
        self,
        rows: Count,
        cols: Count,
        *,
        scale: NonNegative = 1.0,
        seed: Seed = 0,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str = "cpu",
    ) -> None:
        if dtype not in (torch.float32, torch.float64):
            raise InputError(
                "dtype float32 or float64", dtype, "orthogonality needs at least float32"
            )
        self.rows = rows
        self.cols = cols
        self.shape = (rows, cols)
        self.scale = float(scale)
        self.seed = seed
        self.dtype = dtype
        self.device = torch.device(checked_device(device))
        self._right = _Side(cols, rows, dtype=dtype, device=self.device)
        self._left = _Side(rows, cols, dtype=dtype, device=self.device)
        self._noise = generator(seed, "gaussian", rows, cols, device=self.device)

    @property
    def rank(self) -> tuple[int, int]:
        """How many independent right and left directions have been revealed."""
        return len(self._right.basis), len(self._left.basis)

    @property
    def revealed(self) -> bool:
        """Whether the whole matrix is known; nothing more is drawn or stored then."""
        return self._right.basis.complete or self._left.basis.complete

    @property
    def nbytes(self) -> int:
        """Memory of the revealed part."""
        return sum(self.rank) * (self.rows + self.cols) * self.dtype.itemsize

    def reserve(self, *, forward: int = 0, backward: int = 0) -> None:
        """Preallocate for that many more queries of each side."""
        for side, extra in ((self._right, forward), (self._left, backward)):
            extra = min(extra, side.basis.dim - len(side.basis))
            side.basis.reserve(extra)
            side.image.reserve(extra)

    def apply(self, H: torch.Tensor) -> torch.Tensor:
        return self._query(self._right, self._left, H)

    def apply_transposed(self, G: torch.Tensor) -> torch.Tensor:
        return self._query(self._left, self._right, G)

    def known(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Q, the right directions so far (r×cols, orthonormal rows), and WQᵀ as r×rows."""
        return self._right.basis.rows, self._right.image.rows

    def condition(self, Q: torch.Tensor, answers: torch.Tensor) -> None:
        """Fix Wq, ``answers`` (r×rows), before any query, for orthonormal rows q of Q (r×cols)."""
        if self.rank != (0, 0):
            raise InputError(
                "an unqueried matrix", f"rank {self.rank}", "condition it before the first query"
            )
        self._right.basis.append(Q)
        self._right.image.append(answers)

    def dense(self) -> torch.Tensor:
        """The whole matrix, revealed now if it was not: rows×cols."""
        if not self.revealed:
            tall = self.cols <= self.rows
            small = min(self.shape)
            self.reserve(forward=small if tall else 0, backward=0 if tall else small)
            for identity in torch.eye(small, dtype=self.dtype, device=self.device).split(256):
                (self.apply if tall else self.apply_transposed)(identity)
        if self._right.basis.complete:
            return self._right.image.rows.T @ self._right.basis.rows
        return self._left.basis.rows.T @ self._left.image.rows

    def _query(self, side: _Side, other: _Side, H: torch.Tensor) -> torch.Tensor:
        if H.shape[-1:] != (side.basis.dim,):
            raise InputError(
                f"vectors of length {side.basis.dim}",
                f"shape {tuple(H.shape)}",
                "queries go along the last axis",
            )
        flat = H.reshape(-1, side.basis.dim).to(self.device, self.dtype)
        if other.basis.complete:  # W = PBᵀ (or AQᵀ) is known: answer from it, store nothing
            return ((flat @ other.image.rows.T) @ other.basis.rows).reshape(
                *H.shape[:-1], other.basis.dim
            )
        if len(flat) == 1:
            c = side.basis.coordinates(flat)
        else:
            side.basis.extend(flat)
            c = None
        if len(side.basis) > len(side.image):
            self._draw(side, other)
        answer = side.answer(flat) if c is None else c @ side.image.rows
        return answer.reshape(*H.shape[:-1], other.basis.dim)

    def _draw(self, side: _Side, other: _Side) -> None:
        """Wq = P(Bᵀq) + (I − PPᵀ)g = g + P(Bᵀq − Pᵀg) for each direction q without an answer."""
        new = side.basis.rows[len(side.image) :]
        g = fill_normal(side.image.add(len(new)), self.scale, self._noise)
        if len(other.basis):
            known = new @ other.image.rows.T - g @ other.basis.rows.T
            g.addmm_(known, other.basis.rows)

    def __repr__(self) -> str:
        known = "{} right and {} left directions known".format(*self.rank)
        state = "revealed" if self.revealed else known
        return f"GaussianMatrix({self.rows}×{self.cols}, scale={self.scale:.3g}, {state})"
