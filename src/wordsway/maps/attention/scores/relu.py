"""ReLU-RAF: attention with ReLU scores divided by the row's sum; a row of zeros stays zero."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.attention.certificates.bounds import OwnRow, RowBounds, farthest_row
from wordsway.maps.attention.certificates.curves import NODES, ShareCurve, Tail, neighbour
from wordsway.maps.attention.certificates.silence import own_row_above
from wordsway.maps.attention.ingredients.lifts import Positive
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.starts import attracting, owning, silencing
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.rigorous import SAFE, U

#: A row is steep where R is below 1/600 of what Δ can add to its score.
STEEP = 600


@final
class ReluScores(Scores):
    """p = w/(R + w) with w = (s_ji + a)₊ and R = Σ_{l≠i} (s_jl)₊.

    With a ``width``, `attention` has s²/(2 width) in place of s₊ for 0 < s < width, and s − width/2
    beyond.
    """

    kinks = True

    def __init__(self, width: float = 0.0) -> None:
        self.width = width

    def smoothed(self, width: float) -> ReluScores:
        return ReluScores(width)

    def attention(self, s: torch.Tensor) -> torch.Tensor:
        w = self._weight(s)
        return w / _nonzero(w.sum(-1, keepdim=True))

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        total = self._weight(s).sum(-1, keepdim=True)
        slope = (torch.relu(s) / self.width).clamp_max(1) if self.width else s > 0
        return slope * (h - (shares * h).sum(-1, keepdim=True)) / _nonzero(total)

    def _weight(self, s: torch.Tensor) -> torch.Tensor:
        w = torch.relu(s)
        if not self.width:
            return w
        return torch.where(w < self.width, w * w / (2 * self.width), w - self.width / 2)

    def prepare(self, s: torch.Tensor) -> Pairs:
        w = torch.relu(s)
        top = w.argmax(-1, keepdim=True)
        # No cancellation where one score dominates the row.
        others = w.scatter(-1, top, 0.0).sum(-1, keepdim=True)
        return s, (w.sum(-1, keepdim=True) - w).clamp_min(0).scatter(-1, top, others)

    def move(self, pairs: Pairs, a: torch.Tensor) -> Shares:
        s, R = pairs
        w, before = torch.relu(s + a), torch.relu(s)
        total = _nonzero(R + w)
        up = (s + a > 0) / total**2
        return Shares((w - before) / total, w / total, (R + before) * up, R * up)

    def share_error(
        self, s: torch.Tensor, shares: torch.Tensor, error: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights w_l = (s_l)₊ are off by E where s_l > −E, and their sum T by the sum e of these:
        Σ_l |w_l/T − …| ≤ 2e/(T − e). The shares of a row without such keys, or with a single
        one that is surely positive, are exact. Without key i, T is R_i, computed as T − w_i ≥ T/n.
        """
        n, E = len(s), error[:, None]
        reached, sure = (s > -E).to(s), s > E
        count = reached.sum(1, keepdim=True)

        def ratio(spread: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
            found = 2 * spread / (total - spread) + 4 * n * (n + 8) * U
            return torch.where(total > spread, found, 2.0).clamp_max(2.0)

        known = (count == 0) | ((count == 1) & sure.any(1, keepdim=True))
        whole = torch.where(known, 8 * U, ratio(E * count, torch.relu(s).sum(1, keepdim=True)))
        others = count - reached
        rest = torch.where(others == 0, 8 * U, ratio(E * others, self.prepare(s)[1]))
        return whole[:, 0], rest

    def gain(self, pairs: Pairs, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        s, R = pairs
        shares, before = self.move(pairs, a), torch.relu(s)
        total = _nonzero(R + before)
        # A row whose only positive score vanishes becomes zero: p − p⁰ = −1, as R = 0 and p⁰ = 1.
        vanished = (R + torch.relu(s + a) == 0) & (before > 0)
        gain = torch.where(vanished, -before / total, shares.t * (R / total))
        return gain, shares.dt * (R / total)


@final
class ReluBounds(RowBounds):
    """Every row is a mean of the text's rows, or zero."""

    def curve(
        self, layer: Layer, others: torch.Tensor, i: int, radius: float, blur: torch.Tensor
    ) -> ShareCurve:
        """p(w) = w/(R+w), w = s + a from 0 to what Δ can reach, finer near 0; below 0 the share is
        0.
        """
        X = layer.X
        s, R = (part[i, others][:, None] for part in layer.pairs)
        reach = radius * layer.keys[others].norm(dim=1, keepdim=True) * SAFE
        reach = (s + reach + blur).clamp_min(0)
        w = reach * torch.linspace(0, 1, NODES, dtype=X.dtype, device=X.device) ** 2
        # Where the other keys hardly count (R ≈ 0), the share jumps within a step; such rows are
        # bounded by their trivial move.
        steep = reach > STEEP * R
        p = torch.where(steep, 1.0, w / (R + w).clamp_min(torch.finfo(w.dtype).tiny))
        step = torch.maximum(w - neighbour(w, 1), neighbour(w, -1) - w)
        before = torch.where(steep | (R == 0), 1.0, R + neighbour(w, 1))
        bend = torch.where(steep, 0.0, 2 * R / before**3)
        rise = torch.where(steep, 0.0, (R / before**2) ** 2)
        everywhere, nowhere = torch.ones_like(steep), torch.zeros_like(steep)
        return ShareCurve(p, w - s, step, bend, rise, steep, below=everywhere, beyond=nowhere)

    def below(
        self, curve: ShareCurve, p0: torch.Tensor, y2: torch.Tensor, most: torch.Tensor
    ) -> Tail:
        """Below its grid, a share is exactly 0."""
        return Tail.where(curve.below, p0**2 * y2, torch.zeros_like(p0))

    def own_row(self, layer: Layer, i: int, radius: float, young: float) -> OwnRow:
        cap = own_row_above(layer, i, radius)
        return OwnRow(farthest_row(layer, i, or_zero=True), layer.X[i] - layer.phi[i], cap)


def all_starts(
    layer: Layer, rows: Sequence[int], count: int, radius: float, noise: Sequence[torch.Generator]
) -> torch.Tensor:
    """Two fifths of the starts silence other rows of the text, two fifths raise the row's own
    score, the others attract rows of φ.
    """
    some = 2 * count // 5
    kinds = ((silencing, some), (owning, some), (attracting, count - 2 * some))
    return torch.cat([make(layer, rows, size, radius, noise) for make, size in kinds], 1)


def _nonzero(total: torch.Tensor) -> torch.Tensor:
    """``total`` where it is positive, 1 where it is 0: a row of zeros then stays zero."""
    return torch.where(total > 0, total, 1.0)


_RELU = ReluScores()

RELU = ScoreFunction(
    _RELU, shifts=False, smooth=False, falling=True, starts=all_starts, bounds=ReluBounds()
)
#: (elu(q) + 1)·(elu(k) + 1), divided by their sum over the keys.
LINEAR_ATTENTION = ScoreFunction(
    _RELU, lift=Positive(), power=0.0, shifts=False, smooth=False, falling=True
)
