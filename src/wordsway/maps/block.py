"""A whole transformer block around any attention map: norms, residual streams and an MLP.

    pre-norm  (GPT, Llama):  H = X + φ(N(X)),     out = H + MLP(N(H))
    post-norm (BERT):        H = N(X + φ(X)),     out = N(H + MLP(H))

with MLP(u) = V₂ GELU(V₁u), V₁ ∈ ℝ^{h×d} ~ N(0, 1/d), V₂ ∈ ℝ^{d×h} ~ N(0, 1/h). Attention is
incremental, the MLP sees every row in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, final

import torch

from wordsway.core.checks import Count, NonNegative, OneOf, Seed, validated
from wordsway.core.progress import Progress, silent
from wordsway.core.sample import Sample
from wordsway.core.seeds import generator
from wordsway.maps.base import FeatureMap, Map
from wordsway.maps.rigorous import SAFE, Certificate, U
from wordsway.maps.rows import Moving, RowChanges, RowView
from wordsway.maps.wrappers import EPSILON, Norm, NormedMap, Residual, WrappedView, Wrapper


@final
class NormedText(Wrapper):
    """φ′(X) = φ(N(X)), a norm in front: row i of N(X) moves by N(x_i + Δ) − N(x_i)."""

    name = "normed-text"

    def __init__(self, inner: FeatureMap, norm: Norm) -> None:
        super().__init__(inner)
        self.norm = norm

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.inner.features(self.norm(X.to(dtype)), dtype)

    def text(self, sample: Sample) -> Sample:
        return Sample(self.norm(sample.X), rescale=False)

    def around(self, inner: RowView, sample: Sample) -> NormedTextView:
        return NormedTextView(inner, sample.X.to(inner.X), self.norm, self.name)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"norm": self.norm.kind, "epsilon": self.norm.epsilon}


@final
class NormedTextView(WrappedView):
    """The inner view at N(X); ``X`` is the text itself."""

    def __init__(self, inner: RowView, X: torch.Tensor, kind: Norm, name: str) -> None:
        super().__init__(inner, inner.rows_before, name)
        self.X, self.kind = X, kind
        self._allow(0.0)

    def allow_text_error(self, error: float) -> None:
        self.text_error += error
        self._allow(error)

    def _allow(self, error: float) -> None:
        """N(X) is rounded: N of a row of size β that is off by e is off by at most 2√d e/β."""
        d = self.X.shape[1]
        sizes = self.kind.size(self.kind.centre(self.X)).squeeze(1)
        off = error + 2 * (d + 8) * U * self.X.norm(dim=1)
        root = math.sqrt(d)
        each = (2 * root * off / sizes).clamp_max(2 * root) + 2 * (d + 16) * U * root
        self.inner.allow_text_error(float(each.max()))

    @property
    def row_errors(self) -> torch.Tensor:
        return self.inner.row_errors

    def moving(self, bases: torch.Tensor) -> Moving:
        inner = self.inner.moving(bases)

        def moved(rows: torch.Tensor, delta: torch.Tensor) -> RowChanges:
            return inner(rows, self.kind(self.X[rows] + delta) - self.inner.X[rows])

        return moved

    def certify(
        self, rows: Sequence[int], radius: float, progress: Progress = silent
    ) -> Certificate | None:
        """The inner certificate, row by row, for the ball that the norm makes of this one."""
        d = self.X.shape[1]
        centred = self.kind.centre(self.X[list(rows)])
        sizes = self.kind.size(centred).squeeze(1)
        rounding = 2 * (d + 8) * U * self.X[list(rows)].norm(dim=1) + self.text_error
        least = max(math.sqrt(d * self.kind.epsilon), torch.finfo(sizes.dtype).tiny)
        sizes = (sizes - rounding).clamp_min(least * (1 - 8 * U))
        parts = []
        for row, reach in zip(rows, longest_move(sizes, d, radius).tolist(), strict=True):
            parts.append(self.inner.certify([row], reach))
            progress("certifying", len(parts), len(rows))
        found = [part for part in parts if part is not None]
        if len(found) < len(parts):
            return None
        return Certificate(torch.cat([part.upper for part in found]), found[0].kind)


@final
class FeedForward:
    """u ↦ u + MLP(N(u)) ("pre") or N(u + MLP(u)) ("post"), row by row."""

    def __init__(
        self, d: int, hidden: int, seed: int, norm: Norm, order: str, like: FeatureMap
    ) -> None:
        noise = generator(seed, "mlp", d, hidden, device=like.device)
        kind: dict[str, Any] = {"dtype": like.dtype, "device": like.device, "generator": noise}
        self.first = torch.randn(hidden, d, **kind) / math.sqrt(d)
        self.second = torch.randn(d, hidden, **kind) / math.sqrt(hidden)
        self.norm, self.order, self.hidden, self.seed = norm, order, hidden, seed

    def __call__(self, u: torch.Tensor) -> torch.Tensor:
        seen = self.norm(u) if self.order == "pre" else u
        inside = torch.nn.functional.gelu(seen @ self.first.to(u.dtype).T)
        out = u + inside @ self.second.to(u.dtype).T
        return out if self.order == "pre" else self.norm(out)


@final
class Block(Wrapper):
    """φ′(X)_j = f(φ(X)_j): each row of the attention's stream through its MLP."""

    def __init__(self, inner: FeatureMap, function: FeedForward) -> None:
        self.name = "gpt-block" if function.order == "pre" else "bert-block"
        super().__init__(inner)
        self.function = function

    def features(self, X: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return self.function(self.inner.features(X, dtype))

    def around(self, inner: RowView, sample: Sample) -> BlockView:
        return BlockView(inner, self.function, self.name)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"hidden": self.function.hidden, "seed": self.function.seed}


