"""Masks and positional encodings: constants of n and the head.

Masks and ALiBi are constants added to the scores (−∞ hides a key), sinusoidal and learned positions
are constants added to the text, RoPE turns queries and keys by angles that depend on their row. So
none of them changes what one moved word moves, and at what cost.
"""

from __future__ import annotations

import math

import torch

from wordsway.core.errors import InputError
from wordsway.core.seeds import generator

MASKS = ("none", "causal", "window", "padding")
POSITIONS = ("none", "sinusoidal", "learned", "rope", "alibi")
#: The base of RoPE's and the sinusoidal encoding's wavelengths.
BASE = 10_000.0


def hidden_pairs(n: int, mask: str, window: int | None, visible: int | None) -> torch.Tensor | None:
    """Which row j cannot see which key l, (n, n); None where every row sees every key.

    "causal": l > j; "window": |j − l| ≥ window; "padding": l ≥ visible.

    >>> hidden_pairs(3, "causal", None, None).int().tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    row, key = torch.arange(n)[:, None], torch.arange(n)
    if mask == "none":
        return None
    if mask == "causal":
        return key > row
    if mask == "window":
        assert window is not None
        return (row - key).abs() >= min(window, n)
    assert visible is not None
    if visible > n:
        raise InputError(f"visible ≤ n = {n}", visible, "as many rows as the text has words")
    return (key >= visible).expand(n, n)


def alibi(n: int, heads: int) -> torch.Tensor:
    """−m_h|j − l| with slopes m_h = 2^(−8h/H), h = 1 … H: (heads, n, n).

    >>> alibi(3, 1)[0, 0].tolist()
    [-0.0, -0.00390625, -0.0078125]
    """
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads)
    place = torch.arange(n, dtype=torch.float64)
    return -slopes[:, None, None] * (place[:, None] - place).abs()


def sinusoidal(n: int, d: int) -> torch.Tensor:
    """sin and cos of j/10000^(2a/d), side by side, (n, d); rows of norm √(d/2)."""
    place = torch.arange(n, dtype=torch.float64)[:, None]
    column = torch.arange(d)
    angle = place / BASE ** (2 * (column // 2).to(torch.float64) / d)
    return torch.where(column % 2 == 0, angle.sin(), angle.cos())


def learned(n: int, d: int, seed: int) -> torch.Tensor:
    """Rows N(0, I) of their own for every place, (n, d): learned positions before any learning."""
    rows = [
        torch.randn(d, dtype=torch.float64, generator=generator(seed, "positions", d, place))
        for place in range(n)
    ]
    return torch.stack(rows)


class Rotation:
    """RoPE: the pair (x_a, x_{a+m/2}) of row j is turned by the angle j·base^(−2a/m).

    The angle between a query and a key then depends on how far apart they stand. As in Llama, the
    two halves of a head are paired; GPT-J's neighbours are the same up to the order of dimensions.
    """

    def __init__(self, angles: torch.Tensor) -> None:
        angles = torch.cat([angles, angles], -1)
        self.cos, self.sin = angles.cos(), angles.sin()  # (n, m)

    @staticmethod
    def of(n: int, m: int, base: float = BASE) -> Rotation:
        """The usual angles for n rows and heads of m dimensions."""
        pace = base ** (-2 * torch.arange(m // 2, dtype=torch.float64) / m)
        return Rotation(torch.arange(n, dtype=torch.float64)[:, None] * pace)

    def to(self, like: torch.Tensor) -> Rotation:
        """The same rotation in another precision or place."""
        new = object.__new__(Rotation)
        new.cos, new.sin = self.cos.to(like), self.sin.to(like)
        return new

    def turn(self, x: torch.Tensor, back: bool = False) -> torch.Tensor:
        """All rows: x is (…, n, heads, m)."""
        return self._turned(x, self.cos[:, None], self.sin[:, None], back)

    def turn_as(self, i: int, x: torch.Tensor, back: bool = False) -> torch.Tensor:
        """x (…, m) turned as row i is."""
        return self._turned(x, self.cos[i], self.sin[i], back)

    @staticmethod
    def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, back: bool) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        return x * cos + torch.cat([-second, first], -1) * (-sin if back else sin)


def growth(n: int) -> float:
    """log n, the factor that keeps softmax sharp as texts grow; 1 for texts of up to two rows."""
    return max(1.0, math.log(n))
