"""ReLU-RAF: attention with ReLU scores divided by the row's sum; a row of zeros stays zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import final

import torch

from wordsway.maps.attention.certificates.bounds import RowBounds, farthest_row
from wordsway.maps.attention.certificates.problem import NODES, OwnRow, ShareCurve, Tail, neighbour
from wordsway.maps.attention.certificates.rounding import PREPARED
from wordsway.maps.attention.ingredients import Positive
from wordsway.maps.attention.one_matrix.layer import Layer
from wordsway.maps.attention.one_matrix.starts import attracting, owning, silencing
from wordsway.maps.attention.scores.base import Pairs, Scores, Shares
from wordsway.maps.attention.scores.function import ScoreFunction
from wordsway.maps.rigorous import SAFE, U

CELLS, STEPS = 40, 40


def own_row_above(layer: Layer, i: int, r: float) -> float:
    """A bound of ‖φ_i(X^i(Δ)) − φ_i(X)‖² over ‖Δ‖ ≤ r."""
    x, phi = layer.X[i], layer.phi[i]
    if not float(x.norm()) > 0:  # no direction to be tied to: the hull is the bound
        return math.inf
    rows = layer.keys_visible_to(i)
    others = layer.X[rows]
    hull = float(((others - phi) ** 2).sum(1).max()) ** 0.5 if len(others) else 0.0
    size, far = float(phi.norm()), float((x - phi).norm()) + r
    short, long, cosine = _cells(layer, x, r)
    errors = layer.errors.keys[rows]
    others_score = short * _others_score(layer.queries[rows], x, cosine, errors)
    own = long**2 * _own_score(layer, x, cosine)
    p = own / (own + others_score).clamp_min(1e-300)
    reach = (long + size).clamp_max(far)
    best = (p * reach + (1 - p) * hull).clamp_min(max(hull, size))
    return float(best.max()) ** 2 * SAFE


def silencing_weights(layer: Layer, i: int, r: float) -> torch.Tensor:
    """The λ with which `own_row_above` bounds R, for each cell of ℓ (CELLS, keys)."""
    x = layer.X[i]
    return _weights(layer.queries[layer.keys_visible_to(i)], x, _cells(layer, x, r)[2])


def _cells(layer: Layer, x: torch.Tensor, r: float) -> tuple[torch.Tensor, ...]:
    """The ends of cells of ℓ, and the least cosine of x′ with x in each."""
    norm = float(x.norm())
    edges = torch.linspace(
        0, (norm + r + layer.text_error) * SAFE, CELLS + 1, dtype=torch.float64, device=x.device
    )
    short, long = edges[:-1], edges[1:]
    product = (short**2 + norm**2 - r * r) / 2  # x_i·x′ at least, in each cell of ℓ
    # Less its rounding, and what the text's own error makes of it.
    off = 16 * U * (short**2 + norm**2 + r * r) + 2 * (norm + r) * layer.text_error
    product = product - off
    cosine = torch.where(product >= 0, product / (long * norm) * (1 - 16 * U), -1.0).clamp(-1, 1)
    return short, long, cosine


def _others_score(
    K: torch.Tensor, x: torch.Tensor, cosine: torch.Tensor, errors: torch.Tensor
) -> torch.Tensor:
    """A lower bound of Σ_l (k_l·u)₊ over unit vectors u whose cosine with x is at least the given
    ones; the rows k_l of K are off by ``errors``.

    The weights are found with a Gram matrix, whose parts across x may cancel. The bound is that of
    the best ones, computed from μ = Σ_l λ_l k_l itself, less the rounding of μ and of its parts.
    """
    unit = x / x.norm()
    sine = ((1 - cosine) * (1 + cosine)).clamp_min(0).sqrt()
    found = _weights(K, x, cosine)
    mu = found @ K
    along = mu @ unit
    across = (mu - along[:, None] * unit).norm(dim=1)
    n, d = K.shape
    error = found @ (errors + 4 * (n + d + 16) * U * K.norm(dim=1))
    proved = cosine * along - sine * across - 2 * error
    return torch.where(along - error > 0, proved * (1 - 1e-12), 0.0).clamp_min(0)


def _weights(K: torch.Tensor, x: torch.Tensor, cosine: torch.Tensor) -> torch.Tensor:
    """The best λ found for each of the cosines, (cosines, keys)."""
    if not len(K):
        return K.new_zeros(len(cosine), 0)
    along = K @ (x / x.norm())
    gram = K @ K.T - torch.outer(along, along)  # of the parts across x
    sine = ((1 - cosine) * (1 + cosine)).clamp_min(0).sqrt()
    weight = (along > 0).to(K.dtype).repeat(len(cosine), 1)
    best, found = torch.zeros_like(cosine), torch.zeros_like(weight)
    for step in range(STEPS):
        pulled = weight @ gram
        across = (weight * pulled).sum(1).clamp_min(0).sqrt()
        # cos θ (μ·x̂) − sin θ ‖μ⊥‖ falls with θ where μ·x̂ ≥ 0, so the end of the arc is the
        # smallest.
        value = torch.where(weight @ along >= 0, cosine * (weight @ along) - sine * across, 0.0)
        found = torch.where((value > best)[:, None], weight, found)
        best = torch.maximum(best, value)
        gradient = (
            cosine[:, None] * along - sine[:, None] * pulled / across.clamp_min(1e-12)[:, None]
        )
        pace = 1 / math.sqrt(step + 1) / gradient.abs().amax(1, keepdim=True).clamp_min(1e-300)
        weight = (weight + pace * gradient).clamp(0, 1)
    return found


def _own_score(layer: Layer, x: torch.Tensor, cosine: torch.Tensor) -> torch.Tensor:
    """An upper bound of (u·Wu)₊/√d over unit vectors u whose cosine with x is at least the given
    ones.
    """
    most, off = layer.largest_own_score, float(layer.W.norm()) * 4 * (len(x) + PREPARED) * U
    unit = x / x.norm()
    turned = (layer.W @ unit + layer.W.T @ unit) / 2
    own = float(turned @ unit) + off
    across = float((turned - own * unit).norm()) + 3 * off
    # The form [[own, across], [across, most]] on the arc of angles up to arccos(c): its peak, or
    # the end of the arc.
    peak = 0.5 * math.atan2(2 * across, own - most)
    angle = torch.arccos(cosine).clamp_max(peak)
    value = (
        own * torch.cos(angle) ** 2 + across * torch.sin(2 * angle) + most * torch.sin(angle) ** 2
    )
    return value.clamp_min(0) * SAFE + 64 * U * (abs(own) + abs(most) + across)


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
        w, _ = self._weight(s)
        return w / _nonzero(w.sum(-1, keepdim=True))

    def pull(self, s: torch.Tensor, shares: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
        w, slope = self._weight(s)
        total = w.sum(-1, keepdim=True)
        return slope * (h - (shares * h).sum(-1, keepdim=True)) / _nonzero(total)

    def _weight(self, s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The weights of the scores and their slopes, both times the width where there is one."""
        w = torch.relu(s)
        if not self.width:
            return w, s > 0
        slope = w.clamp_max(self.width)
        return slope * torch.sub(w, slope, alpha=0.5), slope

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
        up = (w > 0) / total**2
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
