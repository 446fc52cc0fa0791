"""Queries, keys and values of every head, and the output O; drawn from a seed, or given.

A row x has the query Qᵀx + b_q and so on, cut into heads; with values v = Vᵀx + b_v, head h gives
Σ_l P^h_jl v^h_l, and the heads side by side are multiplied by O. The paper's layer has one matrix:
the query Wᵀx meets the row itself, which is the value, too (K, V and O are then None: the
identity).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from wordsway.core.errors import InputError
from wordsway.core.sample import finite_matrix
from wordsway.core.seeds import generator
from wordsway.gaussian.laws import Law, draw_by_law


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
        self,
        X: torch.Tensor,
        matrix: torch.Tensor | None,
        bias: torch.Tensor | None,
        heads: int,
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
    """Entries N(0, 1/d), or of another law, each matrix from its own stream; W is that of `RAF`
    with this seed.
    """
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
    d: int | None,
    heads: int | None,
    shape: str,
    weight: Any,
    weights: Mapping[str, Any] | None,
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
