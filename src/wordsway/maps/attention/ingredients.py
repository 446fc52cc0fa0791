"""The ingredients of attention: masks and positions, lifted queries and keys, projections.

Masks and ALiBi are constants added to the scores (−∞ hides a key), sinusoidal and learned positions
are constants added to the text, RoPE turns queries and keys by angles that depend on their row.

Scores that are no plain products of queries and keys are products f(q_j)·g(k_l) of *lifted* ones,
so that one moved word still moves one score of every other row, by f_j·(g(k_i′) − g(k_i)).

A row x has the query Qᵀx + b_q and so on, cut into heads; with values v = Vᵀx + b_v, head h gives
Σ_l P^h_jl v^h_l, and the heads side by side are multiplied by O. The paper's layer has one matrix:
the query Wᵀx meets the row itself, which is the value, too (K, V and O are then None: the
identity).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.seeds import generator
from wordsway.gaussian.laws import Law, draw_by_law
from wordsway.maps.rigorous import ELEMENTARY, U

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
    noises = (generator(seed, "positions", d, place) for place in range(n))
    return torch.stack([torch.randn(d, dtype=torch.float64, generator=one) for one in noises])


class Rotation(NamedTuple):
    """RoPE: the pair (x_a, x_{a+m/2}) of row j is turned by the angle j·base^(−2a/m).

    The angle between a query and a key then depends on how far apart they stand. As in Llama, the
    two halves of a head are paired; GPT-J's neighbours are the same up to the order of dimensions.
    """

    cos: torch.Tensor  # (n, m)
    sin: torch.Tensor

    @staticmethod
    def of(n: int, m: int, base: float = BASE) -> Rotation:
        """The usual angles for n rows and heads of m dimensions."""
        pace = base ** (-2 * torch.arange(m // 2, dtype=torch.float64) / m)
        angles = torch.arange(n, dtype=torch.float64)[:, None] * pace
        angles = torch.cat([angles, angles], -1)
        return Rotation(angles.cos(), angles.sin())

    def to(self, like: torch.Tensor) -> Rotation:
        """The same rotation in another precision or place."""
        return Rotation(self.cos.to(like), self.sin.to(like))

    def turn(self, x: torch.Tensor) -> torch.Tensor:
        """All rows: x is (…, n, heads, m)."""
        return self._turned(x, self.cos[:, None], self.sin[:, None], back=False)

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


class Lift:
    """f(q) and g(k) with their gradients; the last axis is that of a head. This is the identity,
    f(q) = q and g(k) = k; another overrides `query`, `error` and `query_pull`, and the methods of
    keys where g ≠ f.
    """

    @property
    def plain(self) -> bool:
        """Whether f and g are the identity: then g(k + δ) − g(k) = δ exactly."""
        return type(self) is Lift

    def query(self, q: torch.Tensor) -> torch.Tensor:
        """f(q)."""
        return q

    def key(self, k: torch.Tensor) -> torch.Tensor:
        """g(k)."""
        return self.query(k)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        """How far f or g of x (…, m) is off at most where x is off by ``error`` (…)."""
        return error

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in q of grad·f(q)."""
        return grad

    def key_pull(self, k: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in k of grad·g(k)."""
        return self.query_pull(k, grad)


@final
class Distance(Lift):
    """f(q) = (2q, −1), g(k) = (k, ‖k‖²): f·g = ‖q‖² − ‖q − k‖²."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return torch.cat([2 * q, -torch.ones_like(q[..., :1])], -1)

    def key(self, k: torch.Tensor) -> torch.Tensor:
        return torch.cat([k, (k * k).sum(-1, keepdim=True)], -1)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        size = x.norm(dim=-1)
        return 2 * error + error * (2 * size + error) + 2 * (x.shape[-1] + 8) * U * size**2

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return 2 * grad[..., :-1]

    def key_pull(self, k: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return grad[..., :-1] + 2 * k * grad[..., -1:]


@final
class Unit(Lift):
    """f(q) = q/‖q‖, g(k) = k/‖k‖; zero stays zero."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return q / _length(q)

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        """‖x/‖x‖ − y/‖y‖‖ ≤ 2‖x − y‖/‖x‖."""
        off = 2 * error / _length(x).squeeze(-1) + 2 * (x.shape[-1] + 8) * U
        return off.clamp_max(2.0)

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        length = _length(q)
        unit = q / length
        return (grad - (grad * unit).sum(-1, keepdim=True) * unit) / length


@final
class Positive(Lift):
    """f = g = elu + 1: e^x below 0, x + 1 above."""

    def query(self, q: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.elu(q) + 1

    def error(self, x: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        return error + 2 * ELEMENTARY * self.key(x).norm(dim=-1)

    def query_pull(self, q: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
        return grad * q.clamp_max(0).exp()


def _length(x: torch.Tensor) -> torch.Tensor:
    return x.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)


@dataclass(frozen=True)
class Projections:
    """Q (d, H·m), K (d, G·m), V (d, G·m′), O (H·m′, d) with H heads of queries, and G heads of keys
    and values that H/G queries share; biases or None.
    """

    Q: torch.Tensor
    K: torch.Tensor | None
    V: torch.Tensor | None
    O: torch.Tensor | None
    heads: int = 1
    key_heads: int = 1
    bias_q: torch.Tensor | None = None
    bias_k: torch.Tensor | None = None
    bias_v: torch.Tensor | None = None
    bias_o: torch.Tensor | None = None

    @property
    def width(self) -> int:
        """m, the dimensions of a query or key of one head."""
        return self.Q.shape[1] // self.heads

    def to(self, like: torch.Tensor) -> Projections:
        """The same in another precision or place."""
        changed: dict[str, Any] = {
            name: value.to(like)
            for name, value in vars(self).items()
            if isinstance(value, torch.Tensor)
        }
        return replace(self, **changed)

    def queries(self, X: torch.Tensor, bias: bool = True) -> torch.Tensor:
        """(…, d) → (…, H, m); a move of X has no bias."""
        return self._heads(X, self.Q, self.bias_q if bias else None, self.heads)

    def keys(self, X: torch.Tensor, bias: bool = True) -> torch.Tensor:
        """(…, d) → (…, H, m), each key as often as queries share it."""
        return self._shared(self._heads(X, self.K, self.bias_k if bias else None, self.key_heads))

    def values(self, X: torch.Tensor, bias: bool = True) -> torch.Tensor:
        """(…, d) → (…, H, m′)."""
        return self._shared(self._heads(X, self.V, self.bias_v if bias else None, self.key_heads))

    def value_matrix(self, h: int) -> torch.Tensor | None:
        """V of head h, (d, m′); None for the identity."""
        if self.V is None:
            return None
        return self.V.unflatten(1, (self.key_heads, -1))[:, h * self.key_heads // self.heads]

    def out(self, heads: torch.Tensor, bias: bool = True) -> torch.Tensor:
        """Heads side by side (…, H, m′) → (…, d)."""
        flat = heads.flatten(-2)
        if self.O is not None:
            flat = flat @ self.O
        return flat + self.bias_o if bias and self.bias_o is not None else flat

    def queries_back(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in X of grad·queries(X)."""
        return grad.flatten(-2) @ self.Q.T

    def keys_back(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in X of grad·keys(X)."""
        flat = self._gathered(grad).flatten(-2)
        return flat if self.K is None else flat @ self.K.T

    def values_back(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in X of grad·values(X)."""
        flat = self._gathered(grad).flatten(-2)
        return flat if self.V is None else flat @ self.V.T

    def out_back(self, grad: torch.Tensor) -> torch.Tensor:
        """The gradient in the heads of grad·out(heads): (…, d) → (…, H, m′)."""
        flat = grad if self.O is None else grad @ self.O.T
        return flat.unflatten(-1, (self.heads, -1))

    def each_out(self, heads: torch.Tensor) -> torch.Tensor:
        """What each head adds to the output: (…, H, m′) → (…, H, d)."""
        if self.O is None:
            return heads
        parts = self.O.unflatten(0, (self.heads, -1))
        return torch.einsum("...hx,hxd->...hd", heads, parts)

    def _heads(
        self, X: torch.Tensor, matrix: torch.Tensor | None, bias: torch.Tensor | None, heads: int
    ) -> torch.Tensor:
        flat = X if matrix is None else X @ matrix
        flat = flat if bias is None else flat + bias
        return flat.unflatten(-1, (heads, -1))

    def _shared(self, heads: torch.Tensor) -> torch.Tensor:
        times = self.heads // self.key_heads
        return heads if times == 1 else heads.repeat_interleave(times, -2)

    def _gathered(self, grad: torch.Tensor) -> torch.Tensor:
        times = self.heads // self.key_heads
        return grad if times == 1 else grad.unflatten(-2, (self.key_heads, times)).sum(-2)


#: Which matrices a layer has: with one matrix, and with heads. "tied": keys are queries (L2);
#: "twice": a second pair of queries and keys (differential).
ONE = {"usual": ("W",), "tied": ("W",), "twice": ("W", "W2")}
MANY = {
    "usual": ("Q", "K", "V", "O"),
    "tied": ("Q", "V", "O"),
    "twice": ("Q", "K", "V", "O", "Q2", "K2"),
}


def draw_projections(
    d: int, seed: int, heads: int | None, shape: str, law: Law = "gaussian"
) -> dict[str, torch.Tensor]:
    """Entries N(0, 1/d), or of another law, each matrix from its own stream."""
    check_heads(d, heads)
    drawn = {}
    for name in ONE[shape] if heads is None else MANY[shape]:
        path = ("attention", d) if name == "W" else ("attention", d, name)
        if law == "gaussian":
            noise = torch.randn(d, d, dtype=torch.float64, generator=generator(seed, *path))
        else:
            noise = draw_by_law(law, d, d, seed, *path)
        drawn[name] = noise / math.sqrt(d)
    return drawn


def given_projections(
    d: int | None, heads: int | None, shape: str, weight: Any, weights: Mapping[str, Any] | None
) -> dict[str, torch.Tensor]:
    """The caller's own matrices, checked: d×d each."""
    wanted = ONE[shape] if heads is None else MANY[shape]
    if weight is not None and (weights is not None or wanted != ("W",)):
        raise InputError(
            f"weights={{{', '.join(wanted)}}}",
            "weight=",
            "one matrix is all there is without heads and with most scores",
        )
    named = {"W": weight} if weight is not None else dict(weights or {})
    if set(named) != set(wanted):
        raise InputError(
            f"weights named {', '.join(wanted)}", ", ".join(named) or "none", "name each matrix"
        )
    found = {name: finite_matrix(named[name], "a weight matrix") for name in wanted}
    size = len(found[wanted[0]])
    for name, matrix in found.items():
        if matrix.shape != (size, size):
            raise InputError(
                f"square d×d weight matrices, d={size}",
                f"{name} of shape {tuple(matrix.shape)}",
                "trained layers of other shapes are made with TrainedAttention(probe, layer)",
            )
    if d is not None and d != size:
        raise InputError(
            f"d={size}, the size of the weights", f"d={d}", "leave d out when weights are given"
        )
    check_heads(size, heads)
    return found


def check_heads(d: int, heads: int | None) -> None:
    """Heads share the dimensions evenly."""
    if heads is not None and (heads < 1 or d % heads):
        divisors = [str(h) for h in range(1, min(d, 64) + 1) if d % h == 0]
        raise InputError(
            f"a number of heads that divides d={d}", heads, f"choose among {', '.join(divisors)}"
        )


def projections_of(
    given: Mapping[str, torch.Tensor], shape: str, heads: int | None, strength: float
) -> Projections:
    """The projections made of the matrices that `draw_projections` or `given_projections` return.

    "twice" stands for softmax₁ − λ softmax₂: two sets of heads, the second with the outputs −λO.
    """
    if heads is None:
        W = given["W"]
        if shape != "twice":
            return Projections(W, W if shape == "tied" else None, None, None)
        both = torch.eye(len(W), dtype=W.dtype, device=W.device).repeat(1, 2)
        out = torch.cat([both[:, : len(W)], -strength * both[:, : len(W)]])
        return Projections(torch.cat([W, given["W2"]], 1), both, both, out, 2, 2)
    Q, K, V, O = given["Q"], given.get("K", given["Q"]), given["V"], given["O"]
    if shape != "twice":
        return Projections(Q, K, V, O, heads, heads)
    return Projections(
        torch.cat([Q, given["Q2"]], 1),
        torch.cat([K, given["K2"]], 1),
        torch.cat([V, V], 1),
        torch.cat([O, -strength * O]),
        2 * heads,
        2 * heads,
    )
