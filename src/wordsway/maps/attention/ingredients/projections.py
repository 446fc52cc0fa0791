"""What becomes of rows before and after attention: queries, keys and values per head, and O.

A row x has the query Qᵀx + b_q and so on, cut into heads; with values v = Vᵀx + b_v, head h gives
Σ_l P^h_jl v^h_l, and the heads side by side are multiplied by O. The paper's layer has one matrix:
the query Wᵀx meets the row itself, which is the value, too (K, V and O are then None: the
identity).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch


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
