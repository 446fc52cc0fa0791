"""Linear readouts φ(X^i(Δ))·θ of several θ at once, with their gradients, at the cost of a view's
look.

Attention: with (t_j, p_j) of `wordsway.maps.attention.scores`, row j ≠ i is φ_j + t_j(x_i − φ_j) +
p_jΔ, so for θ ∈ ℝ^{n×d}

    φ(X^i(Δ))·θ = Σ_{j≠i} [φ_j·θ_j + t_j(x_i − φ_j)·θ_j + p_j Δ·θ_j] + Σ_l r_l x_l·θ_i + r_i Δ·θ_i,

where r is row i's attention after the move. Fully connected: the chain rule through the layers' own
matrices. Any other: autograd.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol, final

import torch

from wordsway.errors import InputError
from wordsway.maps.attention.view import AttentionView
from wordsway.maps.base import View
from wordsway.maps.callable import CallableView
from wordsway.maps.dense.definition import FullyConnectedView


class Readout(Protocol):
    """T readouts seen from one sample."""

    def __call__(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Values (B, T) and gradients (B, T, d) for B pairs of a word and a Δ."""


@singledispatch
def readout(view: View, thetas: torch.Tensor) -> Readout:
    """The readouts φ(X^i(Δ))·θ for each row θ of ``thetas`` (T, p)."""
    raise InputError(
        "a map with a readout",
        type(view).__name__,
        "register one with wordsway.learning.readout, or use FeatureMap.of",
    )


@final
class AttentionReadout:
    """For softmax and ReLU attention: O(B·T·n·d)."""

    def __init__(self, view: AttentionView, thetas: torch.Tensor) -> None:
        n, d = view.X.shape
        self.view, self.theta = view, thetas.reshape(-1, n, d)
        self._x = torch.einsum("ld,tjd->tlj", view.X, self.theta)  # x_l·θ_j
        self._phi = torch.einsum("jd,tjd->tj", view.phi, self.theta)  # φ_j·θ_j

    def __call__(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        v, X = self.view, self.view.X
        n, own = len(X), (torch.arange(len(words)), words)
        a, _, query_d, turned = (delta @ v._stack.T).split(v._sizes, dim=1)
        shares = v.kind.move(tuple(part[words] for part in v._pairs), a)
        mine = torch.zeros_like(a, dtype=torch.bool)
        mine[own] = True
        delta_theta = torch.einsum("bd,tjd->btj", delta, self.theta)  # Δ·θ_j
        y = self._x[:, words].transpose(0, 1) - self._phi  # (x_i − φ_j)·θ_j, (B, T, n)
        t, p = shares.t[:, None], shares.p[:, None]
        rows = self._phi + t * y + p * delta_theta
        slope = shares.dt[:, None] * y + shares.dp[:, None] * delta_theta
        lift = p.expand_as(rows)
        out = (mine if shares.lost is None else mine | shares.lost)[:, None]
        rows, slope, lift = (
            rows.masked_fill(out, 0),
            slope.masked_fill(out, 0),
            lift.masked_fill(out, 0),
        )
        # Row i, whose query moved too: its score of l is s_il + (Wx_l/√d)·Δ, its own one also moves
        # with the key.
        s = v.s[words] + query_d
        s[own] += (delta * (v.keys[words] + turned)).sum(1)
        r = v.kind.attention(s)
        at = torch.arange(len(words))
        own_theta = self.theta[:, words].transpose(0, 1)  # θ_i, (B, T, d)
        h = self._x[:, :, words].permute(2, 0, 1).clone()  # x_l·θ_i, (B, T, n)
        own_delta = (delta[:, None] * own_theta).sum(2)
        h[at, :, words] += own_delta
        value = rows.sum(2) + (r[:, None] * h).sum(2)
        gs = torch.stack([v.kind.pull(s, r, h[:, one]) for one in range(h.shape[1])], 1)
        gradient = slope @ v.keys + gs @ v.queries + torch.einsum("btj,tjd->btd", lift, self.theta)
        gradient += (
            r[own][:, None, None] * own_theta
            + gs[at, :, words][:, :, None] * (v.keys[words] + 2 * turned)[:, None]
        )
        assert value.shape[1] == len(self.theta) and n == rows.shape[2]
        return value, gradient


@final
class FullyConnectedReadout:
    """For RF and DRF: one look forwards, one backwards per θ."""

    def __init__(self, view: FullyConnectedView, thetas: torch.Tensor) -> None:
        self.view, self.theta = view, thetas.to(view.X.dtype)

    def __call__(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        view, phi = self.view, self.view.phi
        change, moved = view._forward(words, delta)
        value = (view.h[-1] + change) @ self.theta.T
        g = self.theta[None] * phi.activation.derivative(moved[-1])[:, None]
        for V, z in zip(reversed(phi.later), reversed(moved[:-1]), strict=True):
            g = V.left(g).to(view.X.dtype) * phi.activation.derivative(z)[:, None]
        gradient = torch.empty(*g.shape[:2], delta.shape[1], dtype=delta.dtype)
        for i in torch.unique(words).tolist():
            rows = words == i
            gradient[rows] = view._word(i).left(g[rows]).to(delta.dtype)
        return value, gradient


@final
class CallableReadout:
    """For any differentiable map: full forward passes, one backward pass per θ."""

    def __init__(self, view: CallableView, thetas: torch.Tensor) -> None:
        self.view, self.theta = view, thetas.to(view.X)

    def __call__(
        self, words: torch.Tensor, delta: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.enable_grad():
            delta = delta.detach().to(self.view.X).requires_grad_(True)
            value = self.view.moved(words, delta) @ self.theta.T
            slopes = [
                torch.autograd.grad(one.sum(), delta, retain_graph=True, allow_unused=True)[0]
                if one.requires_grad
                else None
                for one in value.unbind(1)
            ]
        return value.detach(), torch.stack(
            [torch.zeros_like(delta) if slope is None else slope for slope in slopes], 1
        ).detach()


@readout.register
def _(view: AttentionView, thetas: torch.Tensor) -> Readout:
    return AttentionReadout(view, thetas)


@readout.register
def _(view: FullyConnectedView, thetas: torch.Tensor) -> Readout:
    return FullyConnectedReadout(view, thetas)


@readout.register
def _(view: CallableView, thetas: torch.Tensor) -> Readout:
    return CallableReadout(view, thetas)
