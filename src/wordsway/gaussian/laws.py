"""Weights of other laws than the Gaussian one: drawn whole, entries of mean 0 and variance 1.

| law | a matrix W (rows×cols) |
|---|---|
| gaussian | i.i.d. N(0, 1) |
| rademacher | i.i.d. ±1 |
| sparse | i.i.d., 0 with probability 0.9, otherwise N(0, 10) |
| heavy-tails | i.i.d. Student's t with 3 degrees of freedom, divided by √3 |
| orthogonal | orthonormal rows or columns (whichever are fewer), uniform, times √max(rows, cols) |
| low-rank | UVᵀ/√r of Gaussian U, V with r = max(1, min(rows, cols)/8) columns |

A law of your own is a function (rows, cols, seed) → matrix. Maps multiply W by their scale
(1/√d for attention, √(β/fan-in) for fully connected maps).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.seeds import derive, generator

LAWS = ("gaussian", "rademacher", "sparse", "heavy-tails", "orthogonal", "low-rank")
#: Share of entries that are not 0, degrees of freedom, and fewer columns than rows by this factor.
DENSITY, FREEDOM, RANK = 0.1, 3, 8
Law = str | Callable[[int, int, int], Any]


def law_name(law: Law) -> str:
    """The name of a law; unknown ones are refused."""
    if isinstance(law, str) and law not in LAWS:
        raise InputError(
            f"weights among {', '.join(LAWS)}", repr(law), "or a function (rows, cols, seed)"
        )
    return law if isinstance(law, str) else getattr(law, "__name__", type(law).__name__)


def draw_by_law(law: Law, rows: int, cols: int, seed: int, *path: int | str) -> torch.Tensor:
    """W in float64, from the stream of this path.

    >>> draw_by_law("rademacher", 2, 3, seed=0).abs().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    if not isinstance(law, str):
        W = finite_matrix(law(rows, cols, derive(seed, "law", *path)), "drawn weights")
        if W.shape != (rows, cols):
            raise InputError(
                f"a matrix of shape {(rows, cols)} from the law",
                f"shape {tuple(W.shape)}",
                "return one row per output",
            )
        return W
    noise = generator(seed, "law", law, rows, cols, *path)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=noise)

    def uniform(*shape: int) -> torch.Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=noise)

    if law == "rademacher":
        return torch.where(uniform(rows, cols) < 0.5, -1.0, 1.0).double()
    if law == "sparse":
        return normal(rows, cols) * (uniform(rows, cols) < DENSITY) / math.sqrt(DENSITY)
    if law == "heavy-tails":
        chi2 = (normal(FREEDOM, rows, cols) ** 2).sum(0)
        return normal(rows, cols) * (FREEDOM / chi2).sqrt() / math.sqrt(FREEDOM / (FREEDOM - 2))
    if law == "orthogonal":
        tall = normal(max(rows, cols), min(rows, cols))
        Q, R = torch.linalg.qr(tall)
        Q = Q * R.diagonal().sign() * math.sqrt(max(rows, cols))
        return Q if rows >= cols else Q.T.contiguous()
    if law == "low-rank":
        rank = max(1, min(rows, cols) // RANK)
        return normal(rows, rank) @ normal(rank, cols) / math.sqrt(rank)
    return normal(rows, cols)
