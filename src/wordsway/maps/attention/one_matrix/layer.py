"""One attention layer at one text, and its rows after one row of the text has moved.

Moving row i by Δ moves one score of every other row j, by a_j = x_jᵀWΔ/√d, so with t_j, p_j and y_j
of `attention.scores.base`

    φ_j(X^i(Δ)) − φ_j(X) = t_j y_j + p_j Δ          (j ≠ i),

and only row i is recomputed, since its query has moved, too: a few B×d by d×n products for B pairs
(i, Δ), against O(n²d + nd²) for a full forward pass.

Where row j already gives nearly everything to row i, y_j = x_i − φ_j is tiny and t_j huge. There
(the "sharp" pairs, at most one per row) the same change is written with the mean m_j of the *other*
keys: t_j = p_j − p⁰_j and y_j = x_i − m_j.
"""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import NamedTuple, final

import torch

from wordsway.maps.attention.certificates.rounding import PREPARED, LayerErrors, one_matrix_errors
from wordsway.maps.attention.layer import AttentionLayer
from wordsway.maps.attention.scores.base import SHARP, Scores, Shares
from wordsway.maps.base import nonzero_norm
from wordsway.maps.rigorous import U, eigenvalue_upper_bound


class Sharp(NamedTuple):
    """The m pairs (row, key) whose share is nearly one, and the mean of the row's other keys."""

    rows: torch.Tensor
    keys: torch.Tensor
    means: torch.Tensor


class LayerMove(NamedTuple):
    """The rows of the features after row i moved by Δ, for B pairs (i, Δ).

    Row j ≠ i changes by t y_j + pΔ; entries of row i itself, at the index ``own``, mean nothing.
    """

    shares: Shares  # (B, n) each
    yd: torch.Tensor  # y_j·Δ (B, n)
    sharp: torch.Tensor | None  # which sharp pairs moved (B, m)
    own: tuple[torch.Tensor, torch.Tensor]  # the index of each point's own row in (B, n)
    s: torch.Tensor  # row i's scores (B, n)
    r: torch.Tensor  # and shares
    own_change: torch.Tensor  # the change of row i (B, d)
    turned: torch.Tensor  # HΔ, H = (W + Wᵀ)/2√d (B, d)


