"""Functions of a user's own module, for sweeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

import wordsway as ws


def uniform_attention(d: int, seed: int, temperature: float = 1.0) -> Callable[..., torch.Tensor]:
    """Attention whose weights are uniform, of variance 1/d."""
    generator = torch.Generator().manual_seed(seed)
    W = torch.rand(d, d, dtype=torch.float64, generator=generator) - 0.5
    return lambda X: torch.softmax(X @ (W * (12 / d) ** 0.5) @ X.mT / temperature, -1) @ X


def raf(d: int, seed: int) -> ws.FeatureMap:
    return ws.RAF(d=d, seed=seed)


def raf_by_law(d: int, seed: int, weights: str) -> ws.FeatureMap:
    return ws.RAF(d=d, seed=seed, law=weights)


def numbers(X: ws.Sample, seed: int, text_seed: int, scale: float) -> dict[str, float]:
    return {"first": scale * float(X.X[0, 0]), "seed": float(seed % 97), "text": text_seed % 97}


def one_row(X: ws.Sample, d: int, seed: int) -> ws.Sensitivity:
    return ws.sensitivity(ws.RAF(d=d, seed=seed), X, positions=1)


def fails(n: int) -> float:
    if n == 4:
        raise ValueError("four is refused")
    return float("nan") if n == 5 else n


bound = partial(fails, n=3)


class Maker:
    def __call__(self, n: int) -> float:
        return n


def outer() -> Callable[[int], float]:
    def nested(n: int) -> float:
        return float(n)

    return nested


def additive(seed: int, text_seed: int, scale: float = 1.0, n: int = 1) -> float:
    """The sum of a number of the text and one of the weights."""
    return scale * (text_seed % 101) + seed % 11