@final
class BlockView(WrappedView):
    """The inner view's rows in full, each through f."""

    def __init__(self, inner: RowView, function: FeedForward, name: str) -> None:
        super().__init__(inner, function(inner.rows_before), name)
        self.function = function
        n, width = self.rows_before.shape
        self.bytes_per_point += 4 * n * (3 * width + function.hidden) * self.X.itemsize

    def moving(self, bases: torch.Tensor) -> Moving:
        return self.moving_in_full(self.function, bases)


def longest_move(sizes: torch.Tensor, width: int, radius: float) -> torch.Tensor:
    """How far N moves a row of size β when the row moves by at most ``radius``: 2√D sin(θ/2) with
    sin θ = radius/β, and 2√D where the radius reaches β, up to the rounding of β: a row that can
    just be erased can leave in any direction.

    >>> moves = longest_move(torch.tensor([2.0, 1.0], dtype=torch.float64), 4, 1.0)
    >>> [round(move, 6) for move in moves.tolist()]
    [1.035276, 4.0]
    """
    sine = radius / (sizes * (1 - 4 * (width + 16) * U))
    inside = 2 * torch.sin(torch.asin(sine.clamp_max(1.0)) / 2)
    return math.sqrt(width) * torch.where(sine >= 1, 2.0, inside) * SAFE


@validated
def transformer_block(
    attention: Map,
    d: Count,
    *,
    order: Annotated[str, OneOf(("pre", "post"))] = "pre",
    norm: str = "layer",
    hidden: Count | None = None,
    seed: Seed = 0,
    epsilon: NonNegative = EPSILON,
) -> FeatureMap:
    """A block around ``attention``: "pre"-norm (GPT) or "post"-norm (BERT); ``hidden`` is 4d.

    >>> import wordsway as ws
    >>> block = transformer_block(ws.RAF(d=8, seed=0), 8, order="post", seed=1)
    >>> block(ws.Sample.gaussian(n=3, d=8, seed=0)).shape
    torch.Size([3, 8])
    """
    by = Norm(norm, epsilon)
    hidden = 4 * d if hidden is None else hidden
    forward = FeedForward(d, hidden, seed, by, order, attention)
    if order == "pre":
        return Block(Residual(NormedText(attention, by)), forward)
    return Block(NormedMap(Residual(attention), by), forward)