@final
class Layer(AttentionLayer):
    """φ(X) = P(XWXᵀ/√d + bias)X at one text X (n×d). ``W`` is kept divided by √d; ``bias`` (n×n) is
    constant, and −∞ where row j does not see key l.
    """

    def __init__(
        self,
        scores: Scores,
        X: torch.Tensor,
        W: torch.Tensor,
        name: str,
        bias: torch.Tensor | None = None,
    ) -> None:
        d = X.shape[1]
        self.scores = scores
        self.X = X
        self.W = W / math.sqrt(d)
        self.keys = X @ self.W  # row j: Wᵀx_j/√d, so that a_j = keys_j·Δ
        self.s = self.keys @ X.T if bias is None else self.keys @ X.T + bias
        self.P = scores.attention(self.s)
        self.phi = self.P @ X
        self.norm = nonzero_norm(float(self.phi.norm()), name)
        # Row i of these is about row i of the text: pairs (i, j) for every row j.
        self.pairs = tuple(part.T.contiguous() for part in scores.prepare(self.s))
        self.phi2 = (self.phi * self.phi).sum(1)
        self.sharp = self._find_sharp_pairs() if scores.normalised else None

    @cached_property
    def errors(self) -> LayerErrors:
        return one_matrix_errors(self)

    def smoothed(self, width: float) -> Layer:
        """This layer with the kinks of row i's attention rounded over ``width`` after it moves."""
        scores = self.scores.smoothed(width)
        if scores is self.scores:
            return self
        _ = self._stack, self.y2  # computed once for all widths
        layer = copy.copy(self)
        layer.scores = scores
        return layer

    # For searches; a certificate does not need these.

    @cached_property
    def queries(self) -> torch.Tensor:
        """Row l: W x_l/√d, for row i's own scores."""
        return self.X @ self.W.T

    @cached_property
    def _stack(self) -> torch.Tensor:
        """All that Δ is multiplied with, in one matrix: Δ·stackᵀ on the way there,
        coefficients·stack on the way back. Its first block is H = (W+Wᵀ)/2√d: row i's own score has
        the term ΔᵀWΔ/√d = ΔᵀHΔ, whose gradient is 2HΔ.
        """
        features = [self.phi] if self.scores.normalised else []
        return torch.cat([self.H, self.keys, *features, self.queries])

    @cached_property
    def H(self) -> torch.Tensor:
        """(W + Wᵀ)/2, with W divided by √d."""
        return (self.W + self.W.T) / 2

    @property
    def _sizes(self) -> tuple[int, int, int, int]:
        n, d = self.X.shape
        return (d, n, n if self.scores.normalised else 0, n)

    @cached_property
    def y2(self) -> torch.Tensor:
        """‖y_j‖² of pair (i, j)."""
        n = len(self.X)
        x2 = (self.X * self.X).sum(1, keepdim=True)
        if not self.scores.normalised:
            return x2.expand(n, n)
        found = (x2 - 2 * self.X @ self.phi.T + self.phi2).clamp_min(0)
        if self.sharp is not None:
            rows, keys, means = self.sharp
            found[keys, rows] = ((self.X[keys] - means) ** 2).sum(1)
        return found

    def _find_sharp_pairs(self) -> Sharp | None:
        share, top = self.P.max(1)
        rows = (share > SHARP).nonzero().squeeze(1)
        if not len(rows):
            return None
        keys = top[rows]
        return Sharp(rows, keys, self.scores.without(self.s[rows], keys[:, None]) @ self.X)

    def directions(self, i: int, rows: torch.Tensor) -> torch.Tensor:
        """y_j = x_i − m_j of ``rows``, a mask, with m_j the mean of φ_j over the keys but i: (m,
        d). Where row j gives less than half to key i, 1 − p⁰_j times it is x_i − φ_j.
        """
        if not self.scores.normalised:
            return self.X[i].expand(int(rows.sum()), -1)
        share = self.P[rows, i][:, None]
        y = (self.X[i] - self.phi[rows]) / (1 - share)
        most = (share[:, 0] > 0.5).nonzero().squeeze(1)
        if len(most):
            y[most] = self.X[i] - self.scores.without(self.s[rows][most], i) @ self.X
        return y

    @cached_property
    def largest_own_score(self) -> float:
        """λ_max(H) at most: how large u·Wu/√d gets over unit vectors u."""
        return eigenvalue_upper_bound(self.H, 2 * PREPARED * U * float(self.W.norm()))

    def moved(self, rows: torch.Tensor, delta: torch.Tensor) -> LayerMove:
        """The rows of the features after row ``rows[b]`` of the text moved by ``delta[b]``."""
        turned, a, phi_d, query_d = (delta @ self._stack.T).split(self._sizes, dim=1)
        shares, pair = self.shares(rows, a)
        xd = (delta * self.X[rows]).sum(1, keepdim=True)
        yd = xd - phi_d if self.scores.normalised else xd.expand_as(a)
        if self.sharp is not None and pair is not None:
            some = self.sharp.rows
            yd[:, some] = torch.where(pair, xd - delta @ self.sharp.means.T, yd[:, some])
        own = (torch.arange(len(rows), device=rows.device), rows)
        s = self.own_scores(rows, delta, query_d, turned)
        r = self.scores.attention(s)
        change = r @ self.X + r[own][:, None] * delta - self.phi[rows]
        return LayerMove(shares, yd, pair, own, s, r, change, turned)

    def pulled(
        self,
        moved: LayerMove,
        rows: torch.Tensor,
        delta: torch.Tensor,
        slope: torch.Tensor,
        by_yd: torch.Tensor,
        along: torch.Tensor,
        by_own: torch.Tensor,
    ) -> torch.Tensor:
        """The gradient in Δ (B, d), given those in the moves a_j and in y_j·Δ (B, n; 0 at row i),
        in Δ itself (B, d) and in the change of row i (B, d).
        """
        h = by_own @ self.X.T
        h[moved.own] += (by_own * delta).sum(1)
        own_slope = self.scores.pull(moved.s, moved.r, h)
        features = [-by_yd] if self.scores.normalised else []
        g = torch.cat([slope, *features, own_slope], 1) @ self._stack[self._sizes[0] :]
        g += along
        if moved.sharp is not None and self.sharp is not None:
            some = self.sharp.rows
            g -= (by_yd[:, some] * moved.sharp) @ (self.sharp.means - self.phi[some])
        own_score = self.keys[rows] + 2 * moved.turned
        g += moved.r[moved.own][:, None] * by_own + own_slope[moved.own][:, None] * own_score
        return g

    def shares(
        self, rows: torch.Tensor | int, a: torch.Tensor
    ) -> tuple[Shares, torch.Tensor | None]:
        """t and p in every row after the moves a (B, n) of the scores of key ``rows``, one for each
        point or the same for all; and which sharp pairs moved, (B, m) or (m,).
        """
        pairs = tuple(part[rows].expand_as(a) for part in self.pairs)
        shares = self.scores.move(pairs, a)
        if self.sharp is None:
            return shares, None
        some = self.sharp.rows
        pair = self.sharp.keys == (rows if isinstance(rows, int) else rows[:, None])
        gain, slope = self.scores.gain(tuple(part[:, some] for part in pairs), a[:, some])
        shares.t[:, some] = torch.where(pair, gain, shares.t[:, some])
        shares.dt[:, some] = torch.where(pair, slope, shares.dt[:, some])
        return shares, pair

    def own_scores(
        self,
        rows: torch.Tensor | int,
        delta: torch.Tensor,
        query_d: torch.Tensor,
        turned: torch.Tensor,
    ) -> torch.Tensor:
        """Row i's scores after it moved, (B, n). Its query moved, too: its score of l is
        s_il + (Wx_l/√d)·Δ, and its own one also moves with the key.
        """
        s = self.s[rows] + query_d
        own = (torch.arange(len(delta), device=delta.device), rows)
        s[own] += (delta * (self.keys[rows] + turned)).sum(1)
        return s
